import {
  describeNeed,
  type Gpu,
  GPU_SLOTS,
  type GpuNeed,
  type GpuUsage,
  gpuPart,
  gpusAskedFor,
} from '../../domain/gpu.ts'
import type { GpuTake, ObservedKernel } from '../../domain/agent/protocol.ts'
import type { KernelVariable } from '../../domain/session/kernel-environment.ts'
import type { FailureError } from '../../domain/session/failure.ts'
import type { Executor, ExecutorHooks } from '../executors/executor.ts'
import { hasEnded, type KernelEntry } from '../executors/kernels/kernel-entry.ts'
import { readGpuMark, readGpuUsageMark, writeMark } from '../executors/kernels/kernel-directory.ts'
import type { DetectedGpu } from './gpu-driver.ts'
import type { GpuHolding } from './assign-gpus.ts'
import type { Gpus } from './gpu-watch.ts'
import { usageOf } from './gpu-usage.ts'

/** A kernel that may have GPUs of this machine. */
export interface GpuKernel extends KernelEntry {
  /** UUIDs of its GPUs; null if none were chosen, because it has not been launched or the agent assigns none. */
  gpus: readonly string[] | null
  /** What it has used of them, as it was last reported; null if nothing is counted. */
  gpuUsage: GpuUsage | null
  /** When one of them was last seen to compute, or it began to run; in ms of the monotonic clock. */
  gpuBusyAt: number
  /** When `gpuUsage` was taken, in ms of the monotonic clock. */
  gpuUsageAt: number
}

/** The GPUs of a kernel that has not been launched. */
export const NO_GPUS: Pick<GpuKernel, 'gpus' | 'gpuUsage' | 'gpuBusyAt' | 'gpuUsageAt'> = {
  gpus: null,
  gpuUsage: null,
  gpuBusyAt: 0,
  gpuUsageAt: Number.NEGATIVE_INFINITY,
}

/** There are too few GPUs that are free and in service. The message is for people. */
export class GpuShortageError extends Error {}

/**
 * Returns which kernel has which GPU. That follows from the kernels alone: one that may still have processes has its
 * GPUs, and no other does, whatever has crashed in between.
 */
export function heldGpus(kernels: Iterable<GpuKernel>): Map<string, GpuHolding[]> {
  const held = new Map<string, GpuHolding[]>()
  for (const kernel of kernels) {
    if (kernel.gpus === null || (hasEnded(kernel) && !kernel.lingers)) continue
    const holding = { kernelId: kernel.id, part: partOf(kernel) ?? 1 }
    for (const uuid of kernel.gpus) held.set(uuid, [...(held.get(uuid) ?? []), holding])
  }
  return held
}

/** The part of one GPU that a kernel asks for; null if it asks for whole ones or none. */
function partOf({ spec }: GpuKernel): number | null {
  return GPU_SLOTS.map((slot) => gpuPart(spec.resourceSlots, slot)).find((part) => part !== null) ?? null
}

/**
 * Chooses the kernel's GPUs and records them, before anything of the kernel can run. Synchronous, so that two kernels
 * cannot choose the same ones.
 *
 * @throws GpuShortageError
 */
export function takeGpus(gpus: Gpus | null, kernels: Iterable<GpuKernel>, kernel: GpuKernel): void {
  if (gpus === null || (!gpus.known && gpus.fault === null)) return
  const { resourceSlots, gpuNeed: need = null } = kernel.spec
  kernel.gpus = null
  const held = heldGpus(kernels)
  const chosen = GPU_SLOTS.flatMap((slot) => {
    const count = gpusAskedFor(resourceSlots, slot)
    const found = count === 0 ? [] : gpus.assign({ slot, count, part: gpuPart(resourceSlots, slot), need }, held)
    if (found === null) throw new GpuShortageError(shortageOf(gpus, slot, resourceSlots[slot]!, need))
    return found.map(({ uuid }) => uuid)
  })
  writeMark(kernel.path, 'gpus', { uuids: chosen })
  kernel.gpus = chosen
  if (chosen.length > 0) gpus.begin(kernel.id)
}

