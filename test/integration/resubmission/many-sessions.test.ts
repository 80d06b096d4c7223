/** Terminations and changes of retries of many sessions: the mechanism of resubmissions, by the rules for one session. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { insertRows } from '../../support/database/insert-rows.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { testServer, type TestServer as Scheduler } from '../../support/servers/test-server.ts'
import { createFactories, DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'

let server: TestServer
let scheduler: Scheduler
let factory: TestServer['factory']
let member: string

beforeAll(async () => {
  server = await startGraphQLServer()
})
beforeEach(async () => {
  await server.database.fresh()
  factory = createFactories(server.db)
  scheduler = testServer(server.db)
  member = await factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
})
afterAll(() => server?.close())

const MANY = {
  TERMINATE: { field: 'terminateSessions', name: 'TerminateSessions', one: 'terminateSession' },
  CANCEL_RETRY: { field: 'cancelRetries', name: 'CancelRetries', one: 'cancelRetry' },
  RETRY_NOW: { field: 'retryNowMany', name: 'RetryNowMany', one: 'retryNow' },
  RESUBMIT: { field: 'resubmitSessions', name: 'ResubmitSessions', one: null },
} as const
type Action = keyof typeof MANY

async function act(action: Action, input: object, token = member): Promise<any> {
  const { field, name } = MANY[action]
  const { data, errors } = await server.query(
    `mutation ($input: ${name}Input!) { ${field}(input: $input) { __typename
      ... on ${name}Payload { resubmission { resubmissionId action state total done refusedCount pending overrides clientKey filter
          refusals { code count message } }
        sessions { sessionId } refused { sessionId code message } }
      ... on DryRun { total count sessions { sessionId } refusals { code count message } }
      ... on Error { code message } } }`,
    { input },
    token,
  )
  expect(errors).toBeUndefined()
  return data[field]
}

interface Group {
  code: string
  count: number
}

/** Each reason once, with what the first of its sessions by id was told. */
function groupsOf(refused: { sessionId: string; code: string; message: string }[]): Group[] {
  const byId = refused.toSorted((one, other) => one.sessionId.localeCompare(other.sessionId))
  return [...Map.groupBy(byId, ({ code }) => code)]
    .map(([code, all]) => ({ code, count: all.length, message: all[0]!.message }))
    .toSorted((one, other) => other.count - one.count || one.code.localeCompare(other.code))
}

/** The result of the mutation for one session. */
async function actOnOne(action: Exclude<Action, 'RESUBMIT'>, sessionId: string): Promise<any> {
  const { one } = MANY[action]
  const { data } = await server.query(
    `mutation ($id: UUID!) { ${one}(input: { sessionId: $id }) { ... on Error { code message } } }`,
    { id: sessionId },
    member,
  )
  return data[one]
}

/** One session of every kind that the rules tell apart. */
async function everyKind(): Promise<Record<string, string>> {
  const policy = { maxRetries: 3 }
  const projectId = await factory.project('elsewhere')
  const undecided = await factory.session({ name: 'undecided', status: 'ERROR', phase: null, retryPolicy: policy })
  await server.db.query(
    `UPDATE sessions SET retry_decided = false, status_data = '{"error": {"name": "kernel-exited", "message": "exit code 3", "exitCode": 3}}'
     WHERE id = $1`,
    [undecided.id],
  )
  const [retried, running] = await factory.chain(2, { name: 'of a chain', status: 'RUNNING' })
  const made = {
    pending: await factory.session({ name: 'pending', status: 'PENDING' }),
    running: running!,
    retried: retried!,
    undecided,
    scheduled: await factory.session({ name: 'scheduled', status: 'ERROR', phase: 'SCHEDULED', retryPolicy: policy }),
    held: await factory.session({ name: 'held', status: 'ERROR', phase: 'HELD', retryPolicy: policy }),
    exhausted: await factory.session({ name: 'exhausted', status: 'ERROR', phase: 'EXHAUSTED', retryPolicy: policy }),
    succeeded: await factory.session({ name: 'succeeded', status: 'TERMINATED' }),
    foreign: await factory.session({ name: 'foreign', status: 'RUNNING', projectId }),
  }
  return Object.fromEntries(Object.entries(made).map(([name, { id }]) => [name, id]))
}

async function states(): Promise<Record<string, string>> {
  const { rows } = await server.db.query<{ name: string; state: string }>(
    `SELECT s.name || ' ' || s.attempt AS name, s.status || ' ' || coalesce(d.phase::text, '') AS state
     FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id ORDER BY 1`,
  )
  return Object.fromEntries(rows.map(({ name, state }) => [name, state]))
}

