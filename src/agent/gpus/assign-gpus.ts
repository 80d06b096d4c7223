import type { DetectedGpu, LinkRank } from './gpu-driver.ts'

/**
 * Chooses `count` of the free GPUs: those with the fastest connections between each other, and of equally fast sets the
 * one with the lowest indexes.
 *
 * @returns null if there are too few
 */
export function assignGpus(
  free: readonly DetectedGpu[],
  count: number,
  rank: LinkRank = () => 0,
): DetectedGpu[] | null {
  if (free.length < count) return null
  const sorted = free.toSorted((a, b) => a.index - b.index || (a.uuid < b.uuid ? -1 : 1))
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
