import { oneModel } from '../../domain/gpu.ts'
import type { DetectedGpu, LinkRank } from './gpu-driver.ts'

/** A kernel that has a GPU, or a part of it. */
export interface GpuHolding {
  kernelId: string
  /** From above 0 to 1. */
  part: number
}

/** The kernels that have GPUs, by the GPUs' UUIDs. */
export type HeldGpus = ReadonlyMap<string, readonly GpuHolding[]>

/**
 * Chooses `count` of the free GPUs: of one model if possible, with the fastest connections between each other, and of
 * equally fast sets the one with the lowest indexes.
 *
 * @returns null if there are too few
 */
export function assignGpus(
  free: readonly DetectedGpu[],
  count: number,
  rank: LinkRank = () => 0,
): DetectedGpu[] | null {
  if (free.length < count) return null
  const sorted = oneModel(free, count).toSorted((a, b) => a.index - b.index || (a.uuid < b.uuid ? -1 : 1))
  let best: { chosen: DetectedGpu[]; score: number } | null = null
  for (const first of sorted) {
    const grown = grow(first, sorted, count, rank)
    if (best === null || grown.score > best.score) best = grown
  }
  return best?.chosen.toSorted((a, b) => a.index - b.index) ?? []
}

/** Adds the GPU with the fastest connections to those chosen, until there are enough. */
function grow(first: DetectedGpu, all: readonly DetectedGpu[], count: number, rank: LinkRank) {
  const chosen = count === 0 ? [] : [first]
  let score = 0
  while (chosen.length < count) {
    const rest = all.filter((gpu) => !chosen.includes(gpu))
    const scores = rest.map((gpu) => chosen.reduce((sum, { index }) => sum + rank(index, gpu.index), 0))
    const at = scores.indexOf(Math.max(...scores))
    chosen.push(rest[at]!)
    score += scores[at]!
  }
  return { chosen, score }
}

/** Parts that add up to one GPU may exceed it by this much, because decimals are not exact. */
const ROUNDING = 1e-6

/**
 * Chooses the GPU of which a kernel gets a part: the one with the least left, so that whole ones stay free.
 *
 * @returns null if none has as much left, or the part is smaller than sharing allows
 */
export function assignPart(
  gpus: readonly DetectedGpu[],
  part: number,
  { held, sharing }: { held: HeldGpus; sharing: number },
): DetectedGpu[] | null {
  if (part * sharing < 1 - ROUNDING) return null
  const roomy = gpus
    .map((gpu) => ({ gpu, used: (held.get(gpu.uuid) ?? []).reduce((sum, holding) => sum + holding.part, 0) }))
    .filter(({ used }) => used + part <= 1 + ROUNDING)
    .toSorted(
      (a, b) => b.used - a.used || (a.gpu.memoryBytes ?? 0) - (b.gpu.memoryBytes ?? 0) || a.gpu.index - b.gpu.index,
    )
  return roomy.length === 0 ? null : [roomy[0]!.gpu]
}
