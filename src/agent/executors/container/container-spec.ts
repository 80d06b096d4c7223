import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { KernelVariable } from '../../../domain/session/kernel-environment.ts'
import { homeVariables, kernelVariables } from '../process/image-preset.ts'
import { inputOf } from '../kernels/kernel-code.ts'
import { type ContainerGpus, gpuRequest } from './container-gpus.ts'
import type { ContainerGroup } from './container-groups.ts'
import type { ContainerKernel, ContainerOptions } from './container-kernel.ts'
import type { VolumeBind } from './container-volumes.ts'
import { AGENT_LABEL, ASSIGNMENT_LABEL, type CreateBody, KERNEL_LABEL, SESSION_LABEL } from './engine/engine-client.ts'
import type { EngineDescription } from './engine/engine-answers.ts'

/** Paths at which a kernel finds its own files. */
export const WORK = '/work'
const CHAIN = '/chain'

/** No container can have what the session asks for. The message is for people. */
export class ContainerSpecError extends Error {}

/** Difference between the engine's limit and the limit of the group around it, which has to be reached first. */
const GROUP_SLACK_BYTES = 4 * 1024 * 1024
const NANO = 1e9
const CPU_MIN = 0.01

/** The place of a kernel in the network of its session, which has several kernels. */
export interface ClusterPlace {
  /** Name of the network; null if an administrator has configured that of the machine. */
  network: string | null
  /** The kernel's own address, and the names of all kernels with their addresses. */
  address: string
  hosts: { name: string; address: string }[]
}

export interface ContainerPlaces {
  agentId: string
  /** Paths outside of the container: the kernel's working directory, and its chain's directory. */
  work: string
  chain: string
  /** The user inside. */
  user: string
  group: ContainerGroup | null
  volumes: readonly VolumeBind[]
  gpus: ContainerGpus
  /** Variables that tell the program its GPUs. */
  gpuEnvironment: readonly [string, string][]
  /** The kernel's place among the session's kernels, if all of them are on this agent. */
  cluster: ClusterPlace | null
}

/**
 * Builds the request that creates a container. A session chooses only image, command and variables, and has no
 * influence on rights, devices, host directories, labels or names.
 *
 * @throws ContainerSpecError
 */
