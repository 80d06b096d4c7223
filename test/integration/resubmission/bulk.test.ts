/** Large resubmissions: batches, abort, progress, and selections that are refused. */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { followResubmission } from '../../../src/events/follow-resubmission.ts'
import { createWakeHub } from '../../../src/events/wake-hub.ts'
import { abortResubmission } from '../../../src/services/resubmission/resubmissions.ts'
import type { SessionFilterInput } from '../../../src/services/session/session-where.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { untilBlocked } from '../../support/database/blocked.ts'
import { exhaustedSessions } from '../../support/sessions/due-retries.ts'
import { resubmissionRow, useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { testServer } from '../../support/servers/test-server.ts'

const given = useScheduling()
const resubmit = useResubmission(given)
const pools: Database[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

function connections(): Database {
  const db = openDatabase({ connectionString: given.database.connectionString, connectionsMax: 3, onError: () => {} })
  pools.push(db)
  return db
}

const FILTER = { filter: { result: ['FAILURE' as const], retryPhase: ['EXHAUSTED' as const] } }
const failed = (count: number) => exhaustedSessions(given.server.context, { count })
const row = (id: string) => resubmissionRow(given.db, id)
const children = async () =>
  (
    await given.sql(`SELECT count(*) AS children, count(DISTINCT parent_session_id) AS parents FROM sessions
      WHERE origin = 'RESUBMISSION' AND epoch = 1 AND attempt = 2`)
  )[0]

describe('more than are done in the call', () => {
  it('continue in batches; sessions that match later are not among them', async () => {
    const { server } = given
    await failed(1_100)
    const { resubmissionId, sessionIds } = await resubmit(FILTER)
    expect(sessionIds).toEqual([])
    expect(await row(resubmissionId)).toMatchObject({ state: 'RUNNING', total: 1_100, done: 0, finished: false })
    const [later] = await failed(1)
    for (const done of [500, 1_000, 1_100]) {
      await server.run('resubmit-sessions')
      expect((await row(resubmissionId)).done).toBe(done)
    }
    expect(await row(resubmissionId)).toMatchObject({ state: 'COMPLETED', finished: true })
    expect(await server.run('resubmit-sessions')).toEqual([0])
    expect(await children()).toEqual({ children: 1_100, parents: 1_100 })
    expect(await given.sql('SELECT FROM sessions WHERE parent_session_id = $1', [later])).toEqual([])
    const [audit] = await given.sql(
      `SELECT count(*) AS entries, sum(jsonb_array_length(details -> 'sessionIds')) AS sessions FROM audit_log
       WHERE action = 'session.resubmitted'`,
    )
    expect(audit).toEqual({ entries: 3, sessions: 1_100 })
  })

  it('answer a repeated call with the progress so far', async () => {
    await failed(600)
    const call = { ...FILTER, clientKey: 'again' }
    const first = await resubmit(call)
    await given.server.run('resubmit-sessions')
    const second = await resubmit(call)
    expect(second.resubmissionId).toBe(first.resubmissionId)
    expect([first.sessionIds.length, second.sessionIds.length]).toEqual([0, 500])
    await given.server.run('resubmit-sessions')
    expect(await children()).toEqual({ children: 600, parents: 600 })
  })

  it('are one batch after the other for each resubmission, and side by side on two servers', async () => {
    const ids = await failed(2_000)
    const first = await resubmit({ sessionIds: ids.slice(0, 1_200) })
    const second = await resubmit({ sessionIds: ids.slice(800) })
    const servers = [testServer(connections()), testServer(connections())]
    for (let round = 0; round < 8; round++) {
      await Promise.all(servers.map((server) => server.run('resubmit-sessions')))
    }
    const [one, two] = [await row(first.resubmissionId), await row(second.resubmissionId)]
    expect([one.state, two.state]).toEqual(['COMPLETED', 'COMPLETED'])
    expect(one.done + two.done).toBe(2_000)
    expect(one.refused + two.refused).toBe(400)
    expect(await children()).toEqual({ children: 2_000, parents: 2_000 })
  })

  it('run successful ones again on request, also in the background', async () => {
    const ids = await failed(501)
    await given.sql(`UPDATE sessions SET status = 'TERMINATED', result = 'SUCCESS' WHERE id = ANY($1)`, [ids])
    const { resubmissionId } = await resubmit({ sessionIds: ids, includeSucceeded: true })
    await given.server.run('resubmit-sessions', 'resubmit-sessions')
    expect(await row(resubmissionId)).toMatchObject({ done: 501, refused: 0, state: 'COMPLETED' })
    expect(await children()).toEqual({ children: 501, parents: 501 })
  })

  it('a batch that dies is undone, and done once', async () => {
    await failed(700)
    const { resubmissionId } = await resubmit(FILTER)
    const { sync, gates } = syncGates('resubmit:before-commit')
    const dying = testServer(connections(), sync)
      .run('resubmit-sessions')
      .catch(() => 'died')
    await gates['resubmit:before-commit']!.reached
    await given.sql(
      `SELECT pg_terminate_backend(pid, 40000) FROM pg_stat_activity
       WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()`,
    )
    gates['resubmit:before-commit']!.open()
    expect(await dying).toBe('died')
    expect(await row(resubmissionId)).toMatchObject({ done: 0, state: 'RUNNING' })
    await given.server.run('resubmit-sessions', 'resubmit-sessions')
    expect(await row(resubmissionId)).toMatchObject({ done: 700, state: 'COMPLETED' })
    expect(await children()).toEqual({ children: 700, parents: 700 })
  })

  it('one whose batches fail keeps nobody else from theirs', async () => {
    const ids = await failed(1_200)
    const broken = await resubmit({ sessionIds: ids.slice(0, 600) })
    await given.db.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica')
      await tx.query(`UPDATE resubmissions SET overrides = '{"allowAgents": ["nonsense"]}'`)
    })
    const good = await resubmit({ sessionIds: ids.slice(600) })
    const looks = []
    for (let look = 0; look < 4; look++) looks.push(await given.server.run('resubmit-sessions').catch(() => 'failed'))
    expect(looks).toEqual(['failed', [500], 'failed', [100]])
    expect(await row(good.resubmissionId)).toMatchObject({ state: 'COMPLETED' })
    expect(await row(broken.resubmissionId)).toMatchObject({ state: 'RUNNING', done: 0 })
  })
})

