import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { mkdir } from 'node:fs/promises'
import type { Executor, ExecutorHooks } from '../../src/agent/executors/executor.ts'
import { createProcessExecutor } from '../../src/agent/executors/process/process-executor.ts'
import type { KernelSpec } from '../../src/domain/agent/protocol.ts'
import { createSessions } from '../../src/services/create-sessions.ts'
import type { Bench, Measurement } from './bench.ts'
import { openServer } from './bench-server.ts'
import type { BenchGround } from './ground.ts'
import { slurmJobs, whyNoSlurm } from './slurm.ts'
import { countTo } from './waiting.ts'

/** Kernels at once, with and without server. */
const CPU_SLOTS = 64
const CREATE_BATCH_SESSIONS = 500

/** Sessions that run the real program `true`, from the first create to the last end. */
export const processes: Bench = {
  name: 'processes',
  size: 1_000,
  async run(ground, size) {
    ground.progress(`${size} processes by the executor alone`)
    const ceiling = await executorAlone(ground, size)
    const { db } = await ground.database()
    await using server = openServer(ground, db)
    await server.startServices()
    const agentDir = join(ground.dir, 'processes')
    await mkdir(agentDir, { recursive: true })
    await server.startAgent((hooks) => processExecutor(ground, agentDir, hooks), { cpu: String(CPU_SLOTS) })
    ground.progress(`${size} processes by the server`)
    const begun = performance.now()
    for (let done = 0; done < size; done += CREATE_BATCH_SESSIONS) {
      const count = Math.min(CREATE_BATCH_SESSIONS, size - done)
      await createSessions(
        server.context,
        Array.from({ length: count }, () => ({ name: 'bench', command: ['true'] })),
      )
    }
    await countTo(ground, db, 'finished', FINISHED, size)
    const figure = size / ((performance.now() - begun) / 1000)
    const noSlurm = await whyNoSlurm()
    return [
      {
        what: 'real processes (true), create to finished',
        figure,
        unit: 'sessions/s',
        ceiling,
        target: { atLeast: 150 },
        notes: { sessions: size, atOnce: CPU_SLOTS, ...(noSlurm && { Slurm: noSlurm }) },
      },
      ...(noSlurm ? [] : [await besideSlurm(ground, figure, size)]),
    ]
  },
}

/** With as many slots as its node has. */
async function besideSlurm(ground: BenchGround, figure: number, size: number): Promise<Measurement> {
  ground.progress(`${size} jobs by Slurm`)
  const ceiling = await slurmJobs(ground, size)
  return { what: 'the same; beside it jobs of Slurm', figure, unit: 'sessions/s', ceiling, notes: { jobs: size } }
}

const FINISHED = `SELECT count(*) FROM sessions WHERE result = 'SUCCESS' AND terminated_at IS NOT NULL`

function processExecutor(ground: BenchGround, agentDir: string, hooks: ExecutorHooks): Executor {
  return createProcessExecutor({ agentDir, log: ground.log, memoryLimit: 'auto' }, hooks)
}

/** The same processes prepared, started, awaited and forgotten by the executor, with no server behind. Processes/s. */
async function executorAlone(ground: BenchGround, size: number): Promise<number> {
  const agentDir = join(ground.dir, 'executor-alone')
  await mkdir(agentDir, { recursive: true })
  const done = Promise.withResolvers<void>()
  let begunKernels = 0
  let ended = 0
  const executor = processExecutor(ground, agentDir, { changed: () => setImmediate(look) })
  const finished = new Set<string>()

  function begin(): void {
    begunKernels++
    executor.start(specOf(), 1)
  }

  function look(): void {
    for (const { kernelId, status } of executor.observe()) {
      if (status !== 'EXITED' || finished.has(kernelId)) continue
      finished.add(kernelId)
      executor.forget(kernelId, 1)
      ended++
      if (begunKernels < size) begin()
    }
    if (ended === size) done.resolve()
  }

  await executor.recover()
  const begun = performance.now()
  const aborted = () => done.reject(ground.signal.reason as Error)
  ground.signal.addEventListener('abort', aborted, { once: true })
  try {
    while (begunKernels < Math.min(size, CPU_SLOTS)) begin()
    await done.promise
    return size / ((performance.now() - begun) / 1000)
  } finally {
    ground.signal.removeEventListener('abort', aborted)
    await executor.close()
  }
}

function specOf(): KernelSpec {
  const id = randomUUID()
  return {
    kernelId: id,
    sessionId: id,
    chainId: id,
    attempt: 1,
    role: 'main',
    index: 1,
    image: null,
    command: ['true'],
    environ: [],
    resourceSlots: { cpu: '1' },
    portVariable: null,
  }
}
