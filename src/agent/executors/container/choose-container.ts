import { accessSync, constants, lstatSync, statSync } from 'node:fs'
import type { AgentIsolation, AgentVolume } from '../../../domain/agent/protocol.ts'
import type { Warning } from '../../../domain/warning.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import type { Retention } from '../../../domain/retention.ts'
import { type Executor, type ExecutorHooks, ExecutorSetupError } from '../executor.ts'
import type { UidRange } from '../process/isolation/project-uids.ts'
import { findGpus, type GpuConfig } from '../../gpus/find-gpus.ts'
import { createContainerExecutor } from './container-executor.ts'
import { isEngineHere } from './container-gpus.ts'
import type { ContainerOptions, ContainerVolume } from './container-kernel.ts'
import { volumeFault } from './container-volumes.ts'
import { type Engine, openEngine } from './engine/engine.ts'
import type { EngineDescription } from './engine/engine-answers.ts'
import { missingLimits } from './engine/engine-client.ts'
import { allowsAnyRegistry } from './engine/registry.ts'
import type { PullPolicy } from './engine/pull-image.ts'
import { join } from 'node:path'

export interface ContainerConfig extends GpuConfig {
  containerEngine?: string | undefined
  containerImage?: string | undefined
  containerAllow: string[]
  containerPull: PullPolicy
  containerImageKeep: Retention
  containerAuthFile?: string | undefined
  containerNetwork: string
  containerUids?: UidRange | undefined
  containerVolumes: ContainerVolume[]
  containerRuntime?: string | undefined
  containerPids: number
  containerShm: number
  containerReadonly: boolean
  containerParallel: number
  chainsDir?: string | undefined
  chainBytesMax: number | null
  chainFilesMax: number | null
  uploadBytesMax: number
}

/**
 * Finds the engine, and checks the options, the volumes and the network, so that faults appear at the agent's start and
 * not with the first kernel.
 *
 * @throws ExecutorSetupError
 */
export async function chooseContainer(
  config: ContainerConfig,
  agentDir: string,
  log: Logger,
): Promise<{
  isolation: AgentIsolation
  volumes: AgentVolume[]
  gpuSlots?: Record<string, string>
  warnings: Warning[]
  create(hooks: ExecutorHooks, agentId: string): Executor
}> {
  const container = optionsOf(config)
  const { engine, description } = await findEngine(config)
  try {
    assertUsable(description)
    await assertThere(engine, description, container)
  } catch (error) {
    await engine.close()
    throw error instanceof ExecutorSetupError ? error : new ExecutorSetupError(messageOf(error))
  }
  const { name, version, rootless } = description
  log.info(`containers of ${name} ${version}${rootless ? ', rootless' : ''} at ${engine.socket}`)
  const { chainsDir, containerUids: uids, uploadBytesMax: codeBytesMax } = config
  const gpus = isEngineHere(description) ? await findGpus(config, agentDir, log) : null
  if (!isEngineHere(description)) log.info(NOT_HERE)
  const limits = { chainBytes: config.chainBytesMax, chainFiles: config.chainFilesMax }
  return {
    isolation: { name: 'container', byHand: true },
    volumes: container.volumes.map(({ name: called, readOnly, projects }) => ({ name: called, readOnly, projects })),
    ...(gpus !== null && { gpuSlots: gpus.offered() }),
    warnings: [...ofMissingLimits(description), ...ofRegistries(container)],
    create: (hooks, agentId) =>
      createContainerExecutor(
        { agentDir, agentId, chainsDir, log, limits, codeBytesMax, uids, engine, description, container, gpus },
        hooks,
      ),
  }
}

const NOT_HERE =
  'the container engine is on another machine, or in a virtual one: the agent cannot see its GPUs; tell their number with --slots cuda.device=<n>'

