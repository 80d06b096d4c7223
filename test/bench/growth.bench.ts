import { join } from 'node:path'
import { createNoopExecutor } from '../../src/agent/executors/noop/noop-executor.ts'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { createSessions } from '../../src/services/create-sessions.ts'
import type { Database } from '../../src/store/database.ts'
import { dueRetries } from '../support/due-retries.ts'
import type { Bench, Measurement } from './bench.ts'
import { openServer } from './bench-server.ts'
import { grow, type Past } from './grow.ts'
import type { BenchDatabase, BenchGround } from './ground.ts'
import { countTo, percentile } from './waiting.ts'

const LIFECYCLES = 2_000
const RETRIES = 1_000
const ASKED = 40
const PENDING = 200
const CPU_SLOTS = 1_000
/** How much worse than on a small and simple past is still the same. */
const FLAT = 1.3

const PAGE = `query { sessions(first: 50) { edges { node { sessionId name status
  retryState { phase label } retryChain { sessionId attempt status } } } } }`
const POINT = `query ($id: UUID!) { session(id: $id) { sessionId name status retryState { phase label } } }`

/** What the same work costs by what has been before it: the more, the same. */
export const growth: Bench = {
  name: 'growth',
  size: 1_000_000,
  async run(ground, size) {
    const small: Past = { sessions: size / 1_000, chainAttempts: 1, agents: 1, pendingRetries: 0 }
    // It only warms this process up.
    await measure(ground, small)
    const pasts: [string, Past][] = [
      [`${size / 10} sessions`, { ...small, sessions: size / 10 }],
      [`${size} sessions`, { ...small, sessions: size }],
      ['chains of 10 attempts', { ...small, sessions: size / 100, chainAttempts: 10 }],
      ['chains of 1000 attempts', { ...small, sessions: size / 100, chainAttempts: 1_000 }],
      ['500 agents', { ...small, agents: 500 }],
      [`${size / 10} pending retries`, { ...small, pendingRetries: size / 10 }],
    ]
    const measurements: Measurement[] = []
    for (const [what, past] of pasts) {
      // Anew beside each, so that what else the machine does meets both.
      const base = await measure(ground, small)
      const figures = await measure(ground, past)
      measurements.push(...figures.map((figure, n) => beside(what, figure, base[n]!, past)))
    }
    return measurements
  },
}

type Figure = Pick<Measurement, 'what' | 'figure' | 'unit'>

/** The ceiling is the figure of the small past. What a page shows of long chains is long. */
function beside(what: string, figure: Figure, base: Figure, { chainAttempts }: Past): Measurement {
  const compared = { ...figure, what: `${figure.what}, ${what}`, ceiling: base.figure }
  if (figure.unit !== 'ms') return { ...compared, ratioAtLeast: Number((1 / FLAT).toFixed(2)) }
  if (chainAttempts > 1 && figure.what.startsWith('a page')) return compared
  return { ...compared, target: { atMost: Number((base.figure * FLAT).toFixed(2)) } }
}

async function measure(ground: BenchGround, past: Past): Promise<Figure[]> {
  const database = await ground.database()
  const { db } = database
  ground.progress(`a past of ${JSON.stringify(past)}`)
  await grow(db, past)
  const reads = await askServer(ground, database)
  const looked = await look(ground, db)
  const dispatched = await retries(ground, db)
  return [...reads, looked, dispatched, await lifecycles(ground, database)]
}

/** Over HTTP, as clients do. */
async function askServer(ground: BenchGround, { db, connectionString }: BenchDatabase): Promise<Figure[]> {
  const dataDir = join(ground.dir, 'server', crypto.randomUUID())
  const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api', REPRISE_LOG_LEVEL: 'warn' }
  const server = await startServer({ dataDir, port: 0, onLog: (line) => ground.progress(line), env })
  try {
    const authorization = `Bearer ${await readAdminToken(dataDir)}`
    const headers = { authorization, 'content-type': 'application/json' }
    const ask = async (query: string, variables: object) => {
      const body = JSON.stringify({ query, variables })
      const text = await (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).text()
      if (text.includes('"errors"')) throw new Error(text.slice(0, 500))
    }
    const { rows } = await db.query<{ id: string }>('SELECT id FROM sessions ORDER BY md5(id::text) LIMIT $1', [ASKED])
    const point = await times(ground, (n) => ask(POINT, { id: rows[n % rows.length]!.id }))
    const page = await times(ground, () => ask(PAGE, {}))
    return [
      { what: 'a point query, median', figure: point, unit: 'ms' },
      { what: 'a page of 50 with chains, median', figure: page, unit: 'ms' },
    ]
  } finally {
    await server.stop()
  }
}

/** Median of as many as are asked, after as many that only warm up. */
async function times(ground: BenchGround, work: (n: number) => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let n = -ASKED; n < ASKED; n++) {
    ground.signal.throwIfAborted()
    const begun = performance.now()
    await work(n + ASKED)
    if (n >= 0) took.push(performance.now() - begun)
  }
  return percentile(took, 0.5)
}

/** At sessions for which there is no room. */
async function look(ground: BenchGround, db: Database): Promise<Figure> {
  await using server = openServer(ground, db)
  const inputs = Array.from({ length: PENDING }, () => ({ name: 'waits', command: ['noop'] }))
  await createSessions(server.context, inputs)
  const figure = await times(ground, () => server.look('schedule-sessions'))
  await cancelPending(db)
  return { what: `a look at ${PENDING} that wait, median`, figure, unit: 'ms' }
}

async function retries(ground: BenchGround, db: Database): Promise<Figure> {
  await using server = openServer(ground, db)
  await dueRetries(server.context, { count: RETRIES })
  const begun = performance.now()
  await server.startServices('dispatch-retries')
  const dispatched = `SELECT count(*) FROM audit_log WHERE action = 'retry.dispatched'`
  await countTo(ground, db, 'dispatched', dispatched, RETRIES)
  const figure = RETRIES / ((performance.now() - begun) / 1000)
  await cancelPending(db)
  return { what: `${RETRIES} retries due at once`, figure, unit: 'children/s' }
}

/** So that the next figure is of its own sessions alone. */
async function cancelPending(db: Database): Promise<void> {
  await db.query(
    `UPDATE sessions SET status = 'CANCELLED', terminated_at = now(), retry_decided = true WHERE status = 'PENDING'`,
  )
  await db.query(`UPDATE kernels SET status = 'CANCELLED' WHERE status = 'PENDING'`)
  await db.query('VACUUM ANALYZE sessions, kernels')
}

async function lifecycles(ground: BenchGround, { db, connectionString }: BenchDatabase): Promise<Figure> {
  await using server = openServer(ground, db, connectionString)
  await server.startServices()
  await server.startAgent(createNoopExecutor, { cpu: String(CPU_SLOTS) })
  const { rows } = await db.query<{ now: string }>('SELECT now()::text AS now')
  const begun = performance.now()
  for (let made = 0; made < LIFECYCLES; made += 500) {
    const inputs = Array.from({ length: 500 }, () => ({ name: 'bench', command: ['noop'] }))
    await createSessions(server.context, inputs)
  }
  const decided = `SELECT count(*) FROM sessions WHERE created_at > '${rows[0]!.now}' AND retry_decided`
  await countTo(ground, db, 'decided', decided, LIFECYCLES)
  const figure = LIFECYCLES / ((performance.now() - begun) / 1000)
  return { what: `${LIFECYCLES} lifecycles`, figure, unit: 'sessions/s' }
}
