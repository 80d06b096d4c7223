import {
  describeNeed,
  type Gpu,
  GPU_SLOTS,
  type GpuNeed,
  type GpuSlot,
  meetsNeed,
  type ObservedGpu,
  oneModel,
} from '../gpu.ts'
import { describeBytes } from '../amounts.ts'
import { formatQuantity, type Quantity, type ResourceRequest, unitOf } from './resource-request.ts'

/** One GPU, or one unit of any slot. */
const ONE: Quantity = 1_000_000_000n

/** A GPU in service, as placement sees it. */
export interface SupplyGpu extends Pick<Gpu, 'slot' | 'name' | 'memoryBytes'> {
  uuid: string
  /** What is free, from 0 to `most`. */
  free: Quantity
  /** What is free if nothing runs: one, and more where kernels wait in the queue of a cluster that assigns it. */
  most: Quantity
}

/** The GPUs of an agent that assigns them itself. Slots count them; this tells which of them are free. */
export interface GpuSupply {
  /** How many kernels may share a GPU; 1 if each has its own. */
  sharing: number
  gpus: readonly SupplyGpu[]
}

/**
 * The supply of an agent on which nothing runs, from its report.
 *
 * @param slot only GPUs of this slot; missing means all
 * @param cluster the slots of an agent of a cluster. It may list a part of its GPUs, and offer more slots than it has,
 *   which wait in its own queue: then each GPU in the list stands for several
 */
export function gpuSupply(
  gpus: readonly ObservedGpu[],
  sharing: number | null,
  slot?: string,
  cluster: ReadonlyMap<string, Quantity> | null = null,
): GpuSupply {
  const inService = gpus.filter((gpu) => gpu.fault === null && (slot === undefined || gpu.slot === slot))
  const counts = Map.groupBy(inService, (gpu) => gpu.slot)
  const mostOf = (of: GpuSlot): Quantity => {
    const listed = BigInt(counts.get(of)!.length) * ONE
    const offered = cluster?.get(of) ?? 0n
    return offered <= listed ? ONE : ((offered + listed - 1n) / listed) * ONE
  }
  return {
    sharing: sharing ?? 1,
    gpus: inService.map((gpu) => ({
      slot: gpu.slot,
      name: gpu.name,
      memoryBytes: gpu.memoryBytes,
      uuid: gpu.uuid,
      free: mostOf(gpu.slot),
      most: mostOf(gpu.slot),
    })),
  }
}

/** What kernels that are placed together ask for. */
interface GpuDemand {
  slot: GpuSlot
  perKernel: Quantity
  kernels: number
  need: GpuNeed | null
}

export function gpuDemands(request: ResourceRequest): GpuDemand[] {
  const { kernels } = unitOf(request)
  return GPU_SLOTS.flatMap((slot) => {
    const perKernel = request.slots.get(slot) ?? 0n
    return perKernel === 0n ? [] : [{ slot, perKernel, kernels, need: request.gpuNeed }]
  })
}

/**
 * Takes the GPUs of kernels that are placed together. The agent chooses the real ones by the same rules, and only among
 * equal ones by others.
 *
 * @returns what is left; null if there is too little
 */
export function takeGpus(supply: GpuSupply, demands: readonly GpuDemand[]): GpuSupply | null {
  let left: GpuSupply | null = supply
  for (const { kernels, ...demand } of demands) {
    for (let n = 0; n < kernels && left !== null; n++) left = takeForKernel(left, demand)
  }
  return left
}

function takeForKernel(supply: GpuSupply, { slot, perKernel, need }: Omit<GpuDemand, 'kernels'>): GpuSupply | null {
  const suitable = supply.gpus.filter((gpu) => gpu.slot === slot && meetsNeed(gpu, need))
  const isPart = perKernel < ONE
  if (isPart && !allowsPart(supply, perKernel)) return null
  const count = isPart ? 1 : Number((perKernel + ONE - 1n) / ONE)
  const amount = isPart ? perKernel : ONE
  const roomy = suitable.filter(({ free }) => free >= amount)
  if (roomy.length < count) return null
  const chosen = new Set((isPart ? fullestFirst(roomy) : oneModel(evenly(roomy), count)).slice(0, count))
  const gpus = supply.gpus.map((gpu) => (chosen.has(gpu) ? { ...gpu, free: gpu.free - amount } : gpu))
  return { ...supply, gpus }
}

/** Kernels that wait for a cluster's GPUs are spread over them, so that others with several still find enough of them. */
function evenly(gpus: readonly SupplyGpu[]): readonly SupplyGpu[] {
  return gpus.every(({ most }) => most === ONE) ? gpus : gpus.toSorted((a, b) => Number(b.free - a.free))
}

/** A GPU that others use already is preferred, so that whole ones stay free. */
function fullestFirst(gpus: readonly SupplyGpu[]): SupplyGpu[] {
  return gpus.toSorted((a, b) =>
    a.free < b.free ? -1 : a.free > b.free ? 1 : (a.memoryBytes ?? 0) - (b.memoryBytes ?? 0),
  )
}

function allowsPart({ sharing }: GpuSupply, part: Quantity): boolean {
  return part * BigInt(sharing) >= ONE
}