describe('an abort', () => {
  it('leaves the remaining ones alone', async () => {
    const { server } = given
    await failed(1_100)
    const { resubmissionId } = await resubmit(FILTER)
    await server.run('resubmit-sessions')
    await abortResubmission(server.context, { resubmissionId })
    expect(await row(resubmissionId)).toMatchObject({ state: 'ABORTED', done: 500, abortedBy: 'ada', finished: true })
    expect(await server.run('resubmit-sessions')).toEqual([0])
    expect(await children()).toEqual({ children: 500, parents: 500 })
    await expect(abortResubmission(server.context, { resubmissionId })).rejects.toMatchObject({
      code: 'RESUBMISSION_FINISHED',
    })
    // The rest can be resubmitted again.
    const again = await resubmit(FILTER)
    await server.run('resubmit-sessions', 'resubmit-sessions', 'resubmit-sessions')
    expect(await row(again.resubmissionId)).toMatchObject({ state: 'COMPLETED', done: 600, refused: 500 })
  })

  it('waits for the batch that is under way, which stays', async () => {
    await failed(700)
    const { resubmissionId } = await resubmit(FILTER)
    const { sync, gates } = syncGates('resubmit:before-commit')
    const working = testServer(connections(), sync).run('resubmit-sessions')
    await gates['resubmit:before-commit']!.reached
    const aborting = abortResubmission(given.server.context, { resubmissionId })
    await untilBlocked(given.db, 1)
    gates['resubmit:before-commit']!.open()
    await Promise.all([working, aborting])
    expect(await row(resubmissionId)).toMatchObject({ state: 'ABORTED', done: 500 })
    expect(await given.server.run('resubmit-sessions')).toEqual([0])
    expect(await children()).toEqual({ children: 500, parents: 500 })
  })

  it('is for those who may', async () => {
    await failed(600)
    const { resubmissionId } = await resubmit(FILTER)
    const as = (viewer: object) =>
      abortResubmission(
        { ...given.server.context, viewer: { ...given.server.context.viewer, ...viewer } },
        { resubmissionId },
      )
    await expect(as({ role: 'VIEWER' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(as({ role: 'MEMBER', projectId: randomUUID() })).rejects.toMatchObject({
      code: 'RESUBMISSION_NOT_FOUND',
    })
    expect(await row(resubmissionId)).toMatchObject({ state: 'RUNNING' })
  })
})

it('its progress is followed from another server, at once and to the end', async () => {
  await failed(1_100)
  const { resubmissionId } = await resubmit(FILTER)
  const elsewhere = { db: connections(), wake: createWakeHub() }
  const closing = new AbortController().signal
  const stream = followResubmission({ ...elsewhere, id: resubmissionId, visibleProjectId: null, closing })
  const seen = []
  for await (const [progress] of stream) {
    const { done, state } = progress!
    seen.push(`${state} ${done}`)
    if (state === 'RUNNING') await given.server.run('resubmit-sessions')
  }
  expect(seen).toEqual(['RUNNING 0', 'RUNNING 500', 'RUNNING 1000', 'COMPLETED 1100'])
})

describe('a selection', () => {
  const everything: [string, SessionFilterInput][] = [
    ['an empty filter', {}],
    ['a filter with an empty part', { AND: [{}], name: {} }],
    ['one that may be empty', { OR: [{ status: ['ERROR'] }, {}] }],
    ['all but nothing', { NOT: { NOT: {} } }],
  ]
  it.each(everything)('%s is refused', async (_what, filter) => {
    await failed(1)
    await expect(resubmit({ filter })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [{ path: 'filter', message: expect.stringContaining('everything') }],
    })
  })

  it('is by ids or by filter, not by both or by neither, and not of too many', async () => {
    const [id] = await failed(1)
    const tooMany = Array.from({ length: 100_001 }, () => id!)
    for (const input of [{}, { sessionIds: [] }, { sessionIds: [id!], ...FILTER }, { sessionIds: tooMany }]) {
      await expect(resubmit(input)).rejects.toMatchObject({ issues: [{ path: 'sessionIds' }] })
    }
    expect(await given.sql('SELECT FROM resubmissions')).toEqual([])
  })

  it('that matches nothing is done at once', async () => {
    const { resubmissionId } = await resubmit({ filter: { name: { equals: 'nobody' } } })
    expect(await row(resubmissionId)).toMatchObject({ state: 'COMPLETED', total: 0, finished: true })
  })

  it('sees its own project alone', async () => {
    const own = await given.sql(
      `INSERT INTO projects (id, domain_id, name) SELECT gen_random_uuid(), id, 'other' FROM domains RETURNING id`,
    )
    await failed(3)
    await exhaustedSessions(given.server.context, { count: 2, project: 'other' })
    const viewer = { role: 'MEMBER', projectId: own[0]!.id as string } as const
    const shown = await resubmit(FILTER, { viewer })
    expect(await row(shown.resubmissionId)).toMatchObject({ total: 2, done: 2 })
  })
})