/** What people wish of GPUs. */
export interface GpuWishes {
  giveBack(uuids: readonly string[]): void
  takeOut(takes: readonly GpuTake[]): void
}

/** Time in which a program that has lost a GPU can save its work. */
const GPU_LOST_GRACE_MS = 5_000

/**
 * Ends the kernels of GPUs that break, and those that leave their GPUs idle for too long. Reports what the agent offers
 * from then on.
 *
 * @returns null without GPUs
 */
export function watchGpus(
  { gpus, registry }: { gpus: Gpus | null; registry: { readonly kernels: ReadonlyMap<string, GpuKernel> } },
  { stop }: Pick<Executor, 'stop'>,
  hooks: ExecutorHooks,
): GpuWishes | null {
  if (gpus === null) return null
  const report = () =>
    hooks.gpus?.({ gpus: gpus.observe(), slots: gpus.offered(), fault: gpus.fault, sharing: gpus.sharing })
  gpus.watch({
    held: () => heldGpus(registry.kernels.values()),
    lost(uuids, reason) {
      const error = { name: 'gpu-lost', message: `gpu-lost: ${reason}` } as const
      for (const kernel of registry.kernels.values()) {
        if (hasEnded(kernel) || !(kernel.gpus ?? []).some((uuid) => uuids.includes(uuid))) continue
        stop(kernel.id, kernel.assignment, GPU_LOST_GRACE_MS, error)
      }
    },
    sampled() {
      if (noteUsage(gpus, registry.kernels.values())) hooks.changed()
      hooks.gpuFigures?.(gpus.observe())
      for (const { kernel, idleMs } of idleKernels(gpus, registry.kernels.values())) {
        const { graceMs, error } = idleStop(kernel, idleMs)
        stop(kernel.id, kernel.assignment, graceMs, error)
      }
    },
    changed: report,
    closing: () => {
      noteUsage(gpus, registry.kernels.values(), 0)
    },
  })
  report()
  // Both report even if nothing has changed: the server repeats its request until the agent reports.
  return {
    giveBack(uuids) {
      for (const uuid of uuids) gpus.giveBack(uuid)
      report()
    },
    takeOut(takes) {
      for (const { uuid, reason } of takes) gpus.takeOut(uuid, reason)
      report()
    },
  }
}

/** How to stop a kernel whose GPUs have been idle for too long. */
export function idleStop(
  { spec }: Pick<KernelEntry, 'spec'>,
  idleMs: number,
): { graceMs: number; error: FailureError } {
  const words = `all of its GPUs were below 1 % of use for ${Math.round(idleMs / 1000)} s (its gpuIdleTimeout)`
  const error = { name: 'gpu-idle', message: `gpu-idle: ${words}` }
  return { graceMs: spec.stopGraceMs ?? GPU_LOST_GRACE_MS, error }
}

/** The least time between two reports of what a running kernel uses. */
const USAGE_REPORT_MS = 15_000

/**
 * Takes what running kernels have used, for the next report and for a later instance.
 *
 * @returns whether it has changed
 */
function noteUsage(gpus: Gpus, kernels: Iterable<GpuKernel>, leastMs = USAGE_REPORT_MS): boolean {
  const now = performance.now()
  let hasChanged = false
  for (const kernel of kernels) {
    if (kernel.phase !== 'RUNNING' || now - kernel.gpuUsageAt < leastMs) continue
    const counted = gpus.usage(kernel.id)
    if (counted === null) continue
    Object.assign(kernel, { gpuUsage: usageOf(counted), gpuUsageAt: now })
    hasChanged = true
    try {
      writeMark(kernel.path, 'gpu-usage', counted)
    } catch {
      // The disk is full, or the directory is being removed: a later instance counts from its own start.
    }
  }
  return hasChanged
}

/** A GPU that computes for a smaller share of the time is idle. */
const IDLE_BELOW = 0.01

