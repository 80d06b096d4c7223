import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { dueRetries, exhaustedSessions } from '../support/sessions/due-retries.ts'
import { eventually, pause } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { testServer } from '../support/servers/test-server.ts'

/** 6,000 sessions resubmitted by a filter, by a real server that is killed by SIGKILL in the middle, twice. */

const SESSIONS = 6_000

let database: TestDatabase
let dataDir: string
let server: ServerProcess | undefined
let log: string[] = []

async function start(): Promise<ServerProcess> {
  return startServer({
    dataDir,
    port: 0,
    onLog: (line) => (log = [...log.slice(-30), line]),
    // Nothing runs the children: they are counted.
    env: { REPRISE_DATABASE_URL: database.connectionString, REPRISE_ROLES: 'api,scheduler' },
  })
}

beforeAll(async () => {
  database = await testDatabase()
  dataDir = await temporaryDirectory('resubmission')
  await exhaustedSessions(testServer(database.db).context, { count: SESSIONS })
})
afterAll(async () => {
  await server?.stop()
  await database?.close()
})

async function request<Data>(
  { url }: ServerProcess,
  token: string,
  query: string,
  variables: object = {},
): Promise<Data> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data: Data; errors?: object[] }
  expect(errors).toBeUndefined()
  return data
}

interface Progress {
  state: string
  total: number
  done: number
  refusedCount: number
  pending: number
}

const RESUBMIT = `mutation { resubmitSessions(input: { filter: { retryPhase: [EXHAUSTED] }, clientKey: "all", overrides: { priority: 77 } }) {
  ... on ResubmitSessionsPayload { resubmission { resubmissionId state total } } ... on Error { message } } }`
const PROGRESS = `query ($id: UUID!) { resubmission(id: $id) { state total done refusedCount pending } }`

test('a resubmission cut off by a crash goes on after the restart, and does nothing twice', async () => {
  server = await start()
  const token = await readAdminToken(dataDir)
  interface Resubmitted {
    resubmitSessions: { resubmission: Pick<Progress, 'state' | 'total'> & { resubmissionId: string } }
  }
  const first = await request<Resubmitted>(server, token, RESUBMIT)
  const { resubmissionId: id, ...opened } = first.resubmitSessions.resubmission
  expect(opened).toEqual({ state: 'RUNNING', total: SESSIONS })
  const done = async () => (await database.db.query<{ done: number }>('SELECT done FROM resubmissions')).rows[0]!.done

  const left: number[] = []
  for (const atLeast of [1, 2_000]) {
    await eventually(async () => (await done()) >= atLeast, { withinMs: 120_000, what: `${atLeast} done` })
    await server.kill()
    left.push(SESSIONS - (await done()))
    server = await start()
  }
  expect(left[0], 'the first kill came in the middle').toBeGreaterThan(0)

  const again = await request<Resubmitted>(server, token, RESUBMIT)
  expect(again.resubmitSessions.resubmission.resubmissionId).toBe(id)
  const deadline = performance.now() + 90_000
  let progress: Progress
  do {
    await pause(200)
    progress = (await request<{ resubmission: Progress }>(server, token, PROGRESS, { id })).resubmission
    expect(progress.done + progress.pending).toBe(SESSIONS)
  } while (progress.state === 'RUNNING' && performance.now() < deadline)
  expect({ progress, log }).toMatchObject({ progress: { state: 'COMPLETED', done: SESSIONS, refusedCount: 0 } })

  const { rows } = await database.db.query(`
    SELECT count(*) AS children, count(DISTINCT s.parent_session_id) AS parents,
      count(*) FILTER (WHERE s.epoch = 1 AND s.attempt = 2 AND s.retry_count = 0 AND s.priority = 77) AS right,
      count(i.child_session_id) AS recorded,
      (SELECT count(*) FROM session_events e WHERE e.type = 'session.created' AND e.session_id = ANY(array_agg(s.id))) AS created
    FROM sessions s LEFT JOIN resubmission_items i ON i.child_session_id = s.id AND i.session_id = s.parent_session_id
    WHERE s.origin = 'RESUBMISSION'`)
  const each = SESSIONS
  expect(rows[0]).toEqual({ children: each, parents: each, right: each, recorded: each, created: each })
})

test('other actions on many sessions go on after a crash, too', async () => {
  const count = 4_000
  const waiting = await dueRetries(testServer(database.db).context, { count, later: '1 day' })
  server ??= await start()
  const token = await readAdminToken(dataDir)
  const cancel = `mutation { cancelRetries(input: { filter: { retryPhase: [SCHEDULED] }, clientKey: "cancel" }) {
    ... on CancelRetriesPayload { resubmission { resubmissionId total } } ... on Error { message } } }`
  interface Cancelled {
    cancelRetries: { resubmission: { resubmissionId: string; total: number } }
  }
  const { resubmissionId: id, total } = (await request<Cancelled>(server, token, cancel)).cancelRetries.resubmission
  expect(total).toBe(waiting.length)
  await server.kill()
  server = await start()
  expect((await request<Cancelled>(server, token, cancel)).cancelRetries.resubmission.resubmissionId).toBe(id)
  const running = server
  await eventually(
    async () =>
      (await request<{ resubmission: Progress }>(running, token, PROGRESS, { id })).resubmission.state === 'COMPLETED',
    { withinMs: 120_000, what: 'all retries cancelled' },
  )
  const { rows } = await database.db.query(
    `SELECT (SELECT count(*) FROM retry_decisions WHERE phase = 'CANCELLED' AND explanation LIKE '%cancelled by%cancelled by%') AS twice,
      (SELECT count(*) FROM audit_log WHERE action = 'retry.cancel') AS audited,
      (SELECT done FROM resubmissions WHERE id = $1) AS done`,
    [id],
  )
  expect(rows[0]).toEqual({ twice: 0, audited: total, done: total })
})
