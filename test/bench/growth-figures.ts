import { join } from 'node:path'
import { createNoopExecutor } from '../../src/agent/executors/noop-executor.ts'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { createSessions } from '../../src/services/session/create-sessions.ts'
import type { Database } from '../../src/store/database.ts'
import { dueRetries } from '../support/sessions/due-retries.ts'
import { openServer } from './bench-server.ts'
import type { BenchDatabase, BenchGround } from './ground.ts'
import { countTo } from './waiting.ts'

const LIFECYCLES = 2_000
const CREATE_BATCH_SESSIONS = 500
const RETRIES = 1_000
const PENDING = 200
const CPU_SLOTS = 1_000
const IDS = 80

const PAGE = `query { sessions(first: 50) { edges { node { sessionId name status
  retryState { phase label } retryChain { sessionId attempt status } } } } }`
const POINT = `query ($id: UUID!) { session(id: $id) { sessionId name status retryState { phase label } } }`

/** One piece of work on a database, again and again. */
export interface Work extends AsyncDisposable {
  /** Answers with the figure, in its unit. */
  round(): Promise<number>
}

/** What the past should not make worse. */
export interface Figure {
  what: string
  unit: 'ms' | 'children/s' | 'sessions/s'
  rounds: number
  open(ground: BenchGround, database: BenchDatabase): Promise<Work>
}

export const FIGURES: readonly Figure[] = [
  { what: 'a point query', unit: 'ms', rounds: 60, open: openPointQuery },
  { what: 'a page of 50 with chains', unit: 'ms', rounds: 40, open: openPage },
  { what: `a look at ${PENDING} that wait`, unit: 'ms', rounds: 40, open: openLook },
  { what: `${RETRIES} retries due at once`, unit: 'children/s', rounds: 8, open: openRetries },
  { what: `${LIFECYCLES} lifecycles`, unit: 'sessions/s', rounds: 6, open: openLifecycles },
]

async function openPointQuery(ground: BenchGround, database: BenchDatabase): Promise<Work> {
  const { rows } = await database.db.query<{ id: string }>(
    'SELECT id FROM sessions ORDER BY hashint8(extract(epoch FROM created_at)::int8), id LIMIT $1',
    [IDS],
  )
  return askServer(ground, database, (ask, n) => ask(POINT, { id: rows[n % rows.length]!.id }))
}

function openPage(ground: BenchGround, database: BenchDatabase): Promise<Work> {
  return askServer(ground, database, (ask) => ask(PAGE, {}))
}

type Ask = (query: string, variables: object) => Promise<void>

/** Over HTTP, as clients do. */
async function askServer(
  ground: BenchGround,
  { connectionString }: BenchDatabase,
  work: (ask: Ask, n: number) => Promise<void>,
): Promise<Work> {
  const dataDir = join(ground.dir, 'server', crypto.randomUUID())
  const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api', REPRISE_LOG_LEVEL: 'warn' }
  const server = await startServer({ dataDir, port: 0, onLog: (line) => ground.progress(line), env })
  const headers = { authorization: `Bearer ${await readAdminToken(dataDir)}`, 'content-type': 'application/json' }
  const ask: Ask = async (query, variables) => {
    const body = JSON.stringify({ query, variables })
    const text = await (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).text()
    if (text.includes('"errors"')) throw new Error(text.slice(0, 500))
  }
  let n = 0
  return {
    round: () => timed(() => work(ask, n++)),
    async [Symbol.asyncDispose]() {
      await server.stop()
    },
  }
}

/** At sessions for which there is no free capacity. */
async function openLook(ground: BenchGround, { db }: BenchDatabase): Promise<Work> {
  const server = openServer(ground, db)
  await createSessions(
    server.context,
    Array.from({ length: PENDING }, () => ({ name: 'waits', command: ['noop'] })),
  )
  return {
    round: () => timed(() => server.look('schedule-sessions')),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await cancelPending(db)
    },
  }
}

async function openRetries(ground: BenchGround, { db }: BenchDatabase): Promise<Work> {
  const dispatched = `SELECT count(*) FROM audit_log WHERE action = 'retry.dispatched'`
  let wanted = 0
  return {
    async round() {
      await using server = openServer(ground, db)
      await dueRetries(server.context, { count: RETRIES })
      wanted += RETRIES
      const ms = await timed(async () => {
        await server.startServices('dispatch-retries')
        await countTo(ground, db, 'dispatched', dispatched, wanted)
      })
      await cancelPending(db)
      return RETRIES / (ms / 1000)
    },
    async [Symbol.asyncDispose]() {},
  }
}

async function openLifecycles(ground: BenchGround, { db, connectionString }: BenchDatabase): Promise<Work> {
  const server = openServer(ground, db, connectionString)
  await server.startServices()
  await server.startAgent(createNoopExecutor, { cpu: String(CPU_SLOTS) })
  return {
    async round() {
      const { rows } = await db.query<{ now: string }>('SELECT now()::text AS now')
      const decided = `SELECT count(*) FROM retry_decisions WHERE decided_at > '${rows[0]!.now}'`
      const ms = await timed(async () => {
        for (let made = 0; made < LIFECYCLES; made += CREATE_BATCH_SESSIONS) {
          const inputs = Array.from({ length: CREATE_BATCH_SESSIONS }, () => ({ name: 'bench', command: ['noop'] }))
          await createSessions(server.context, inputs)
        }
        await countTo(ground, db, 'decided', decided, LIFECYCLES)
      })
      return LIFECYCLES / (ms / 1000)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** So that the next figure is of its own sessions alone. */
async function cancelPending(db: Database): Promise<void> {
  await db.query(
    `UPDATE sessions SET status = 'CANCELLED', terminated_at = now(), retry_decided = true WHERE status = 'PENDING'`,
  )
  await db.query(`UPDATE kernels SET status = 'CANCELLED' WHERE status = 'PENDING'`)
  await db.query('VACUUM ANALYZE sessions, kernels')
}
