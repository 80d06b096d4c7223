import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Executor, ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import { createContainerExecutor } from '../../../src/agent/executors/container/container-executor.ts'
import type { ContainerOptions } from '../../../src/agent/executors/container/container-kernel.ts'
import { openEngine } from '../../../src/agent/executors/container/engine/engine.ts'
import type { EngineDescription } from '../../../src/agent/executors/container/engine/engine-answers.ts'
import type { Gpus } from '../../../src/agent/gpus/gpu-watch.ts'
import { FOREVER } from '../../../src/domain/retention.ts'
import { BASE_IMAGE, type ContainerEngine, type EngineName } from '../../support/containers/engines.ts'
import { eventually } from '../../support/eventually.ts'
import type { ExecutorFixture } from './executor-subject.ts'
import { processCommands, testLog } from './process-fixture.ts'
import { ALLOWED_IMAGES } from '../../support/containers/private-registry.ts'

export const CONTAINER_DEFAULTS: ContainerOptions = {
  image: BASE_IMAGE,
  allow: ALLOWED_IMAGES,
  pull: 'missing',
  imageKeep: FOREVER,
  network: 'host',
  volumes: [],
  processes: 1024,
  shmBytes: 64 * 1024 * 1024,
  readOnly: true,
  parallel: 4,
}

export interface ContainerFixture extends ExecutorFixture {
  readonly agentId: string
  readonly agentDir: string
  readonly description: EngineDescription
  kernel(kernelId: string): string
  container(kernelId: string): Promise<ListedContainer | undefined>
  create(hooks: ExecutorHooks, gpus?: Gpus): Executor
}

interface ListedContainer {
  Id: string
  State: string
  Names: string[]
}

/** Once for each program: to describe itself, Podman asks dpkg for packages, which takes 3 s of CPU. */
const descriptions = new Map<EngineName, Promise<EngineDescription>>()

async function describeEngine({ name, socket, disk }: ContainerEngine): Promise<EngineDescription> {
  const described = descriptions.get(name) ?? openEngine(socket).describe()
  descriptions.set(name, described)
  try {
    return { ...(await described), rootDir: disk }
  } catch (error) {
    descriptions.delete(name)
    throw error
  }
}

export async function createContainerFixture(
  engine: ContainerEngine,
  overrides: Partial<ContainerOptions> = {},
): Promise<ContainerFixture> {
  const agentDir = await mkdtemp(join(tmpdir(), 'reprise-executor-'))
  const agentId = uuidv7()
  const description = await describeEngine(engine)
  const container = async (kernelId: string) => {
    const filters = encodeURIComponent(JSON.stringify({ name: [`reprise-${kernelId}-`] }))
    const { text } = await engine.call('GET', `/containers/json?all=1&filters=${filters}`)
    return (JSON.parse(text) as ListedContainer[])[0]
  }
  return {
    agentId,
    agentDir,
    description,
    kernel: (kernelId) => join(agentDir, 'kernels', kernelId),
    container,
    commands: { ...processCommands, vanish: processCommands.hang },
    missingImage: 'localhost/no-such-image:1',
    missingImageError: 'image-not-found',
    async killFromOutside(kernelId) {
      const { Id } = await eventually(async () => {
        const found = await container(kernelId)
        return found?.State === 'running' && found
      })
      // `rm --force` on a busy machine: the end is known before the container is removed.
      await engine.call('POST', `/containers/${Id}/kill`)
      await eventually(async () => (await container(kernelId))?.State !== 'running')
      await engine.call('DELETE', `/containers/${Id}?force=1`)
    },
    vanishedError: 'cancelled-outside',
    create: (hooks: ExecutorHooks, gpus?: Gpus): Executor =>
      createContainerExecutor(
        {
          agentDir,
          agentId,
          log: testLog,
          limits: { chainBytes: null, chainFiles: null },
          codeBytesMax: 1024 ** 3,
          engine: openEngine(engine.socket),
          description,
          container: { ...CONTAINER_DEFAULTS, ...overrides },
          gpus: gpus ?? null,
        },
        hooks,
      ),
    dispose: () => rm(agentDir, { recursive: true, force: true, maxRetries: 5 }),
  }
}
