/** Run as a process of its own: an executor that starts kernels, says what it observes, and waits to be killed. */
import { FENCED } from '../../../src/agent/executors/executor.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { type Arrangement, isolationOf } from './isolation-of.ts'
import { createLogger } from '../../../src/observability/log.ts'

const {
  agentDir,
  specs,
  word,
  arrangement = 'none',
  cgroups = true,
} = JSON.parse(Buffer.from(process.argv[2] ?? '', 'base64').toString()) as {
  agentDir: string
  specs: KernelSpec[]
  word: 'start' | 'prepare' | 'stop' | 'fence'
  arrangement?: Arrangement
  cgroups?: boolean
}
const log = await createLogger({ level: 'warn', format: 'json' })
const isolation = await isolationOf(arrangement, agentDir)
const executor = createProcessExecutor(
  { agentDir, log, isolation, ...(!cgroups && { cgroupMount: null }) },
  { changed: tell },
)
const stopped = new Set<string>()

function tell(): void {
  for (const { kernelId, status } of executor.observe()) console.log(kernelId, status)
  if (word === 'stop' || word === 'fence') for (const { kernelId } of specs) void stopWhenReady(kernelId)
}

async function stopWhenReady(kernelId: string): Promise<void> {
  const { text } = await executor.readLog(kernelId, 'STDOUT', 0, 100)
  if (text !== 'ready\n' || stopped.has(kernelId)) return
  stopped.add(kernelId)
  executor.stop(kernelId, 3, 1_500, word === 'fence' ? FENCED : undefined)
  console.log('stopped')
}

await executor.recover()
for (const spec of specs) {
  if (word === 'prepare') executor.prepare(spec, 3)
  else executor.start(spec, 3)
}
setInterval(() => undefined, 60_000)
