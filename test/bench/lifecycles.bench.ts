import { createSession, createSessions } from '../../src/services/session/create-sessions.ts'
import { bareLifecycles } from './bare-lifecycles.ts'
import type { Measurement } from './bench.ts'
import { type BenchServer, openNoopServer } from './bench-server.ts'
import type { BenchDatabase, BenchGround } from './ground.ts'
import { CHANGES_PER_JOB, peerJobs } from './peer-worker.ts'
import { rowsWritten } from './rows-written.ts'
import { countTo, percentile } from './waiting.ts'

const CREATE_BATCH_SESSIONS = 500
const SINGLE_SESSIONS = 30
/** Created, moved seven times, decided. */
const CHANGES_PER_SESSION = 9
/** What an agent has capacity for at once. */

/** Sessions that end at once with the `noop` executor, from the first create to the last decision. */
export async function* lifecycles(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const bare = await ground.database()
  ground.progress(`${size} sessions by bare SQL`)
  const ceiling = await bareLifecycles(ground, bare.db, size)
  const served = await ground.database()
  ground.progress(`${size} sessions by the server`)
  const figure = await byServer(ground, served, size)
  const notes = {
    sessions: size,
    'rows inserted+updated for each': await rowsWritten(served, size),
    'by bare SQL': await rowsWritten(bare, size),
  }
  const target = { atLeast: 1_500 }
  yield { what: 'whole lifecycles, noop', figure, unit: 'sessions/s', ceiling, target, ratioAtLeast: 0.4, notes }
  ground.progress(`${size} jobs by graphile-worker`)
  const peer = await peerJobs(ground, await ground.database(), size)
  yield {
    what: 'durable changes of state; beside it graphile-worker in batches',
    figure: figure * CHANGES_PER_SESSION,
    unit: 'changes/s',
    ceiling: peer * CHANGES_PER_JOB,
    notes: { 'of a session': CHANGES_PER_SESSION, 'of a job': CHANGES_PER_JOB, 'jobs/s': Math.round(peer) },
  }
  yield await oneByOne(ground, await ground.database())
}

async function byServer(ground: BenchGround, database: BenchDatabase, size: number): Promise<number> {
  await using server = await openNoopServer(ground, database)
  const begun = performance.now()
  for (let done = 0; done < size; done += CREATE_BATCH_SESSIONS) {
    await create(server, Math.min(CREATE_BATCH_SESSIONS, size - done))
  }
  await countTo(ground, database.db, 'decided', 'SELECT count(*) FROM retry_decisions', size)
  return size / ((performance.now() - begun) / 1000)
}

async function create(server: BenchServer, count: number): Promise<void> {
  const inputs = Array.from({ length: count }, () => ({ name: 'bench', command: ['noop'] }))
  await createSessions(server.context, inputs)
}

/** What one session costs in time where nothing else goes on. */
async function oneByOne(ground: BenchGround, database: BenchDatabase): Promise<Measurement> {
  await using server = await openNoopServer(ground, database)
  const { context } = server
  const times: number[] = []
  for (let done = 0; done < SINGLE_SESSIONS; done++) {
    ground.signal.throwIfAborted()
    const begun = performance.now()
    const { sessionId } = await createSession(context, { name: 'bench', command: ['noop'] })
    for (let decided = false; !decided;) {
      await new Promise((resolve) => setTimeout(resolve, 2))
      const { rows } = await context.db.query('SELECT FROM retry_decisions WHERE session_id = $1', [sessionId])
      decided = rows.length > 0
    }
    times.push(performance.now() - begun)
  }
  return {
    what: 'one session alone, create to decided, median',
    figure: percentile(times, 0.5),
    unit: 'ms',
    target: { atMost: 50 },
    notes: { sessions: SINGLE_SESSIONS, p99: `${percentile(times, 0.99).toFixed(0)} ms` },
  }
}
