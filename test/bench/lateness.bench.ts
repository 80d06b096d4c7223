import { setTimeout as sleep } from 'node:timers/promises'
import { createNoopExecutor } from '../../src/agent/executors/noop-executor.ts'
import { createSession } from '../../src/services/session/create-sessions.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { openServer } from './bench-server.ts'
import { addFailedSessions } from './failed-sessions.ts'
import { countTo, percentile } from './waiting.ts'

const PENDING_FOR_MS = 3_600_000
const TRICKLE_INTERVAL_MS = 20
const DELAY_MIN_SECONDS = 0.5
const DELAY_MAX_SECONDS = 2.5
const AT_WORK = 500

/**
 * How late retries are dispatched that fall due one by one, of real sessions that fail, beside many that are
 * pending. From the due time to the commit that makes the child visible, on one clock: this machine's.
 */
export async function* lateness(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db } = await ground.database()
  await using server = openServer(ground, db)
  ground.progress(`${size} pending retries`)
  await addFailedSessions(server.context, size, PENDING_FOR_MS)
  await server.startServices()
  await server.startAgent(createNoopExecutor, { cpu: '100' })
  const commits: number[] = []
  // The dispatcher wakes readers of events right after its commit; others do too, which only adds looks.
  server.hub.on('events', () => commits.push(Date.now()))
  ground.progress(`${AT_WORK} sessions that fail, one each ${TRICKLE_INTERVAL_MS} ms`)
  for (let made = 0; made < AT_WORK; made++) {
    ground.signal.throwIfAborted()
    const retryDelay = DELAY_MIN_SECONDS + Math.random() * (DELAY_MAX_SECONDS - DELAY_MIN_SECONDS)
    const command = ['noop', 'exit', '1']
    await createSession(server.context, { name: 'trickle', command, retryPolicy: { maxRetries: 1, retryDelay } })
    await sleep(TRICKLE_INTERVAL_MS)
  }
  await countTo(ground, db, 'dispatched', DISPATCHED, AT_WORK)
  const { rows } = await db.query<{ due: number; begun: number }>(TIMES)
  const late = rows.map(({ due, begun }) => commits.find((at) => at >= begun)! - due)
  const measured = { unit: 'ms late', notes: { pending: size, dispatched: rows.length } }
  yield* [
    { ...measured, what: 'a due retry beside pending ones, p50', figure: percentile(late, 0.5) },
    {
      ...measured,
      what: 'a due retry beside pending ones, p99',
      figure: percentile(late, 0.99),
      target: { atMost: 250 },
    },
  ]
}

const DISPATCHED = `SELECT count(*) FROM retry_decisions WHERE phase = 'DISPATCHED'`
const TIMES = `SELECT (extract(epoch FROM due_at) * 1000)::float8 AS due,
  (extract(epoch FROM dispatched_at) * 1000)::float8 AS begun
  FROM retry_decisions WHERE phase = 'DISPATCHED'`