/**
 * Finds the running kernels all of whose GPUs have been idle for as long as their sessions allow. A GPU whose driver
 * does not report its use counts as busy. The time begins anew with each instance of the agent.
 */
export function idleKernels<Kernel extends GpuKernel>(
  gpus: Gpus,
  kernels: Iterable<Kernel>,
  now = performance.now(),
): { kernel: Kernel; idleMs: number }[] {
  const use = new Map(gpus.observe().map(({ uuid, utilization }) => [uuid, utilization]))
  return [...kernels].flatMap((kernel) => {
    const limitMs = kernel.spec.gpuIdleTimeoutMs ?? null
    if (limitMs === null || kernel.phase !== 'RUNNING' || kernel.gpus === null || kernel.gpus.length === 0) return []
    if (kernel.gpuBusyAt === 0 || kernel.gpus.some((uuid) => (use.get(uuid) ?? 1) >= IDLE_BELOW)) kernel.gpuBusyAt = now
    const idleMs = now - kernel.gpuBusyAt
    return idleMs >= limitMs ? [{ kernel, idleMs }] : []
  })
}

/** Takes what a kernel that has ended has used. */
export function concludeUsage(gpus: Gpus | null, kernel: GpuKernel): void {
  if (gpus === null || kernel.gpus === null || kernel.gpus.length === 0) return
  gpus.end(kernel.id, kernel.gpus.length * (partOf(kernel) ?? 1))
  const counted = gpus.usage(kernel.id)
  if (counted !== null) kernel.gpuUsage = usageOf(counted)
}

/** Finds the GPUs of a kernel of an earlier instance, and what it has used of them. */
export function recoverGpus(gpus: Gpus | null, kernel: GpuKernel): void {
  kernel.gpus = readGpuMark(kernel.path)?.uuids ?? null
  if (gpus === null || kernel.gpus === null || kernel.gpus.length === 0) return
  gpus.begin(kernel.id, readGpuUsageMark(kernel.path) ?? undefined)
}

/** Adds the kernel's GPUs, and what it has used of them, to the report about it. */
export function withGpus(gpus: Gpus | null, report: ObservedKernel, kernel: GpuKernel | undefined): ObservedKernel {
  if (gpus === null || kernel?.gpus == null || kernel.gpus.length === 0) return report
  return { ...report, gpus: gpus.describe(kernel.gpus), gpuUsage: kernel.gpuUsage }
}

function shortageOf(gpus: Gpus, slot: string, amount: string, need: GpuNeed | null): string {
  if (gpus.fault !== null) return `its GPUs cannot be seen now: ${gpus.fault}`
  const all = gpus.observe().filter((gpu) => gpu.slot === slot)
  const [broken, held] = [all.filter(({ fault }) => fault !== null), all.filter(({ kernelId }) => kernelId !== null)]
  const why = [`${all.length} in all`, `${broken.length} out of service`, `${held.length} in use`].join(', ')
  return `it asks for ${amount} of ${slot}${describeNeed(need)}, and the agent has too few (${why})`
}

/** Returns the device nodes of the kernel's GPUs; null if the agent assigns none. */
export function gpuNodes(gpus: Gpus | null, { gpus: uuids }: GpuKernel): string[] | null {
  return gpus === null || uuids === null ? null : gpus.nodes(gpus.find(uuids))
}

/** Returns the device nodes of GPUs that the kernel does not have; none if the agent assigns none. */
export function closedNodes(gpus: Gpus | null, { gpus: uuids }: GpuKernel): string[] {
  return gpus === null || uuids === null ? [] : gpus.otherNodes(gpus.find(uuids))
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

/** Explains the failure of a program with GPUs by its last output. @returns null if that has another reason */
export function gpuMemoryFailure(
  { gpus }: { readonly gpus: readonly unknown[] | null },
  output: string,
  exitCode: number,
): FailureError | null {
  if (gpus === null || gpus.length === 0 || !OUT_OF_GPU_MEMORY.test(output)) return null
  return { name: 'gpu-memory', message: 'its output says that the memory of its GPUs was exhausted', exitCode }
}
