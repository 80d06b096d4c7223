import { monitorEventLoopDelay } from 'node:perf_hooks'
import { v7 as uuidv7 } from 'uuid'
import { HEAD_OF_LINE_SKIPS_MAX } from '../../src/domain/limits.ts'
import { createSessions } from '../../src/services/session/create-sessions.ts'
import type { Database } from '../../src/store/database.ts'
import type { Measurement } from './bench.ts'
import { openServer, type BenchServer } from './bench-server.ts'
import type { BenchGround } from './ground.ts'
import { countTo, percentile } from './waiting.ts'

const AGENTS = 200
const CREATE_BATCH_SESSIONS = 1_000
const LOOKS = 40
/** Kinds of session, so that a line has this many scheduling classes. */
const KINDS = [
  { cpu: '1', mem: '1g' },
  { cpu: '2', mem: '1g' },
  { cpu: '1', mem: '4g' },
  { cpu: '4', mem: '2g' },
  { cpu: '0.5', mem: '256m' },
]

/** How long it takes to place what is pending, and what one look costs by the length of the line. */
export async function* schedule(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  for (const pending of [size / 10, size, size * 10]) {
    yield await whereAllFits(ground, pending, pending === size)
    yield await whereAlmostNothingFits(ground, pending)
  }
}

/** `cpu` in each agent. */
async function openCluster(ground: BenchGround, db: Database, pending: number, cpu: number): Promise<BenchServer> {
  await db.query(
    `INSERT INTO agents (id, name, resource_group, address, version, status, instance_id)
     SELECT id, 'bench', 'default', '', '0', 'ALIVE', id FROM unnest($1::uuid[]) AS id`,
    [Array.from({ length: AGENTS }, () => uuidv7())],
  )
  await db.query(
    `INSERT INTO agent_slots (agent_id, slot, declared, capacity)
     SELECT a.id, s.slot, s.amount, s.amount FROM agents a, (VALUES ('cpu', $1::numeric), ('mem', 1e15)) AS s (slot, amount)`,
    [cpu],
  )
  const server = openServer(ground, db)
  ground.progress(`${pending} pending`)
  for (let done = 0; done < pending; done += CREATE_BATCH_SESSIONS) {
    const count = Math.min(CREATE_BATCH_SESSIONS, pending - done)
    const inputs = Array.from({ length: count }, (_, n) => {
      const slots = KINDS[(done + n) % KINDS.length]!
      const resourceSlots = Object.entries(slots).map(([slot, amount]) => ({ slot, amount }))
      return { name: 'bench', command: ['noop'], resourceSlots }
    })
    await createSessions(server.context, inputs)
    ground.signal.throwIfAborted()
  }
  await db.query('VACUUM ANALYZE sessions, kernels')
  return server
}

async function whereAllFits(ground: BenchGround, pending: number, isTarget: boolean): Promise<Measurement> {
  const { db } = await ground.database()
  await using server = await openCluster(ground, db, pending, 1_000_000)
  const delays = monitorEventLoopDelay({ resolution: 5 })
  delays.enable()
  const heapBefore = process.memoryUsage().heapUsed
  const begun = performance.now()
  await server.startServices('schedule-sessions')
  await countTo(ground, db, 'placed', `SELECT count(*) FROM sessions WHERE status <> 'PENDING'`, pending)
  const seconds = (performance.now() - begun) / 1000
  delays.disable()
  return {
    what: `${pending} pending, all fit, on ${AGENTS} agents`,
    figure: pending / seconds,
    unit: 'sessions/s',
    ...(isTarget && { target: { atLeast: pending / 5 } }),
    notes: {
      seconds: seconds.toFixed(2),
      'heap grown by MiB': Math.round((process.memoryUsage().heapUsed - heapBefore) / 2 ** 20),
      'event loop p99 ms': Math.round(delays.percentile(99) / 1e6),
    },
  }
}

/** Each agent has half a cpu left, the line half a cpu for one look in four, and nothing for the others. */
async function whereAlmostNothingFits(ground: BenchGround, pending: number): Promise<Measurement> {
  const { db } = await ground.database()
  await using server = await openCluster(ground, db, pending, 0.4)
  await db.query(`UPDATE sessions SET skips = $1 WHERE id IN (SELECT id FROM sessions LIMIT 10)`, [
    HEAD_OF_LINE_SKIPS_MAX,
  ])
  const times: number[] = []
  for (let look = 0; look < LOOKS; look++) {
    ground.signal.throwIfAborted()
    if (look % 4 === 0)
      await db.query(`UPDATE agent_slots SET declared = declared + 0.5, capacity = capacity + 0.5
      WHERE slot = 'cpu' AND agent_id = (SELECT id FROM agents ORDER BY id LIMIT 1)`)
    const begun = performance.now()
    await server.look('schedule-sessions')
    times.push(performance.now() - begun)
  }
  const { rows } = await db.query<{ placed: number }>(
    `SELECT count(*) AS placed FROM sessions WHERE status <> 'PENDING'`,
  )
  return {
    what: `a look at ${pending} pending of which almost none fits, median`,
    figure: percentile(times, 0.5),
    unit: 'ms',
    notes: { looks: LOOKS, placed: rows[0]!.placed, p99: `${percentile(times, 0.99).toFixed(0)} ms` },
  }
}
