/** Run as a process of its own: an executor that starts kernels as jobs of Slurm, and waits to be killed. */
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { createSlurmExecutor } from '../../../src/agent/executors/slurm/slurm-executor.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-host.ts'
import { testLog } from './process-fixture.ts'
import { LONG_FENCE_MS } from './slurm-fixture.ts'

const { agentId, slurm, specs, word, renewed } = JSON.parse(
  Buffer.from(process.argv[2] ?? '', 'base64').toString(),
) as {
  agentId: string
  slurm: SlurmOptions
  specs: KernelSpec[]
  word: 'start' | 'prepare'
  /** Whether the server has answered. */
  renewed: boolean
}
const executor = createSlurmExecutor(
  { agentDir: slurm.directory, agentId, log: testLog, codeBytesMax: 1024 ** 3, slurm },
  { changed: () => undefined },
)
if (renewed) executor.renewed?.(LONG_FENCE_MS)
await executor.recover()
for (const spec of specs) executor[word](spec, 1)
setInterval(() => undefined, 60_000)
