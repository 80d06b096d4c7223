import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { KernelVariable } from '../../../domain/session/kernel-environment.ts'
import { homeVariables, kernelVariables } from '../process/image-preset.ts'
import type { ContainerGroup } from './container-groups.ts'
import type { ContainerKernel, ContainerOptions } from './container-kernel.ts'
import type { VolumeBind } from './container-volumes.ts'
import { AGENT_LABEL, ASSIGNMENT_LABEL, type CreateBody, KERNEL_LABEL, SESSION_LABEL } from './engine/engine-client.ts'
import type { EngineDescription } from './engine/engine.ts'
import { cdiDevices } from './engine/podman-spec.ts'

/** Where a kernel finds its own files. */
export const WORK = '/work'
const CHAIN = '/chain'
const VERDICT = `${WORK}/.reprise-verdict.json`

/** The container cannot be what the session asks for. The message is for people. */
export class ContainerSpecError extends Error {}

/** Given out to the program of a container, device by device: by Docker, or by Podman under this name. */
const GPU_SLOT = 'cuda.device'
const CDI_GPU = 'nvidia.com/gpu='
/** What of it the engine's own limit leaves to the group around it, which is to be the first that is reached. */
const GROUP_SLACK_BYTES = 4 * 1024 * 1024
const NANO = 1e9
const CPU_MIN = 0.01

/** Where a kernel of several stands in its session's network. */
export interface ClusterPlace {
  /** Of the network; null if an administrator has configured that of the machine. */
  network: string | null
  /** Its own, and all names with their addresses, its own among them. */
  address: string
  hosts: { name: string; address: string }[]
}

export interface ContainerPlaces {
  agentId: string
  /** The kernel's working directory and its chain's, outside. */
  work: string
  chain: string
  /** As whom it runs inside. */
  user: string
  group: ContainerGroup | null
  volumes: readonly VolumeBind[]
  /** Numbers of the devices that it gets. */
  gpus: readonly number[]
  /** Among the kernels of its session, if they are all here. */
  cluster: ClusterPlace | null
}

/**
 * No session has a say in rights, devices, host directories, labels or names: it chooses the image, the command, the
 * variables.
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
    Cmd: spec.command,
    ...(spec.executorOptions?.['entrypoint'] === 'none' && { Entrypoint: [] }),
    Env: environmentOf(kernel, places.cluster),
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
      ...gpusOf(places.gpus, engine),
    },
    ...membershipOf(places.cluster),
  }
}

const DEFAULT_TMP_BYTES = 1024 ** 3

function membershipOf(cluster: ClusterPlace | null): object {
  if (cluster === null || cluster.network === null) return {}
  const endpoint = { IPAMConfig: { IPv4Address: cluster.address } }
  return { NetworkingConfig: { EndpointsConfig: { [cluster.network]: endpoint } } }
}

/** Whether it has no network of its own. */
export function isOnHostNetwork(body: CreateBody | null): boolean {
  return body?.HostConfig['NetworkMode'] === 'host'
}

function environmentOf(kernel: ContainerKernel, cluster: ClusterPlace | null): string[] {
  const { spec } = kernel
  const hosts = cluster?.hosts.map(({ name }) => `${name}=${name}`).join(',')
  const environ = new Map([
    ...homeVariables(WORK),
    ...spec.environ.map(({ name, value }): [string, string] => [name, value]),
    ...kernelVariables(spec, { chain: CHAIN, verdict: VERDICT }, kernel),
    ...(hosts === undefined ? [] : [['REPRISE_CLUSTER_HOSTS' satisfies KernelVariable, hosts] as [string, string]]),
  ])
  if ([...environ.entries(), spec.command].flat().some((text) => text.includes('\0'))) {
    throw new ContainerSpecError('a command or a variable contains a NUL byte')
  }
  return Array.from(environ, ([name, value]) => `${name}=${value}`)
}

/** An engine refuses to start what it is to bound and cannot. */
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
 * Both keep every byte; Docker's usual driver does not. What a program writes beyond the size takes no more of the
 * engine's disk: Docker keeps as much as that beside what it writes to, Podman begins anew.
 */
function logsOf({ name }: EngineDescription): object {
  if (name === 'podman') return { Type: 'k8s-file', Config: { 'max-size': '64m' } }
  return { Type: 'local', Config: { 'max-size': '64m', 'max-file': '2', compress: 'false' } }
}

/** What is mounted below the source would be writable in a read-only one. */
function bind({ source, target, readOnly }: VolumeBind): object {
  const options = readOnly ? { BindOptions: { NonRecursive: true } } : {}
  return { Type: 'bind', Source: source, Target: target, ReadOnly: readOnly, ...options }
}

function portsOf({ port }: ContainerKernel, network: string): object {
  if (port === null || network === 'host') return {}
  return { PortBindings: { [`${port}/tcp`]: [{ HostIp: '', HostPort: String(port) }] } }
}

function gpusOf(gpus: readonly number[], { name }: EngineDescription): object {
  if (gpus.length === 0) return {}
  if (name === 'podman') return { Devices: gpus.map((gpu) => ({ PathOnHost: `${CDI_GPU}${gpu}` })) }
  return { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: gpus.map(String), Capabilities: [['gpu']] }] }
}

/** How many it asks for. */
export function gpuCount({ resourceSlots }: KernelSpec): number {
  return Math.ceil(Number(resourceSlots[GPU_SLOT] ?? 0)) || 0
}

/** The devices of a container that was created, or is to be. */
export function gpusOfBody(body: CreateBody | null): number[] {
  if (body === null) return []
  const requests = (body.HostConfig['DeviceRequests'] ?? []) as { DeviceIDs?: string[] }[]
  const named = cdiDevices(body).filter((device) => device.startsWith(CDI_GPU))
  return [
    ...requests.flatMap(({ DeviceIDs = [] }) => DeviceIDs.map(Number)),
    ...named.map((device) => Number(device.slice(CDI_GPU.length))),
  ]
}
