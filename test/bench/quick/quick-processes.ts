import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Executor, ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import { NO_ISOLATION } from '../../../src/agent/executors/process/isolation/isolation.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import type { Measurement } from '../bench.ts'
import { openServer } from '../bench-server.ts'
import { executorAlone } from '../executor-alone.ts'
import type { BenchGround } from '../ground.ts'
import { countTo } from '../waiting.ts'
import { compareSides } from './compare.ts'

/** Kernels at once, with and without server. */
const CPU_SLOTS = 64
const FINISHED = `SELECT count(*) FROM sessions WHERE result = 'SUCCESS' AND terminated_at IS NOT NULL`

/** Sessions that run the real program `true`, beside the executor alone. */
export async function* quickProcesses(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db } = await ground.database()
  let directories = 0
  const executor = async () => {
    const agentDir = join(ground.dir, `agent-${++directories}`)
    await mkdir(agentDir, { recursive: true })
    return (hooks: ExecutorHooks): Executor =>
      createProcessExecutor({ agentDir, log: ground.log, memoryLimit: 'auto', isolation: NO_ISOLATION }, hooks)
  }
  await using server = openServer(ground, db)
  await server.startServices()
  await server.startAgent(await executor(), { cpu: String(CPU_SLOTS) })
  yield await compareSides(ground, {
    what: 'real processes (true), beside the executor alone',
    unit: 'sessions',
    rounds: 3,
    async bare(timed) {
      const create = await executor()
      await timed(async () => {
        await executorAlone(ground, size, CPU_SLOTS, create)
        return size
      })
    },
    async ours(timed) {
      const before = (await db.query<{ count: number }>(FINISHED)).rows[0]!.count
      await timed(async () => {
        await createSessions(
          server.context,
          Array.from({ length: size }, () => ({ name: 'bench', command: ['true'] })),
        )
        await countTo(ground, db, 'finished', FINISHED, before + size)
        return size
      })
    },
  })
}
