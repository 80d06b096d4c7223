/** Run as a process of its own: an executor that starts kernels in containers, and waits to be killed. */
import { createContainerExecutor } from '../../../src/agent/executors/container/container-executor.ts'
import { openEngine } from '../../../src/agent/executors/container/engine/engine.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { CONTAINER_DEFAULTS } from './container-fixture.ts'
import { testLog } from './process-fixture.ts'

const { agentDir, agentId, socket, specs } = JSON.parse(Buffer.from(process.argv[2] ?? '', 'base64').toString()) as {
  agentDir: string
  agentId: string
  socket: string
  specs: KernelSpec[]
}
const engine = openEngine(socket)
const description = await engine.describe()
const executor = createContainerExecutor(
  {
    agentDir,
    agentId,
    log: testLog,
    limits: { chainBytes: null, chainFiles: null },
    codeBytesMax: 1024 ** 3,
    engine,
    description,
    container: CONTAINER_DEFAULTS,
  },
  {
    changed() {
      for (const { kernelId, status } of executor.observe()) console.log(kernelId, status)
    },
  },
)
await executor.recover()
for (const spec of specs) executor.prepare(spec, 1)
// Its kernels are started at a word.
process.stdin.once('data', () => {
  for (const spec of specs) executor.start(spec, 1)
})
