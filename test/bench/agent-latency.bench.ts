import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAgent } from '../../src/agent/agent.ts'
import type { Executor } from '../../src/agent/executors/executor.ts'
import { createNoopExecutor } from '../../src/agent/executors/noop-executor.ts'
import { createHttpGateway } from '../../src/agent/http-gateway.ts'
import { loadConfig } from '../../src/program/config.ts'
import { SECRET_KEY_BYTES, writeOnce } from '../../src/services/access/secrets.ts'
import { type Runtime, startRuntime } from '../../src/program/runtime.ts'
import type { Database } from '../../src/store/database.ts'
import type { Measurement } from './bench.ts'
import type { BenchDatabase, BenchGround } from './ground.ts'
import { countTo, percentile } from './waiting.ts'

const LATENCY_MAX_MS = 50
const TRICKLE_INTERVAL_MS = 100

/**
 * How long a change takes between a server and an agent that speaks with it over HTTP, of sessions that come one by
 * one: with the scheduler on the server that the agent's poll hangs on, and on another. On one clock: this machine's.
 */
export async function* agentLatency(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  yield* await measure(ground, 'one server', size, ['api,scheduler'])
  yield* await measure(ground, 'scheduler on another server', size, ['api', 'scheduler'])
}

interface Heard {
  /** When the agent was told, in milliseconds since 1970. */
  prepare: Map<string, number>
  start: Map<string, number>
}

async function measure(ground: BenchGround, where: string, size: number, roles: string[]): Promise<Measurement[]> {
  await using resources = new AsyncDisposableStack()
  const database = await ground.database()
  const { db } = database
  const runtimes: Runtime[] = []
  for (const each of roles) {
    const runtime = await start(ground, database, where, each)
    resources.defer(() => runtime[Symbol.asyncDispose]())
    runtimes.push(runtime)
  }
  const { url, adminToken } = runtimes[0]!
  const heard: Heard = { prepare: new Map(), start: new Map() }
  const agent = createAgent({
    gateway: createHttpGateway({ urls: [url!], token: adminToken.token!, log: ground.log }),
    createExecutor: (hooks) => noting(createNoopExecutor(hooks), heard),
    agentDir: join(ground.dir, 'agents', where),
    name: 'bench',
    resourceGroup: 'default',
    address: 'bench',
    version: '0',
    slots: { cpu: '1000' },
    labels: {},
    log: ground.log,
  })
  await agent.start()
  resources.defer(() => agent.stop())
  ground.progress(`${where}: ${size} sessions, one each ${TRICKLE_INTERVAL_MS} ms`)
  await countTo(ground, db, 'agents', 'SELECT count(*) FROM agents', 1)
  const bare: number[] = []
  for (let made = 0; made < size; made++) {
    ground.signal.throwIfAborted()
    await create(url!, adminToken.token!)
    bare.push(await timeBare(url!))
    await sleep(TRICKLE_INTERVAL_MS)
  }
  await countTo(ground, db, 'finished', `SELECT count(*) FROM sessions WHERE status = 'TERMINATED'`, size)
  return report(where, await latencies(db, heard), bare)
}

async function start(ground: BenchGround, database: BenchDatabase, where: string, roles: string): Promise<Runtime> {
  const secretsKey = join(ground.dir, 'secrets-key')
  await writeOnce(secretsKey, `${Buffer.alloc(SECRET_KEY_BYTES, 'bench').toString('base64')}\n`)
  const { config } = loadConfig({
    REPRISE_DATABASE_URL: database.connectionString,
    REPRISE_SECRETS_KEY_FILE: secretsKey,
    REPRISE_DATA_DIR: join(ground.dir, 'servers', where, roles),
    REPRISE_ROLES: roles,
    REPRISE_PORT: '0',
  })
  return startRuntime(config, ground.log)
}

/** Passes on what the agent is told, and notes when. */
function noting(executor: Executor, heard: Heard): Executor {
  const note = (what: Map<string, number>, kernelId: string) => what.has(kernelId) || what.set(kernelId, Date.now())
  return {
    ...executor,
    prepare(spec, assignment) {
      note(heard.prepare, spec.kernelId)
      executor.prepare(spec, assignment)
    },
    start(spec, assignment) {
      note(heard.start, spec.kernelId)
      executor.start(spec, assignment)
    },
  }
}

async function create(url: string, token: string): Promise<void> {
  const query = `mutation { createSession(input: { name: "latency", command: ["noop", "exit", "0"] }) { __typename } }`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  if (!(await response.text()).includes('CreateSessionPayload')) throw new Error('a session was not created')
}

interface Latencies {
  told: number[]
  back: number[]
  booked: number[]
}

/** A noop kernel that exits at once has prepared, and has ended, in the millisecond in which it was told to. */
async function latencies(db: Database, { prepare, start: started }: Heard): Promise<Latencies> {
  const { rows } = await db.query<{ id: string; preparing: number; ended: number }>(TIMES)
  return {
    told: rows.map(({ id, preparing }) => prepare.get(id)! - preparing),
    back: rows.map(({ id }) => started.get(id)! - prepare.get(id)!),
    booked: rows.map(({ id, ended }) => ended - started.get(id)!),
  }
}

/** By the beginnings of transactions: what is told includes their commits. */
const TIMES = `SELECT k.id, (extract(epoch FROM k.terminated_at) * 1000)::float8 AS ended,
  (extract(epoch FROM e.occurred_at) * 1000)::float8 AS preparing
  FROM kernels k JOIN session_events e ON e.session_id = k.session_id AND e.data ->> 'to' = 'PREPARING'`

/** A request that costs one statement: what this machine takes for no more than that, at the same time. */
async function timeBare(url: string): Promise<number> {
  const begun = performance.now()
  await (await fetch(`${url}/readyz`)).text()
  return performance.now() - begun
}

function report(where: string, { told, back, booked }: Latencies, bare: number[]): Measurement[] {
  const lines = [
    ['server → agent, an order', told],
    ['agent → server, an end', booked],
    ['agent → server → scheduler → agent, prepared to start', back],
  ] as const
  return lines.flatMap(([what, values]) => [
    { unit: 'ms', what: `${what}, ${where}, p50`, figure: percentile(values, 0.5), ceiling: percentile(bare, 0.5) },
    {
      unit: 'ms',
      what: `${what}, ${where}, p99`,
      figure: percentile(values, 0.99),
      ceiling: percentile(bare, 0.99),
      target: { atMost: LATENCY_MAX_MS },
    },
  ])
}
