import { describeBytes } from './amounts.ts'

/** Slots of GPUs that an agent finds by itself: NVIDIA's and AMD's. */
export const GPU_SLOTS = ['cuda.device', 'rocm.device'] as const
export type GpuSlot = (typeof GPU_SLOTS)[number]

export function isGpuSlot(slot: unknown): slot is GpuSlot {
  return GPU_SLOTS.some((each) => each === slot)
}

/** A GPU, or a MIG instance of one, that an agent can give to a kernel. */
export interface Gpu {
  slot: GpuSlot
  /** From the driver, like `GPU-5d5ba0d6-…` or `MIG-c6d4f1ef-…`. */
  uuid: string
  /** Number of the GPU on its machine, from 0; that of its GPU for a MIG instance. */
  index: number
  /** Model, like `NVIDIA A100-SXM4-40GB`. */
  name: string
  /** Null if the driver does not report it. */
  memoryBytes: number | null
}

/** A GPU as its agent last saw it. */
export interface ObservedGpu extends Gpu {
  /** A kernel that has it; null if it is free. */
  kernelId: string | null
  /** Why it is out of service, as text for people; null if it is in service. */
  fault: string | null
  temperatureCelsius: number | null
  usedMemoryBytes: number | null
  /** Share of the last sample period in which it computed, from 0 to 1. */
  utilization: number | null
}

/** Used by one kernel, over all of its GPUs. */
export interface GpuUsage {
  /** The highest sum of their used memory; null if no driver reports it. */
  peakMemoryBytes: number | null
  /** From 0 to 1, over the samples of all its GPUs. */
  meanUtilization: number | null
  peakUtilization: number | null
  /** Null if the driver does not report power. */
  energyJoules: number | null
  /** Number of GPUs × time. */
  gpuSeconds: number
}

/** The usage of two kernels together. A sum is unknown if a summand is. */
export function addUsage(a: GpuUsage, b: GpuUsage): GpuUsage {
  const seconds = a.gpuSeconds + b.gpuSeconds
  const sum = (x: number | null, y: number | null) => (x === null || y === null ? null : x + y)
  const mean = (x: number | null, y: number | null) =>
    x === null || y === null || seconds === 0 ? (x ?? y) : (x * a.gpuSeconds + y * b.gpuSeconds) / seconds
  return {
    peakMemoryBytes: sum(a.peakMemoryBytes, b.peakMemoryBytes),
    meanUtilization: mean(a.meanUtilization, b.meanUtilization),
    peakUtilization:
      a.peakUtilization === null || b.peakUtilization === null
        ? (a.peakUtilization ?? b.peakUtilization)
        : Math.max(a.peakUtilization, b.peakUtilization),
    energyJoules: sum(a.energyJoules, b.energyJoules),
    gpuSeconds: seconds,
  }
}

/** What the GPUs of a session must be like. */
export interface GpuNeed {
  /** Part of the model's name, in any case; null for any model. */
  model: string | null
  /** Memory of each GPU; null for any. */
  memoryBytes: number | null
}

/** A change of a need: a missing field keeps its value, null removes the condition. */
export interface GpuChange {
  model?: string | null | undefined
  /** Bytes. */
  memory?: number | null | undefined
}

/** The need after a change. */
export function changeNeed(before: GpuNeed | null, { model, memory }: GpuChange): GpuNeed | null {
  const need = {
    model: model === undefined ? (before?.model ?? null) : model,
    memoryBytes: memory === undefined ? (before?.memoryBytes ?? null) : memory,
  }
  return need.model === null && need.memoryBytes === null ? null : need
}

/** ` of model a100 with 40 GiB`; empty if any GPU will do. */
export function describeNeed(need: GpuNeed | null): string {
  const { model = null, memoryBytes = null } = need ?? {}
  return `${model === null ? '' : ` of model ${model}`}${memoryBytes === null ? '' : ` with ${describeBytes(memoryBytes)}`}`
}

type Model = Pick<Gpu, 'name' | 'memoryBytes'>

/** Makers count memory in 1000³ bytes, and drivers keep some of it: a GPU of 24 GB reports 22.5 GiB. */
const MEMORY_AS_SOLD = 1000 ** 3 / 1024 ** 3

/** Whether a GPU has what is needed. One that is sold with `n` GB has `n` GiB by this measure. */
export function meetsNeed({ name, memoryBytes }: Model, need: GpuNeed | null): boolean {
  if (need === null) return true
  if (need.model !== null && !name.toLowerCase().includes(need.model.toLowerCase())) return false
  return need.memoryBytes === null || (memoryBytes !== null && memoryBytes >= need.memoryBytes * MEMORY_AS_SOLD)
}

/**
 * The GPUs among which a kernel's are chosen: those of one model if it has enough, and of such models the one with the
 * least memory. Larger ones are left for kernels that need them. The scheduler and the agent must agree in this.
 */
export function oneModel<Device extends Model>(free: readonly Device[], count: number): Device[] {
  const sorted = free.toSorted((a, b) => (a.memoryBytes ?? 0) - (b.memoryBytes ?? 0))
  const models = Map.groupBy(sorted, ({ name, memoryBytes }) => `${name} ${memoryBytes}`)
  return [...models.values()].find((those) => those.length >= count) ?? sorted
}

/** How many of a kernel's GPUs of this kind are requested; a part of one counts as one. */
export function gpusAskedFor(slots: Readonly<Record<string, string>>, slot: GpuSlot): number {
  const amount = Number(slots[slot] ?? 0)
  return Number.isFinite(amount) ? Math.max(0, Math.ceil(amount)) : 0
}

/** The part of a GPU that a kernel asks for; null if it asks for whole ones or none. */
export function gpuPart(slots: Readonly<Record<string, string>>, slot: GpuSlot): number | null {
  const amount = Number(slots[slot] ?? 0)
  return amount > 0 && amount < 1 ? amount : null
}
