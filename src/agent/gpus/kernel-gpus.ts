import { type Gpu, GPU_SLOTS, gpusAskedFor } from '../../domain/agent/gpu.ts'
import type { KernelVariable } from '../../domain/session/kernel-environment.ts'
import { hasEnded, type KernelEntry } from '../executors/kernels/kernel-entry.ts'
import { writeMark } from '../executors/kernels/kernel-directory.ts'
import type { DetectedGpu } from './gpu-driver.ts'
import type { Gpus } from './gpu-watch.ts'

/** A kernel that may have GPUs of this machine. */
export interface GpuKernel extends KernelEntry {
  /** UUIDs of its GPUs; null if none were chosen, because it has not been launched or the agent assigns none. */
  gpus: readonly string[] | null
}

/** There are too few GPUs that are free and in service. The message is for people. */
export class GpuShortageError extends Error {}

/**
 * Returns which kernel has which GPU. That follows from the kernels alone: one that may still have processes has its
 * GPUs, and no other does, whatever has crashed in between.
 */
export function heldGpus(kernels: Iterable<GpuKernel>): Map<string, string> {
  const held = new Map<string, string>()
  for (const kernel of kernels) {
    if (kernel.gpus === null || (hasEnded(kernel) && !kernel.lingers)) continue
    for (const uuid of kernel.gpus) held.set(uuid, kernel.id)
  }
  return held
}

/**
 * Chooses the kernel's GPUs and records them, before anything of the kernel can run. Synchronous, so that two kernels
 * cannot choose the same ones.
 *
 * @throws GpuShortageError
 */
export function takeGpus(gpus: Gpus | null, kernels: Iterable<GpuKernel>, kernel: GpuKernel): void {
  if (gpus === null || (!gpus.known && gpus.fault === null)) return
  const { resourceSlots } = kernel.spec
  kernel.gpus = null
  const held = heldGpus(kernels)
  const chosen = GPU_SLOTS.flatMap((slot) => {
    const count = gpusAskedFor(resourceSlots, slot)
    const found = count === 0 ? [] : gpus.assign(slot, count, held)
    if (found === null) throw new GpuShortageError(shortageOf(gpus, slot, count))
    return found.map(({ uuid }) => uuid)
  })
  writeMark(kernel.path, 'gpus', { uuids: chosen })
  kernel.gpus = chosen
}

function shortageOf(gpus: Gpus, slot: string, count: number): string {
  if (gpus.fault !== null) return `its GPUs cannot be seen now: ${gpus.fault}`
  const all = gpus.observe().filter((gpu) => gpu.slot === slot)
  const [broken, held] = [all.filter(({ fault }) => fault !== null), all.filter(({ kernelId }) => kernelId !== null)]
  const why = [`${all.length} in all`, `${broken.length} out of service`, `${held.length} in use`].join(', ')
  return `it asks for ${count} of ${slot}, and the agent has too few (${why})`
}

/** Returns the device nodes of the kernel's GPUs; null if the agent assigns none. */
export function gpuNodes(gpus: Gpus | null, { gpus: uuids }: GpuKernel): string[] | null {
  return gpus === null || uuids === null ? null : gpus.nodes(gpus.find(uuids))
}

/** Returns the variables that tell a program its GPUs. A session cannot change them. */
export function gpuVariables(gpus: Gpus | null, { gpus: uuids }: GpuKernel): [string, string][] {
  if (gpus === null || uuids === null) return []
  const own = gpus.find(uuids)
  const slots = new Set(gpus.observe().map(({ slot }) => slot))
  const told = own.map(({ index, uuid, name, memoryBytes }) => ({ index, uuid, name, memoryBytes }))
  return [
    ['REPRISE_GPUS' satisfies KernelVariable, JSON.stringify(told)],
    ...(slots.has('cuda.device') ? cudaVariables(own) : []),
    ...(slots.has('rocm.device') ? rocmVariables(own) : []),
  ]
}

function cudaVariables(own: readonly DetectedGpu[]): [string, string][] {
  const uuids = uuidsOf(own, 'cuda.device')
  // Without GPUs, an empty list keeps programs from a neighbour's.
  return [
    ['CUDA_VISIBLE_DEVICES', uuids.join(',')],
    ['NVIDIA_VISIBLE_DEVICES', uuids.join(',') || 'void'],
  ]
}

function rocmVariables(own: readonly DetectedGpu[]): [string, string][] {
  const cards = own.filter(({ slot }) => slot === 'rocm.device')
  // HIP counts among the devices that ROCr shows.
  return [
    ['ROCR_VISIBLE_DEVICES', cards.map(({ uuid, index }) => (uuid.startsWith('GPU-') ? uuid : index)).join(',')],
    ['HIP_VISIBLE_DEVICES', [...cards.keys()].join(',')],
  ]
}

function uuidsOf(own: readonly Gpu[], slot: string): string[] {
  return own.filter((gpu) => gpu.slot === slot).map(({ uuid }) => uuid)
}

/** Messages of frameworks and libraries when a GPU's memory is exhausted. The program lives to print them. */
const OUT_OF_GPU_MEMORY =
  /CUDA(?: error)?: out of memory|CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY|HIP out of memory|hipErrorOutOfMemory|cudaErrorMemoryAllocation|torch(?:\.cuda)?\.OutOfMemoryError|RESOURCE_EXHAUSTED: Out of memory|CUDNN_STATUS_ALLOC_FAILED/

/** Whether the last output of a program with GPUs says that their memory was exhausted. */
export function isOutOfGpuMemory(output: string): boolean {
  return OUT_OF_GPU_MEMORY.test(output)
}
