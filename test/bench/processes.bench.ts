import { join } from 'node:path'
import { chmod, mkdir } from 'node:fs/promises'
import type { Executor, ExecutorHooks } from '../../src/agent/executors/executor.ts'
import { type Isolation, isolationName, NO_ISOLATION } from '../../src/agent/executors/process/isolation/isolation.ts'
import { findIsolation, waysOf } from '../../src/agent/executors/process/isolation/select-isolation.ts'
import { createProcessExecutor } from '../../src/agent/executors/process/process-executor.ts'
import { createSessions } from '../../src/services/session/create-sessions.ts'
import type { Measurement } from './bench.ts'
import { openServer } from './bench-server.ts'
import { executorAlone } from './executor-alone.ts'
import type { BenchGround } from './ground.ts'
import { slurmJobs, whyNoSlurm } from './slurm.ts'
import { countTo } from './waiting.ts'

/** Kernels at once, with and without server. */
const CPU_SLOTS = 64
const CREATE_BATCH_SESSIONS = 500

/** Sessions that run the real program `true`, from the first create to the last end. */
export async function* processes(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  ground.progress(`${size} processes by the executor alone`)
  const aloneDir = join(ground.dir, 'executor-alone')
  await mkdir(aloneDir, { recursive: true })
  const ceiling = await executorAlone(ground, size, CPU_SLOTS, (hooks) => processExecutor(ground, aloneDir, hooks))
  const figure = await byServer(ground, size, NO_ISOLATION)
  const noSlurm = await whyNoSlurm()
  yield {
    what: 'real processes (true), create to finished',
    figure,
    unit: 'sessions/s',
    ceiling,
    target: { atLeast: 150 },
    notes: { sessions: size, atOnce: CPU_SLOTS, ...(noSlurm && { Slurm: noSlurm }) },
  }
  yield* isolated(ground, size, figure)
  if (!noSlurm) yield await besideSlurm(ground, figure, size)
}

/** Each way to isolate kernels that works here, in the same run; the ceiling is the figure without. */
async function* isolated(ground: BenchGround, size: number, ceiling: number): AsyncGenerator<Measurement> {
  // Users of projects pass through it to their kernels.
  await chmod(ground.dir, 0o711)
  for (const way of [...waysOf('user'), ...waysOf('namespaces')]) {
    const agentDir = join(ground.dir, `processes-${way.by ?? 'user'}`)
    const found = await findIsolation({ ...way, dataDir: agentDir, agentDir, hide: [] })
    if ('fault' in found) continue
    const figure = await byServer(ground, size, found.isolation, agentDir)
    const by = way.by === null ? '' : ` by ${way.by}`
    const what = `the same, isolation ${isolationName(found.isolation)}${by}; ceiling: none`
    const ratioAtLeast = way.by === null ? RATIOS.user : RATIOS.namespaces
    yield { what, figure, unit: 'sessions/s', ceiling, ratioAtLeast, notes: { sessions: size } }
  }
}

/** Of the throughput without isolation. */
const RATIOS = { user: 0.75, namespaces: 0.5 }

/** Sessions/s, from the first create to the last end. */
async function byServer(
  ground: BenchGround,
  size: number,
  isolation: Isolation,
  agentDir = join(ground.dir, 'processes-none'),
): Promise<number> {
  const { db } = await ground.database()
  await using server = openServer(ground, db)
  await server.startServices()
  await mkdir(agentDir, { recursive: true })
  await server.startAgent((hooks) => processExecutor(ground, agentDir, hooks, isolation), { cpu: String(CPU_SLOTS) })
  ground.progress(`${size} processes by the server, isolation ${isolationName(isolation)}`)
  const begun = performance.now()
  for (let done = 0; done < size; done += CREATE_BATCH_SESSIONS) {
    const count = Math.min(CREATE_BATCH_SESSIONS, size - done)
    await createSessions(
      server.context,
      Array.from({ length: count }, () => ({ name: 'bench', command: ['true'] })),
    )
  }
  await countTo(ground, db, 'finished', FINISHED, size)
  return size / ((performance.now() - begun) / 1000)
}

/** With as many slots as its node has. */
async function besideSlurm(ground: BenchGround, figure: number, size: number): Promise<Measurement> {
  ground.progress(`${size} jobs by Slurm`)
  const ceiling = await slurmJobs(ground, size)
  return { what: 'the same; beside it jobs of Slurm', figure, unit: 'sessions/s', ceiling, notes: { jobs: size } }
}

const FINISHED = `SELECT count(*) FROM sessions WHERE result = 'SUCCESS' AND terminated_at IS NOT NULL`

function processExecutor(
  ground: BenchGround,
  agentDir: string,
  hooks: ExecutorHooks,
  isolation = NO_ISOLATION,
): Executor {
  return createProcessExecutor({ agentDir, log: ground.log, memoryLimit: 'auto', isolation }, hooks)
}
