import { statSync } from 'node:fs'
import { hostname, release, totalmem } from 'node:os'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { Gpus } from '../../gpus/gpu-watch.ts'
import { takeGpus } from '../../gpus/kernel-gpus.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import type { ContainerKernel } from './container-kernel.ts'
import type { CreateBody } from './engine/engine-client.ts'
import type { EngineDescription } from './engine/engine-answers.ts'
import { cdiDevices } from './engine/podman-spec.ts'

/**
 * The GPUs of a container. The agent chooses them and the engine gives the container their device nodes, and no others.
 *
 * NVIDIA's are requested by their UUIDs: from Docker's driver for them, or as devices that a file of the machine
 * describes for Podman (CDI). Such a file may have only the GPUs' indexes as names, see `namedByIndex`. The nodes of
 * AMD's are devices like any others.
 *
 * If the agent cannot see GPUs, because the engine is on another machine or there is no tool, an administrator tells
 * their number (`--slots cuda.device=4`), and containers get them by the numbers from 0.
 */
export interface ContainerGpus {
  /** UUIDs of NVIDIA's GPUs, or their numbers. */
  cuda: readonly string[]
  /** Device nodes of AMD's GPUs. */
  nodes: readonly string[]
}

/** Slot whose devices are assigned to containers one by one, by Docker, or by Podman under this name. */
const CUDA_SLOT = 'cuda.device'
const CDI_GPU = 'nvidia.com/gpu='

/** The engine reports the machine's memory as the system does, but perhaps in other units. */
const MEMORY_TOLERANCE = 0.01

/**
 * Whether the engine is on this machine, so that its GPUs are those which the agent sees. An agent in a container has
 * another host name than its engine, and the memory of a virtual machine may grow and shrink, so that either will do.
 */
export function isEngineHere({ kernelVersion, hostName, memoryBytes }: EngineDescription): boolean {
  const sameMemory = Math.abs(memoryBytes / totalmem() - 1) < MEMORY_TOLERANCE
  return kernelVersion === release() && (hostName === hostname() || sameMemory)
}

/**
 * Chooses the kernel's GPUs and records them. Synchronous, so that two kernels cannot choose the same ones.
 *
 * @throws GpuShortageError
 */
export function chooseGpus(
  gpus: Gpus | null,
  kernels: readonly ContainerKernel[],
  kernel: ContainerKernel,
): ContainerGpus {
  for (const other of kernels) other.gpus ??= gpusByNumber(gpus, other)
  takeGpus(gpus, kernels, kernel)
  if (gpus === null || kernel.gpus === null) return { cuda: freeNumbers(kernels, kernel), nodes: [] }
  const own = gpus.find(kernel.gpus)
  return {
    cuda: own.filter(({ slot }) => slot === CUDA_SLOT).map(({ uuid }) => uuid),
    nodes: gpus.nodes(own.filter(({ slot }) => slot !== CUDA_SLOT)),
  }
}

/** Assigns numbers, which no engine does: without them, each kernel would get the first GPUs. */
function freeNumbers(kernels: readonly ContainerKernel[], kernel: ContainerKernel): string[] {
  const count = numberOfGpus(kernel.spec)
  const others = kernels.filter((other) => other !== kernel && !hasEnded(other))
  const taken = new Set(others.flatMap(({ body }) => cudaNamesOf(body)))
  const free: string[] = []
  for (let device = 0; free.length < count; device++) if (!taken.has(String(device))) free.push(String(device))
  return free
}

function numberOfGpus({ resourceSlots }: KernelSpec): number {
  return Math.ceil(Number(resourceSlots[CUDA_SLOT] ?? 0)) || 0
}

/** Returns the part of the request that gives a container these GPUs. */
export function gpuRequest({ cuda, nodes }: ContainerGpus, { name, rootless }: EngineDescription): object {
  const named = name === 'podman' ? cuda.map((gpu) => ({ PathOnHost: `${CDI_GPU}${gpu}` })) : []
  const devices = [
    ...named,
    ...nodes.map((path) => ({ PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rw' })),
  ]
  return {
    ...(name === 'docker' &&
      cuda.length > 0 && { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: cuda, Capabilities: [['gpu']] }] }),
    ...(devices.length > 0 && { Devices: devices }),
    // An ordinary user's engine knows no other groups than those of this user.
    ...(nodes.length > 0 && !rootless && { GroupAdd: groupsOf(nodes) }),
  }
}

/** The groups whose members may open the nodes: `render` on most machines. */
function groupsOf(nodes: readonly string[]): string[] {
  const groups = nodes.flatMap((path) => statSync(path, { throwIfNoEntry: false })?.gid ?? [])
  return [...new Set(groups)].filter((gid) => gid !== 0).map(String)
}

/** Returns the names of the NVIDIA GPUs of a container that was created, or will be. */
function cudaNamesOf(body: CreateBody | null): string[] {
  if (body === null) return []
  const requests = (body.HostConfig['DeviceRequests'] ?? []) as { DeviceIDs?: string[] }[]
  const named = cdiDevices(body).filter((device) => device.startsWith(CDI_GPU))
  return [...requests.flatMap(({ DeviceIDs = [] }) => DeviceIDs), ...named.map((name) => name.slice(CDI_GPU.length))]
}

/**
 * Names the GPUs by their indexes instead of their UUIDs, for a machine whose description for Podman has no UUIDs, as
 * older versions of the Container Toolkit write it.
 *
 * @returns null if they have no such names
 */
export function namedByIndex(gpus: Gpus | null, body: CreateBody): CreateBody | null {
  const known = new Map(gpus?.find(cudaNamesOf(body)).map((gpu) => [`${CDI_GPU}${gpu.uuid}`, gpu]))
  // An instance has no number of its own.
  if (known.size === 0 || [...known.values()].some(({ parent }) => parent !== null)) return null
  const devices = (body.HostConfig['Devices'] as { PathOnHost: string }[]).map((device) => {
    const gpu = known.get(device.PathOnHost)
    return gpu === undefined ? device : { PathOnHost: `${CDI_GPU}${gpu.index}` }
  })
  return { ...body, HostConfig: { ...body.HostConfig, Devices: devices } }
}

/**
 * Finds the GPUs of a kernel that was launched while the agent could not see any, and so assigned numbers. They are
 * those with these indexes.
 *
 * @returns null if it has none
 */
function gpusByNumber(gpus: Gpus | null, { body }: ContainerKernel): string[] | null {
  const names = new Set(cudaNamesOf(body))
  const own = gpus?.observe().filter(({ slot, index }) => slot === CUDA_SLOT && names.has(String(index))) ?? []
  return own.length === 0 ? null : own.map(({ uuid }) => uuid)
}
