import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import {
  ApiError,
  ClientClosedError,
  createClient,
  type Client,
  type CreateSessionInput,
} from '../../src/client/node/index.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { connectionString, openCluster, type Address, type Cluster } from '../../src/store/postgres/cluster.ts'
import { EMBEDDED_DATABASE } from '../../src/store/postgres/embedded.ts'
import { ensureRunning, stopServer } from '../../src/store/postgres/postmaster.ts'
import { eventually, pause } from '../support/eventually.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { misbookedSlots } from '../support/database/session-rows.ts'
import { spawnProgram, type SpawnedProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { TEST_SETTINGS } from '../support/database/test-settings.ts'
import { MAIN } from '../support/programs/command-line.ts'

/**
 * Three servers with their roles split and shared, and two agents in processes of their own, on one PostgreSQL. Every
 * few seconds a server is killed by SIGKILL and started again, and once the database is away, while sessions fail,
 * retry and succeed. In the end every promise is looked up in the database and in the notes of the programs.
 */

const SESSIONS = 60
const KILLS = 4
const KILL_PAUSE_MS = 2_000
const OUTAGE_MS = 5_000
/** The longest standstill: a server has to start, on a busy machine. */
const GAP_MAX_MS = 15_000
const START_OF_TIME = btoa('0:0').replaceAll('=', '')

const ROLES = ['api', 'scheduler', 'api,scheduler'] as const

interface Kind {
  command: string
  maxRetries: number
  ends: string
}

const KINDS: readonly Kind[] = [
  { command: 'sleep 0.2', maxRetries: 2, ends: 'TERMINATED SUCCEEDED 1' },
  { command: 'test "$REPRISE_ATTEMPT" -ge 3', maxRetries: 4, ends: 'TERMINATED SUCCEEDED 3' },
  { command: '(exit 9)', maxRetries: 2, ends: 'ERROR EXHAUSTED 3' },
  { command: '(exit 4)', maxRetries: 0, ends: 'ERROR NONE 1' },
  { command: 'sleep 2; test "$REPRISE_ATTEMPT" -ge 2', maxRetries: 1, ends: 'TERMINATED SUCCEEDED 2' },
]
const kindOf = (index: number): Kind => KINDS[index % KINDS.length]!

/** Each attempt notes its begin and its end, so that what ran when is known from outside of the database. */
const program = (command: string) => [
  'sh',
  '-c',
  `note() { echo "$REPRISE_ATTEMPT $1" >> "$NOTES/$REPRISE_CHAIN_ID"; }; note begin; ${command}; code=$?; note end; exit $code`,
]

let directory: string
let cluster: Cluster
let address: Address
let db: Database
const servers: ServerProcess[] = []
const agents: SpawnedProgram[] = []
let client: Client
let log: string[] = []
const onLog = (line: string) => {
  log = [...log.slice(-60), line]
}

beforeAll(async () => {
  directory = await temporaryDirectory('several-servers')
  await mkdir(join(directory, 'notes'))
  await copyPreparedCluster(join(directory, 'postgres'))
  cluster = await openCluster(join(directory, 'postgres'))
  address = (await ensureRunning(cluster, TEST_SETTINGS)).address
  db = openDatabase({ connectionString: databaseUrl(), connectionsMax: 3, onError: () => {} })
  servers.push(...(await Promise.all(ROLES.map(async (_, index) => serve(index, await fixedPort())))))
  const urls = servers.map(({ url }) => url).filter((url) => url !== '')
  client = createClient({ urls, token: await readAdminToken(join(directory, 'servers')) })
  const token = await agentToken()
  agents.push(...(await Promise.all(['one', 'two'].map((name) => startAgent(name, token)))))
})

afterAll(async () => {
  await client?.close()
  await Promise.all([...servers, ...agents].map((each) => each.stop()))
  await db?.close()
  if (cluster) await stopServer(cluster)
})

const databaseUrl = () => connectionString(cluster, address, EMBEDDED_DATABASE)

function serve(index: number, httpPort: number): Promise<ServerProcess> {
  return startServer({
    dataDir: join(directory, 'servers'),
    port: httpPort,
    onLog,
    env: { REPRISE_DATABASE_URL: databaseUrl(), REPRISE_ROLES: ROLES[index]! },
  })
}

/** `reprise agent`, which knows of each server with an API. */
function startAgent(name: string, token: string): Promise<SpawnedProgram> {
  const given = ['--server', client.urls.join(','), '--name', name, '--slots', 'cpu=4,mem=4g']
  return spawnProgram({
    args: [MAIN, 'agent', ...given, '--data-dir', join(directory, `agent-${name}`)],
    // Kernels note their lives in a directory that all attempts share.
    environment: { REPRISE_TOKEN: token, REPRISE_ISOLATION: 'none' },
    ready: /^reprise agent ready (http:\S+)$/,
  })
}

async function agentToken(): Promise<string> {
  const mutation = `mutation { createToken(input: { name: "agents", role: AGENT }) {
    ... on CreateTokenPayload { secret } ... on Error { message } } }`
  const { createToken } = await client.request<{ createToken: { secret: string } }>(mutation)
  return createToken.secret
}

test('every promise holds and work goes on when any server dies or the database is away', async () => {
  const ended = new AbortController()
  const seen: { cursor: string; sessionId: string }[] = []
  const following = follow(seen, ended.signal)
  const progress = watchProgress()
  const submitting = submitAll()

  for (let kill = 0; kill < KILLS; kill++) {
    await pause(KILL_PAUSE_MS)
    const index = kill % servers.length
    const { url, kill: end } = servers[index]!
    await end()
    servers[index] = await serve(index, url === '' ? 0 : Number(new URL(url).port))
    if (kill === KILLS / 2) await interruptDatabase(progress)
  }
  const chainIds = await submitting
  await eventually(isOver, { withinMs: 120_000, what: 'all chains decided' })
  progress.stop()
  const gapMs = progress.longestGapMs()
  expect({ tooLong: gapMs > GAP_MAX_MS, gapMs, log: gapMs > GAP_MAX_MS ? log : [] }).toEqual({
    tooLong: false,
    gapMs,
    log: [],
  })

  await expectChains(chainIds)
  await expectNotes(chainIds)
  await expectNothingLeft()
  await expectEvents(seen)
  ended.abort()
  await following
})

async function interruptDatabase(progress: { pause(): void; resume(): void }): Promise<void> {
  progress.pause()
  await stopServer(cluster)
  await pause(OUTAGE_MS)
  await ensureRunning(cluster, TEST_SETTINGS, address)
  progress.resume()
}

async function submitAll(): Promise<string[]> {
  const ids: string[] = []
  for (let from = 0; from < SESSIONS; from += 10) {
    const inputs = Array.from({ length: 10 }, (_, offset): CreateSessionInput => {
      const { command, maxRetries } = kindOf(from + offset)
      return {
        name: 'work',
        command: program(command),
        environ: [{ name: 'NOTES', value: join(directory, 'notes') }],
        resourceSlots: [{ slot: 'cpu', amount: '0.25' }],
        retryPolicy: { maxRetries, retryDelay: 0.3, jitter: 'RANDOM', jitterRatio: 1 },
      }
    })
    for (const result of await client.createSessions(inputs)) {
      if (result instanceof ApiError) throw result
      ids.push(result.session.sessionId)
    }
    await pause(1_000)
  }
  return ids
}

/** Returns the longest standstill while the database was there and work was left. */
function watchProgress() {
  let last = -1
  let movedAt = performance.now()
  let longest = 0
  let paused = false
  const look = async () => {
    const { rows } = await db.query<{ moves: number }>('SELECT coalesce(max(id), 0) AS moves FROM session_events')
    if (rows[0]!.moves === last || paused) return
    longest = Math.max(longest, performance.now() - movedAt)
    last = rows[0]!.moves
    movedAt = performance.now()
  }
  const timer = setInterval(() => void look().catch(() => {}), 100)
  return {
    pause() {
      paused = true
    },
    resume() {
      paused = false
      movedAt = performance.now()
    },
    stop: () => clearInterval(timer),
    longestGapMs: () => longest,
  }
}

async function isOver(): Promise<boolean> {
  const statement = `SELECT count(*) = $1 AS all, bool_and(status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND phase IS NOT NULL
      AND phase NOT IN ('SCHEDULED', 'HELD', 'DISPATCHED')) AS over
    FROM (SELECT DISTINCT ON (s.chain_id) s.status, d.phase FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
      ORDER BY s.chain_id, s.attempt DESC) AS tail`
  const row = (await db.query<{ all: boolean; over: boolean }>(statement, [SESSIONS])).rows[0]!
  return row.all && row.over
}

/** One child for one failed attempt, chains unbroken, every end decided as its kind ends. */
async function expectChains(chainIds: readonly string[]): Promise<void> {
  const { rows } = await db.query<{ id: string; ends: string; linked: boolean; decided: boolean; apart: boolean }>(
    `SELECT s.chain_id AS id,
      (array_agg(s.status || ' ' || d.phase ORDER BY s.attempt DESC))[1] || ' ' || count(*) AS ends,
      bool_and(s.parent_session_id IS NOT DISTINCT FROM p.id AND (s.attempt = 1 OR pd.child_session_id = s.id)) AS linked,
      bool_and(d.session_id IS NOT NULL AND s.retry_decided) AS decided,
      bool_and(s.attempt = 1 OR s.created_at >= p.terminated_at) AS apart
    FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
    LEFT JOIN sessions p ON p.chain_id = s.chain_id AND p.attempt = s.attempt - 1
    LEFT JOIN retry_decisions pd ON pd.session_id = p.id
    GROUP BY s.chain_id`,
  )
  const chains = new Map(rows.map((row) => [row.id, row]))
  expect(chainIds.map((id) => chains.get(id))).toEqual(
    chainIds.map((id, index) => ({ id, ends: kindOf(index).ends, linked: true, decided: true, apart: true })),
  )
}

/** Checks the notes of the programs: each attempt ran once, to its end, before the next began. */
async function expectNotes(chainIds: readonly string[]): Promise<void> {
  const notes = join(directory, 'notes')
  expect((await readdir(notes)).toSorted()).toEqual(chainIds.toSorted())
  for (const [index, id] of chainIds.entries()) {
    const attempts = Number(kindOf(index).ends.split(' ')[2])
    const expected = Array.from({ length: attempts }, (_, attempt) => [`${attempt + 1} begin`, `${attempt + 1} end`])
    expect((await readFile(join(notes, id), 'utf8')).trim().split('\n')).toEqual(expected.flat())
  }
}

async function expectNothingLeft(): Promise<void> {
  const left = `SELECT id FROM kernels WHERE slots_held OR NOT confirmed_gone OR status NOT IN ('TERMINATED', 'ERROR')`
  expect((await db.query(left)).rows).toEqual([])
  expect((await db.query('SELECT * FROM agent_slots WHERE used <> 0')).rows).toEqual([])
  expect(await misbookedSlots(db)).toEqual([])
  const lost = `SELECT message FROM scheduling_history WHERE entity = 'AGENT' AND to_status = 'LOST'`
  expect((await db.query(lost)).rows).toEqual([])
}

async function follow(seen: { cursor: string; sessionId: string }[], signal: AbortSignal): Promise<void> {
  try {
    for await (const event of client.sessionEvents({}, { after: START_OF_TIME, signal })) seen.push(event)
  } catch (error) {
    if (!signal.aborted && !(error instanceof ClientClosedError)) throw error
  }
}

/** The subscriber, whose servers died under it, has every event once and in the outbox's order. */
async function expectEvents(seen: readonly { sessionId: string }[]): Promise<void> {
  const { rows } = await db.query<{ id: string }>('SELECT session_id AS id FROM session_events e ORDER BY e.xid, e.id')
  await eventually(() => seen.length >= rows.length, { withinMs: 120_000, what: 'all events seen' })
  expect(seen.map(({ sessionId }) => sessionId)).toEqual(rows.map(({ id }) => id))
}
