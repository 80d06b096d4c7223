/** Slots of GPUs that an agent finds by itself: NVIDIA's and AMD's. */
export const GPU_SLOTS = ['cuda.device', 'rocm.device'] as const
export type GpuSlot = (typeof GPU_SLOTS)[number]

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
  /** The kernel that has it; null if it is free. */
  kernelId: string | null
  /** Why it is out of service, as text for people; null if it is in service. */
  fault: string | null
  temperatureCelsius: number | null
  usedMemoryBytes: number | null
  /** Share of the last sample period in which it computed, from 0 to 1. */
  utilization: number | null
}

/** How many of a kernel's GPUs of this kind are requested. Fractions are refused before a session is created. */
export function gpusAskedFor(slots: Readonly<Record<string, string>>, slot: GpuSlot): number {
  const amount = Number(slots[slot] ?? 0)
  return Number.isFinite(amount) ? Math.max(0, Math.ceil(amount)) : 0
}
