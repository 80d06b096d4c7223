/** The timeline of a chain, with the reasons of the waits of its retries. */
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { cancelRetry, retryNow } from '../../../src/services/retry/change-retry.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { emptyDatabase } from '../../support/database/database.ts'
import { migrateUpTo } from '../../support/database/migrate-up-to.ts'
import { type TestServer as Api, startGraphQLServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'
import { driveAll } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'

let api: Api
let server: TestServer
let agent: FakeAgent

beforeAll(async () => {
  api = await startGraphQLServer()
})
afterAll(() => api?.close())
beforeEach(async () => {
  await api.database.fresh()
  server = testServer(api.db)
  agent = fakeAgent(server.gateway, { slots: { cpu: '64' } })
  await agent.register()
  await server.run('watch-agents')
})

interface Segment {
  kind: string
  from: string
  to: string | null
  attempt: number
  session: { sessionId: string } | null
  cause: string | null
  holdReason: string | null
  reason: string | null
}

async function timeline(chainId: string, args = 'first: 100'): Promise<Segment[]> {
  const token = await api.factory.token({ role: 'ADMIN' })
  const { data, errors } = await api.query(
    `{ chain(id: "${chainId}") { timeline(${args}) { edges { node {
      kind from to attempt session { sessionId } cause holdReason reason } } } } }`,
    {},
    token,
  )
  expect(errors).toBeUndefined()
  return data.chain.timeline.edges.map(({ node }: { node: Segment }) => node)
}

/** In hundreds of seconds: what a test itself takes is not seen. */
const lengthOf = ({ from, to }: Segment) => Math.floor((Date.parse(to!) - Date.parse(from)) / 100_000)
const switchRetries = (disabled: boolean) => setRetrySwitch(server.context, { scope: 'CLUSTER', disabled })

/** A chain whose first attempt ran for 1,000 s and failed, and whose retry is due. */
async function failedChain(): Promise<string> {
  const chainId = await server.create({ retryPolicy: { maxRetries: 3, retryDelay: 5, jitter: 'NONE' } })
  await driveAll(server, agent, 'RUNNING')
  await advanceClock(api.db, 1000)
  agent.exitAll(3)
  await agent.sync()
  await server.run('detect-termination', 'terminate-sessions')
  await agent.comply()
  await server.run('promote-to-terminated', 'decide-retries')
  await advanceClock(api.db, 500)
  return chainId
}

describe('a retry that a switch held', () => {
  const SWITCHED_OFF = expect.stringMatching(/^retries are switched off \(cluster\), set by \S+$/)

  test('keeps that for ever: in its decision, its explanation and the timeline', async () => {
    const chainId = await failedChain()
    await switchRetries(true)
    await server.run('dispatch-retries')
    await advanceClock(api.db, 2200)
    expect((await timeline(chainId)).slice(-2)).toMatchObject([
      { kind: 'HELD', to: null, holdReason: 'DISABLED', reason: SWITCHED_OFF },
      { kind: 'PLANNED', to: null, attempt: 2, session: null, cause: 'KERNEL_NONZERO_EXIT' },
    ])
    await switchRetries(false)
    await server.run('dispatch-retries')
    const segments = await timeline(chainId)
    const open = segments.at(-1)!
    expect(open).toMatchObject({ kind: 'QUEUED', to: null, attempt: 2, cause: null })
    const between = segments.filter(({ kind }) => ['RUNNING', 'BACKOFF', 'HELD'].includes(kind))
    expect(between.map((segment) => [segment.kind, lengthOf(segment)])).toEqual([
      ['RUNNING', 10],
      ['BACKOFF', 5],
      ['HELD', 22],
    ])
    expect(between.at(-1)!.to).toBe(open.from)
    const token = await api.factory.token({ role: 'ADMIN' })
    const { data } = await api.query(
      `{ session(id: "${chainId}") { retryDecision { phase explanation holdReason
        holds { holdReason reason from to } } retryState { reason } } }`,
      {},
      token,
    )
    const { retryDecision: decision, retryState } = data.session
    expect(decision).toMatchObject({ phase: 'DISPATCHED', holdReason: null })
    const { from, to } = between.at(-1)!
    expect(decision.holds).toEqual([{ holdReason: 'DISABLED', reason: SWITCHED_OFF, from, to }])
    expect(decision.explanation).toMatch(/; held 22\d\d(\.\d+)? s: retries are switched off, set by \S+$/)
    expect(retryState.reason).toBe(decision.explanation)
  })

  test('and that a person made due, which was held again: two holds, and backoff in between', async () => {
    const chainId = await failedChain()
    await switchRetries(true)
    await server.run('dispatch-retries')
    await advanceClock(api.db, 700)
    await retryNow(server.context, { sessionId: chainId })
    await advanceClock(api.db, 200)
    await server.run('dispatch-retries', 'dispatch-retries')
    await advanceClock(api.db, 300)
    // Looked at again, it is held by the same, and by the same interval.
    await api.db.query('UPDATE retry_decisions SET ready_at = reprise_now()')
    await server.run('dispatch-retries')
    await switchRetries(false)
    await server.run('dispatch-retries')
    const between = (await timeline(chainId)).filter(({ kind }) => ['BACKOFF', 'HELD'].includes(kind))
    expect(between.map((segment) => [segment.kind, lengthOf(segment)])).toEqual([
      ['BACKOFF', 5],
      ['HELD', 7],
      ['BACKOFF', 2],
      ['HELD', 3],
    ])
  })

  test('and that was cancelled: the chain went on until then', async () => {
    const chainId = await failedChain()
    await switchRetries(true)
    await server.run('dispatch-retries')
    await advanceClock(api.db, 3000)
    await cancelRetry(server.context, { sessionId: chainId })
    const segments = await timeline(chainId)
    expect(segments.at(-1)).toMatchObject({ kind: 'HELD', holdReason: 'DISABLED' })
    expect(lengthOf(segments.at(-1)!)).toBe(30)
    const { rows } = await api.db.query<{ ended: Date; seconds: number }>(
      'SELECT ended_at AS ended, extract(epoch FROM ended_at - created_at)::int AS seconds FROM chains',
    )
    expect(rows[0]!.ended.toISOString()).toBe(segments.at(-1)!.to)
    expect(rows[0]!.seconds).toBeGreaterThanOrEqual(4_500)
    // Made from nothing, it is the same.
    await api.db.query('SELECT refresh_chains(ARRAY[$1::uuid])', [chainId])
    expect((await api.db.query('SELECT ended_at AS ended FROM chains')).rows).toEqual([{ ended: rows[0]!.ended }])
  })

  test('for reasons that alternate for ever is recorded up to a bound', async () => {
    const chainId = await failedChain()
    for (let n = 0; n < 103; n++) {
      await api.db.query('UPDATE retry_decisions SET ready_at = reprise_now()')
      await api.db.query('DELETE FROM retry_switches')
      const scope = n % 2 ? ({ scope: 'CLUSTER' } as const) : ({ scope: 'PROJECT', name: 'default' } as const)
      await setRetrySwitch(server.context, { ...scope, disabled: true })
      await server.run('dispatch-retries')
    }
    const { rows } = await api.db.query<{ waits: number; open: number }>(
      'SELECT count(*)::int AS waits, count(*) FILTER (WHERE to_at IS NULL)::int AS open FROM retry_waits',
    )
    expect(rows).toEqual([{ waits: 100, open: 1 }])
    await api.db.query('DELETE FROM retry_switches')
    await api.db.query('UPDATE retry_decisions SET ready_at = reprise_now()')
    await server.run('dispatch-retries')
    expect(await timeline(chainId, 'last: 1')).toMatchObject([{ kind: 'QUEUED', attempt: 2 }])
    expect((await api.db.query('SELECT FROM retry_waits WHERE to_at IS NULL')).rowCount).toBe(0)
  })
})

test('the end of a chain is an event of its last session, with how it ended', async () => {
  const connection = connect(api.url, await api.factory.token({ role: 'ADMIN' }))
  try {
    const events =
      connection.subscribe(`subscription { sessionEvents(filter: { types: [CHAIN_CANCELLED, CHAIN_REOPENED] }) {
      type sessionId chainId toStatus reason chainEnd { epoch attempts cause runningSeconds waitingSeconds } } }`)
    const taken = events.take(1)
    const chainId = await failedChain()
    await cancelRetry(server.context, { sessionId: chainId })
    const [{ sessionEvents: event }] = await taken
    expect(event).toMatchObject({ type: 'CHAIN_CANCELLED', sessionId: chainId, chainId, toStatus: null })
    expect(event.reason).toMatch(/cancelled by ada$/)
    const { runningSeconds, waitingSeconds, ...ending } = event.chainEnd
    expect(ending).toEqual({ epoch: 0, attempts: 1, cause: 'KERNEL_NONZERO_EXIT' })
    expect([runningSeconds, waitingSeconds].map((seconds) => Math.floor(seconds / 100))).toEqual([10, 5])
  } finally {
    await connection.close()
  }
})

test('a cursor that is none of a timeline is refused', async () => {
  const chainId = await server.create()
  const token = await api.factory.token({ role: 'ADMIN' })
  for (const args of [
    'after: "bnVsbA=="',
    'before: "s:1.1"',
    `after: "${Buffer.from('s:1.1.1').toString('base64')}"`,
  ]) {
    const { errors } = await api.query(`{ chain(id: "${chainId}") { timeline(${args}) { totalCount } } }`, {}, token)
    expect(errors![0]!.extensions['code']).toBe('VALIDATION_FAILED')
  }
})

test('a database with retries that were held before holds were on record is migrated', async () => {
  const old = await emptyDatabase()
  const client = new pg.Client({ connectionString: old.connectionString })
  await client.connect()
  try {
    await migrateUpTo(client, '20261123003000_retry_waits')
    await client.query(
      `INSERT INTO domains (id, name) SELECT gen_random_uuid(), 'default' WHERE NOT EXISTS (SELECT FROM domains);
       INSERT INTO projects (id, domain_id, name) SELECT gen_random_uuid(), id, 'old' FROM domains LIMIT 1;
       INSERT INTO resource_groups (name) VALUES ('old');
       INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command, environ,
         resource_slots, cluster_mode, cluster_size, priority, labels, chain_id, attempt, retry_policy, status, result,
         terminated_at, retry_decided)
       SELECT s.id, p.id, 'old', 'old', 'old', 'BATCH', '{true}', '[]', '{}', 'SINGLE_NODE', 1, 10, '{}', s.id, 1,
         '{"maxRetries": 1}', 'ERROR', 'FAILURE', now(), true
       FROM projects p, (SELECT gen_random_uuid() AS id) AS s WHERE p.name = 'old';
       INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, hold_reason, due_at, ready_at, explanation)
       SELECT id, project_id, chain_id, 'HELD', 'DISABLED', now(), now(), 'held' FROM sessions`,
    )
    await migrate(old.connectionString, pino({ enabled: false }))
    const { rows } = await client.query('SELECT state, ended_at AS ended FROM chains')
    expect(rows).toEqual([{ state: 'HELD', ended: null }])
    await client.query(`UPDATE retry_decisions SET phase = 'CANCELLED', hold_reason = NULL`)
    const ended = await client.query('SELECT c.ended_at = s.terminated_at AS same FROM chains c, sessions s')
    expect(ended.rows).toEqual([{ same: true }])
  } finally {
    await client.end()
    await old.drop()
  }
})