describe.each(['TERMINATE', 'CANCEL_RETRY', 'RETRY_NOW'] as const)('%s of many', (action) => {
  test('does and refuses the same as the mutation for one session', async () => {
    const first = await everyKind()
    const expected: Record<string, unknown> = {}
    for (const [name, id] of Object.entries(first)) expected[name] = (await actOnOne(action, id)) ?? {}
    const after = await states()

    await server.database.fresh()
    factory = createFactories(server.db)
    member = await factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
    const again = await everyKind()
    const names = new Map(Object.entries(again).map(([name, id]) => [id, name]))
    const payload = await act(action, { sessionIds: Object.values(again) })
    const found: Record<string, unknown> = {}
    for (const { sessionId } of payload.sessions) found[names.get(sessionId)!] = {}
    for (const { sessionId, code, message } of payload.refused) {
      const name = names.get(sessionId)!
      // A message may name the newest attempt of the chain, too.
      const asFirst = (text: string, [each, id]: [string, string]) => text.replaceAll(id, first[each]!)
      found[name] = { code, message: Object.entries(again).reduce(asFirst, message) }
    }
    expect(found).toEqual(expected)
    expect(await states()).toEqual(after)
    const { sessions, refused } = payload
    expect(payload.resubmission).toMatchObject({
      action,
      state: 'COMPLETED',
      total: 9,
      done: sessions.length,
      refusedCount: refused.length,
      pending: 0,
    })
    expect(sessions.length * refused.length).toBeGreaterThan(0)
    // Two sessions of one chain end the same attempt.
    const { rows: audited } = await server.db.query<{ count: number; chains: number }>(
      `SELECT count(*) AS count, (SELECT count(DISTINCT chain_id) FROM sessions WHERE id = ANY($1)) AS chains
       FROM audit_log WHERE actor = 'MEMBER-token' AND session_id = ANY($1)
         AND action IN ('session.terminate', 'retry.cancel', 'retry.now', 'retry.decided')`,
      [sessions.map(({ sessionId }: { sessionId: string }) => sessionId)],
    )
    expect(audited[0]!.count).toBe(audited[0]!.chains)
  })

  test('a dry run counts and names the sessions, and changes nothing', async () => {
    const ids = await everyKind()
    const before = await states()
    const dry = await act(action, { sessionIds: Object.values(ids), dryRun: true })
    expect(await states()).toEqual(before)
    expect((await server.db.query('SELECT FROM resubmissions')).rowCount).toBe(0)
    const done = await act(action, { sessionIds: Object.values(ids).toSorted() })
    const idsOf = (sessions: { sessionId: string }[]) => sessions.map(({ sessionId }) => sessionId).toSorted()
    expect(dry).toMatchObject({ __typename: 'DryRun', total: 9, count: done.sessions.length })
    expect(dry.refusals).toEqual(groupsOf(done.refused))
    expect(done.resubmission.refusals).toEqual(dry.refusals)
    expect(idsOf(dry.sessions)).toEqual(idsOf(done.sessions))
  })

  test('is refused to a viewer, without a selection, and with an empty one', async () => {
    const viewer = await factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })
    expect(await act(action, { filter: { name: { equals: 'x' } }, dryRun: true }, viewer)).toMatchObject({
      code: 'FORBIDDEN',
    })
    const both = { filter: { name: { equals: 'x' } }, chainFilter: { name: { equals: 'x' } } }
    for (const input of [{}, { filter: {} }, { sessionIds: [], filter: {} }, { chainFilter: {} }, both]) {
      expect(await act(action, input)).toMatchObject({ __typename: 'ValidationError', code: 'VALIDATION_FAILED' })
    }
  })
})

test('more than are done in the call go on in batches, once, with progress, and can be aborted', async () => {
  await dueRetries(scheduler.context, { count: 1_100 })
  const call = { filter: { retryPhase: ['SCHEDULED'] }, clientKey: 'all' }
  const { resubmission } = await act('CANCEL_RETRY', call)
  expect(resubmission).toMatchObject({ state: 'RUNNING', total: 1_100, done: 0 })
  const { resubmissionId } = resubmission
  const connection = connect(server.url, member)
  const progress = connection.subscribe(`subscription ($id: UUID!) { resubmissionProgress(id: $id) { state done } }`, {
    id: resubmissionId,
  })
  const [first] = await progress.take(1)
  expect(first).toEqual({ resubmissionProgress: { state: 'RUNNING', done: 0 } })
  await scheduler.run('resubmit-sessions')
  expect((await act('CANCEL_RETRY', call)).resubmission).toMatchObject({ resubmissionId, done: 500 })
  expect(await act('RETRY_NOW', call)).toMatchObject({ __typename: 'ConflictError', code: 'CLIENT_KEY_REUSED' })
  for (let n = 0; n < 2; n++) await scheduler.run('resubmit-sessions')
  expect((await act('CANCEL_RETRY', call)).resubmission).toMatchObject({ state: 'COMPLETED', done: 1_100 })
  await connection.close()
  const { rows } = await server.db.query<{ events: number; audited: number; cancelled: number }>(
    `SELECT (SELECT count(*) FROM session_events WHERE type = 'session.retry_cancelled') AS events,
       (SELECT count(*) FROM audit_log WHERE action = 'retry.cancel') AS audited,
       (SELECT count(*) FROM retry_decisions WHERE phase = 'CANCELLED') AS cancelled`,
  )
  expect(rows[0]).toEqual({ events: 1_100, audited: 1_100, cancelled: 1_100 })
  const { data } = await server.query(
    '{ all: resubmissions { totalCount } mine: resubmissions(action: [CANCEL_RETRY]) { totalCount } none: resubmissions(action: [RESUBMIT]) { totalCount } }',
    {},
    member,
  )
  expect(data).toEqual({ all: { totalCount: 1 }, mine: { totalCount: 1 }, none: { totalCount: 0 } })
})