export function containerSpec(
  kernel: ContainerKernel,
  options: ContainerOptions,
  engine: EngineDescription,
  places: ContainerPlaces,
): CreateBody {
  const { spec, assignment, image, port, memoryLimitBytes } = kernel
  if (spec.command.length === 0) throw new ContainerSpecError('the command is empty')
  const network = places.cluster === null ? options.network : (places.cluster.network ?? options.network)
  return {
    Image: image!.id,
    Cmd: commandOf(kernel),
    ...(spec.executorOptions?.['entrypoint'] === 'none' && { Entrypoint: [] }),
    Env: environmentOf(kernel, places),
    User: places.user,
    WorkingDir: WORK,
    Tty: false,
    OpenStdin: false,
    AttachStdin: false,
    AttachStdout: false,
    AttachStderr: false,
    Labels: {
      [AGENT_LABEL]: places.agentId,
      [KERNEL_LABEL]: spec.kernelId,
      [ASSIGNMENT_LABEL]: String(assignment),
      [SESSION_LABEL]: spec.sessionId,
      'reprise.attempt': String(spec.attempt),
    },
    ...(port !== null && network !== 'host' && { ExposedPorts: { [`${port}/tcp`]: {} } }),
    HostConfig: {
      ...memoryOf(memoryLimitBytes, engine, places.group),
      ...cpusOf(spec, engine),
      ...(places.group !== null && { CgroupParent: places.group.parent }),
      ...(engine.limits.processes && { PidsLimit: options.processes }),
      ShmSize: options.shmBytes,
      OomScoreAdj: engine.rootless ? 0 : 500,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: options.readOnly,
      Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${memoryLimitBytes ?? DEFAULT_TMP_BYTES}` },
      Init: true,
      RestartPolicy: { Name: 'no' },
      AutoRemove: false,
      LogConfig: logsOf(engine),
      Mounts: [
        bind({ source: places.work, target: WORK, readOnly: false }),
        bind({ source: places.chain, target: CHAIN, readOnly: false }),
        ...places.volumes.map(bind),
      ],
      NetworkMode: network,
      ...portsOf(kernel, network),
      ...(places.cluster !== null && {
        ExtraHosts: places.cluster.hosts.map(({ name, address }) => `${name}:${address}`),
      }),
      ...(options.runtime !== undefined && { Runtime: options.runtime }),
      ...gpuRequest(places.gpus, engine),
    },
    ...membershipOf(places.cluster),
  }
}

/** An engine redirects no file, so a shell of the image does. */
function commandOf(kernel: ContainerKernel): string[] {
  const { command } = kernel.spec
  const input = inputOf(kernel)
  return input === null ? command : ['/bin/sh', '-c', 'exec "$@" <"$0"', input, ...command]
}

const DEFAULT_TMP_BYTES = 1024 ** 3

function membershipOf(cluster: ClusterPlace | null): object {
  if (cluster === null || cluster.network === null) return {}
  const endpoint = { IPAMConfig: { IPv4Address: cluster.address } }
  return { NetworkingConfig: { EndpointsConfig: { [cluster.network]: endpoint } } }
}

/** Whether it uses the machine's network. */
export function isOnHostNetwork(body: CreateBody | null): boolean {
  return body?.HostConfig['NetworkMode'] === 'host'
}

function environmentOf(
  kernel: ContainerKernel,
  { cluster, gpuEnvironment }: Pick<ContainerPlaces, 'cluster' | 'gpuEnvironment'>,
): string[] {
  const { spec } = kernel
  const hosts = cluster?.hosts.map(({ name }) => `${name}=${name}`).join(',')
  const environ = new Map([
    ...homeVariables(WORK),
    ...spec.environ.map(({ name, value }): [string, string] => [name, value]),
    ...kernelVariables(spec, { work: WORK, chain: CHAIN }, kernel),
    ...gpuEnvironment,
    ...(hosts === undefined ? [] : [['REPRISE_CLUSTER_HOSTS' satisfies KernelVariable, hosts] as [string, string]]),
  ])
  if ([...environ.entries(), spec.command].flat().some((text) => text.includes('\0'))) {
    throw new ContainerSpecError('a command or a variable contains a NUL byte')
  }
  return Array.from(environ, ([name, value]) => `${name}=${value}`)
}

/** Returns the memory limits. An engine refuses to start a container with a limit that it cannot enforce. */
function memoryOf(bytes: number | null, { limits }: EngineDescription, group: ContainerGroup | null): object {
  if (bytes === null || !limits.memory) return {}
  const limit = group === null ? bytes : bytes + GROUP_SLACK_BYTES
  return { Memory: limit, MemorySwap: limit }
}

function cpusOf({ resourceSlots }: KernelSpec, { cpus, limits }: EngineDescription): object {
  const amount = Number(resourceSlots['cpu'] ?? 0)
  if (!(amount > 0) || !limits.cpu) return {}
  return { NanoCpus: Math.round(Math.min(Math.max(amount, CPU_MIN), cpus || amount) * NANO) }
}

/**
 * Chooses a log driver that keeps every byte, which Docker's usual one does not. Output beyond the size takes no
 * further space on the engine's disk: Docker keeps one more file of that size, and Podman starts over.
 */
function logsOf({ name }: EngineDescription): object {
  if (name === 'podman') return { Type: 'k8s-file', Config: { 'max-size': '64m' } }
  return { Type: 'local', Config: { 'max-size': '64m', 'max-file': '2', compress: 'false' } }
}

/** Builds a bind mount. A read-only one is not recursive, because mounts below the source would stay writable. */
function bind({ source, target, readOnly }: VolumeBind): object {
  const options = readOnly ? { BindOptions: { NonRecursive: true } } : {}
  return { Type: 'bind', Source: source, Target: target, ReadOnly: readOnly, ...options }
}

function portsOf({ port }: ContainerKernel, network: string): object {
  if (port === null || network === 'host') return {}
  return { PortBindings: { [`${port}/tcp`]: [{ HostIp: '', HostPort: String(port) }] } }
}