/** A kernel on an agent, and the GPUs that its agent has given to it; null if it has not reported them yet. */
export interface GpuHolder {
  gpus: readonly { uuid: string }[] | null
  amounts: ReadonlyMap<string, Quantity>
  need: GpuNeed | null
}

/**
 * Takes what kernels have, as far as the agent has said, and for the others what it will probably choose. A kernel with
 * GPUs that the agent does not list has others of them: a cluster may list a part of its GPUs.
 */
export function withoutHeld(supply: GpuSupply, holders: readonly GpuHolder[]): GpuSupply {
  const held = new Map<string, Quantity>()
  for (const { gpus, amounts } of holders) {
    const part = [...amounts.values()].find((amount) => amount > 0n && amount < ONE) ?? ONE
    for (const { uuid } of gpus ?? []) held.set(uuid, (held.get(uuid) ?? 0n) + part)
  }
  const known = {
    ...supply,
    gpus: supply.gpus.map((gpu) => ({ ...gpu, free: gpu.free - (held.get(gpu.uuid) ?? 0n) })),
  }
  const listed = new Set(supply.gpus.map(({ uuid }) => uuid))
  return holders.reduce<GpuSupply>((left, { gpus, amounts, need }) => {
    if (gpus?.some(({ uuid }) => listed.has(uuid)) === true) return left
    const demands = GPU_SLOTS.flatMap((slot) => {
      const perKernel = amounts.get(slot) ?? 0n
      return perKernel === 0n ? [] : [{ slot, perKernel, kernels: 1, need }]
    })
    return takeGpus(left, demands) ?? left
  }, known)
}

/** The supply when nothing runs on the agent. */
export function idle(supply: GpuSupply): GpuSupply {
  return { ...supply, gpus: supply.gpus.map((gpu) => ({ ...gpu, free: gpu.most })) }
}

/** Whether it matters which GPUs an agent has: their number is not enough. */
export function isParticular(request: ResourceRequest): boolean {
  return gpuDemands(request).some(({ perKernel, need }) => need !== null || perKernel % ONE !== 0n)
}

/**
 * Explains why none of these agents could take kernels that are placed together, even if nothing ran on them. Only for
 * particular requests. The agents are those that it may go to.
 */
export function explainGpus(request: ResourceRequest, supplies: readonly (GpuSupply | null)[], group: string): string {
  const [demand] = gpuDemands(request)
  const { perKernel, need, slot } = demand!
  const who = `no agent of resource group ${group}`
  const known = supplies.flatMap((supply) => (supply === null ? [] : [supply]))
  const gpus = known.flatMap((supply) => supply.gpus.filter((gpu) => gpu.slot === slot))
  if (gpus.length === 0) return `${who} has a GPU whose model and memory are known`
  const modelOnly = { model: need?.model ?? null, memoryBytes: null }
  const isModel = (gpu: SupplyGpu) => meetsNeed(gpu, modelOnly)
  if (!gpus.some(isModel)) return `${who} has a GPU of model ${need!.model}; there are ${modelsOf(gpus)}`
  const such = gpus.filter((gpu) => meetsNeed(gpu, need))
  const words = describeNeed(need)
  if (such.length === 0) {
    const sizes = gpus.filter(isModel).flatMap(({ memoryBytes }) => memoryBytes ?? [])
    if (sizes.length === 0) return `${who} has a GPU${describeNeed(modelOnly)} whose memory is known`
    const most = Math.max(...sizes)
    return `${who} has a GPU${words}; the largest has ${describeBytes(most)}`
  }
  if (perKernel < ONE && !known.some((supply) => allowsPart(supply, perKernel))) {
    const most = Math.max(...known.map(({ sharing }) => sharing))
    const asks = `it asks for ${formatQuantity(perKernel)} of a GPU`
    return most === 1
      ? `${asks}, and ${who} shares its GPUs (REPRISE_GPU_SHARING)`
      : `${asks}, and agents of resource group ${group} share a GPU among at most ${most} kernels (REPRISE_GPU_SHARING)`
  }
  const most = Math.max(...known.map((supply) => supply.gpus.filter((gpu) => such.includes(gpu)).length))
  return `${who} has the ${formatQuantity(totalOf(demand!))} GPUs${words} that it asks for; the most is ${most}`
}

/** What a request that is not met now waits for. */
export function describeGpus(request: ResourceRequest): string {
  const [demand] = gpuDemands(request)
  return `${demand!.slot} ${formatQuantity(totalOf(demand!))}${describeNeed(demand!.need)}`
}

const MODELS_NAMED_MAX = 5

function modelsOf(gpus: readonly SupplyGpu[]): string {
  const names = [...new Set(gpus.map(({ name }) => name))].toSorted()
  const more = names.length > MODELS_NAMED_MAX ? `, and ${names.length - MODELS_NAMED_MAX} more` : ''
  return `${names.slice(0, MODELS_NAMED_MAX).join(', ')}${more}`
}

function totalOf({ perKernel, kernels }: GpuDemand): Quantity {
  return perKernel * BigInt(kernels)
}