test('a termination takes a reason and force, and refuses a reason that is too long', async () => {
  const { id } = await factory.session({ name: 'running', status: 'RUNNING' })
  const tooLong = { sessionIds: [id], reason: 'x'.repeat(100_000) }
  expect(await act('TERMINATE', tooLong)).toMatchObject({ __typename: 'ValidationError' })
  const { resubmission } = await act('TERMINATE', { sessionIds: [id], reason: 'wrong input', force: true })
  expect(JSON.parse(resubmission.overrides)).toEqual({ force: true, reason: 'wrong input' })
  const { rows } = await server.db.query(
    'SELECT status, status_reason AS reason, terminate_force AS force, terminated_by AS by FROM sessions',
  )
  expect(rows).toEqual([{ status: 'TERMINATING', reason: 'wrong input', force: true, by: 'MEMBER-token' }])
})

test('a dry run of a resubmission counts the ends of failed chains, and with those that succeeded on request', async () => {
  const ids = await everyKind()
  const filter = { project: 'default' }
  expect(await act('RESUBMIT', { filter, dryRun: true })).toMatchObject({ total: 8, count: 4 })
  const dry = await act('RESUBMIT', { filter, includeSucceeded: true, dryRun: true })
  expect(dry).toMatchObject({ total: 8, count: 5 })
  expect(dry.sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).toContain(ids['succeeded'])
})

test('a dry run of a resubmission gives the same result as the real one: changes and limits count, each place once', async () => {
  const ids = Object.values(await everyKind())
  const { id: limited } = { id: await factory.project('limited') }
  await insertRows(server.db, 'resource_policies', [{ scope: 'PROJECT', scope_id: limited, slots: {}, max_pending: 2 }])
  for (let n = 0; n < 5; n++) {
    ids.push((await factory.session({ projectId: limited, status: 'ERROR', phase: 'EXHAUSTED' })).id)
  }
  const admin = await factory.token({ role: 'ADMIN' })
  const call = { sessionIds: ids, overrides: { priority: 7 } }
  const dry = await act('RESUBMIT', { ...call, dryRun: true }, admin)
  expect(dry.refusals).toContainEqual(expect.objectContaining({ code: 'QUOTA_EXCEEDED', count: 3 }))
  const done = await act('RESUBMIT', call, admin)
  expect(dry).toMatchObject({ total: ids.length, count: done.sessions.length })
  expect(dry.refusals).toEqual(groupsOf(done.refused))
})

describe('by the filter of chains', () => {
  test('the newest attempts of those that match and that the caller sees, and the record has the filter', async () => {
    const ids = await everyKind()
    const ofChains = { chainFilter: { state: ['WAITING_RETRY', 'HELD', 'LIVE', 'SUCCEEDED'] } }
    const dry = await act('CANCEL_RETRY', { ...ofChains, dryRun: true })
    const done = await act('CANCEL_RETRY', ofChains)
    const touched = [...done.sessions, ...done.refused].map(({ sessionId }: { sessionId: string }) => sessionId)
    expect(touched.toSorted()).toEqual(
      ['pending', 'running', 'undecided', 'scheduled', 'held', 'succeeded'].map((name) => String(ids[name])).toSorted(),
    )
    expect(dry).toMatchObject({ total: 6, count: 2 })
    expect(done.sessions.map(({ sessionId }: { sessionId: string }) => sessionId).toSorted()).toEqual(
      [String(ids['scheduled']), String(ids['held'])].toSorted(),
    )
    expect(JSON.parse(done.resubmission.filter)).toEqual({ chains: ofChains.chainFilter })
  })

  test('by words and by ids, and no more of them than a list may have', async () => {
    await everyKind()
    expect(await act('TERMINATE', { chainFilter: { search: 'succ' }, dryRun: true })).toMatchObject({
      total: 1,
      count: 0,
      refusals: [{ code: 'SESSION_ALREADY_FINISHED', count: 1 }],
    })
    const tooMany = Array.from({ length: 201 }, (_, code) => code)
    expect(await act('TERMINATE', { chainFilter: { exitCode: tooMany } })).toMatchObject({
      __typename: 'ValidationError',
      message: expect.stringContaining('At most 200 values'),
    })
  })

  test('the same key for another filter is refused, and for the same one gives the first', async () => {
    await everyKind()
    const call = { chainFilter: { state: ['HELD'] }, clientKey: 'one' }
    const { resubmission } = await act('CANCEL_RETRY', call)
    expect((await act('CANCEL_RETRY', call)).resubmission.resubmissionId).toBe(resubmission.resubmissionId)
    const other = { ...call, chainFilter: { state: ['LIVE'] } }
    expect(await act('CANCEL_RETRY', other)).toMatchObject({ __typename: 'ConflictError' })
  })
})