function optionsOf(config: ContainerConfig): ContainerOptions {
  const { containerAuthFile: authFile } = config
  try {
    if (authFile !== undefined) accessSync(authFile, constants.R_OK)
  } catch (error) {
    throw new ExecutorSetupError(`REPRISE_CONTAINER_AUTH_FILE cannot be read: ${messageOf(error)}`)
  }
  for (const volume of config.containerVolumes) {
    const fault = volumeFault(volume)
    if (fault !== null) throw new ExecutorSetupError(`REPRISE_CONTAINER_VOLUMES: ${volume.name}: ${fault}`)
  }
  return {
    image: config.containerImage,
    allow: config.containerAllow,
    pull: config.containerPull,
    imageKeep: config.containerImageKeep,
    authFile,
    network: config.containerNetwork,
    volumes: config.containerVolumes,
    runtime: config.containerRuntime,
    processes: config.containerPids,
    shmBytes: config.containerShm,
    readOnly: config.containerReadonly,
    parallel: config.containerParallel,
  }
}

async function findEngine(config: ContainerConfig): Promise<{ engine: Engine; description: EngineDescription }> {
  const faults: string[] = []
  for (const socket of engineSockets(config.containerEngine, process.env)) {
    const fault = socketFault(socket)
    if (fault !== null) {
      faults.push(fault)
      continue
    }
    const engine = openEngine(socket)
    try {
      return { engine, description: await engine.describe() }
    } catch (error) {
      await engine.close()
      faults.push(`${socket}: ${messageOf(error)}`)
    }
  }
  throw new ExecutorSetupError(
    `REPRISE_EXECUTOR=container: no container engine answers (${faults.join('; ')}). Start Docker, or Podman with: podman system service --time=0, and name its socket in REPRISE_CONTAINER_ENGINE`,
  )
}

function ofMissingLimits({ name, cgroupVersion, limits }: EngineDescription): Warning[] {
  const missing = missingLimits(limits)
  if (missing === null) return []
  const text = `${name} cannot bound ${missing} of its containers: a kernel may take more than it asks for. ${
    cgroupVersion === '1'
      ? 'Containers of an ordinary user are bounded with cgroups of version 2 only'
      : 'Delegate these cgroup controllers to its user (systemd: Delegate= of user@.service)'
  }`
  return [{ kind: 'limits', text }]
}

function ofRegistries({ allow }: ContainerOptions): Warning[] {
  if (!allowsAnyRegistry(allow)) return []
  const text =
    'sessions of every project may name images of any registry (REPRISE_CONTAINER_ALLOW has a * in place of a host), and a registry can send the container engine to addresses of its own network: name the registries'
  return [{ kind: 'registries', text }]
}

/** @throws ExecutorSetupError */
function assertUsable({ name, rootless, remapsUsers }: EngineDescription): void {
  if (remapsUsers) {
    throw new ExecutorSetupError(`${name} remaps users (userns-remap): the files of kernels would belong to others`)
  }
  // Access to the engine's socket would be enough to run containers, but not for the fence: it must end their processes
  // even without the engine, and only root may signal processes of root.
  if (!rootless && process.getuid?.() !== 0) {
    throw new ExecutorSetupError(
      `the engine is root's, and this agent is not root: run it as root, or use an engine of its own user (rootless)`,
    )
  }
}

/** @throws ExecutorSetupError */
async function assertThere(engine: Engine, { name }: EngineDescription, options: ContainerOptions): Promise<void> {
  const { network } = options
  if (!['default', 'none', 'host'].includes(network) && !(await engine.hasNetwork(network))) {
    throw new ExecutorSetupError(`REPRISE_CONTAINER_NETWORK: ${name} has no network ${network}`)
  }
}

const SCHEME = 'unix://'
const DOCKER = '/var/run/docker.sock'
const PODMAN = 'podman/podman.sock'

/** Lists the paths of sockets at which an engine may listen, in the order in which they are tried. */
function engineSockets(configured: string | undefined, environment: NodeJS.ProcessEnv): string[] {
  if (configured !== undefined) return [configured.slice(SCHEME.length)]
  const runtimeDir = environment['XDG_RUNTIME_DIR']
  const own = runtimeDir === undefined ? [] : [join(runtimeDir, PODMAN)]
  return [DOCKER, ...own, join('/run', PODMAN)]
}

/** Returns why nothing can listen there; null if something may. */
function socketFault(path: string): string | null {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return `there is no ${path}`
  try {
    return statSync(path).isSocket() ? null : `${path} is no socket`
  } catch (error) {
    return `${path}: ${(error as NodeJS.ErrnoException).code}`
  }
}
