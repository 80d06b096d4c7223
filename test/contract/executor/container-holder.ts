/**
 * Run as a process of its own: an executor that prepares kernels, does what it reads line by line, says what it
 * observes, and waits to be killed.
 */
import { createInterface } from 'node:readline'
import { createContainerExecutor } from '../../../src/agent/executors/container/container-executor.ts'
import type { ContainerOptions } from '../../../src/agent/executors/container/container-kernel.ts'
import { openEngine } from '../../../src/agent/executors/container/engine/engine.ts'
import type { EngineDescription } from '../../../src/agent/executors/container/engine/engine-answers.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { CONTAINER_DEFAULTS } from './container-fixture.ts'
import { createLogger } from '../../../src/observability/log.ts'

const { agentDir, agentId, description, socket, specs, overrides } = JSON.parse(
  Buffer.from(process.argv[2] ?? '', 'base64').toString(),
) as {
  agentDir: string
  agentId: string
  description: EngineDescription
  socket: string
  specs: KernelSpec[]
  overrides: Partial<ContainerOptions>
}
const log = await createLogger({ level: 'debug', format: 'json' })
const engine = openEngine(socket)
const executor = createContainerExecutor(
  {
    agentDir,
    agentId,
    log,
    limits: { chainBytes: null, chainFiles: null },
    codeBytesMax: 1024 ** 3,
    engine,
    description,
    container: { ...CONTAINER_DEFAULTS, ...overrides },
  },
  {
    changed() {
      for (const { kernelId, status } of executor.observe()) console.log(kernelId, status)
    },
  },
)
await executor.recover()
for (const spec of specs) executor.prepare(spec, 1)
createInterface(process.stdin).on('line', (line) => {
  const [word, kernelId = '', graceMs] = line.split(' ')
  if (word === 'start') for (const spec of specs) executor.start(spec, 1)
  if (word === 'stop') executor.stop(kernelId, 1, Number(graceMs))
  if (word === 'forget') executor.forget(kernelId, 1)
})
