import { SIMILAR_GROUPS_MAX, SIMILARITY_PERCENT_MIN } from '../limits.ts'

/** The states of a group of failures. RESOLVED becomes OPEN again by a failure after that: it has regressed. */
export const FAILURE_GROUP_STATES = ['OPEN', 'KNOWN', 'MUTED', 'RESOLVED'] as const
export type FailureGroupState = (typeof FAILURE_GROUP_STATES)[number]

const SIMILARITY_MIN = SIMILARITY_PERCENT_MIN / 100

/** A group of failures by the masked lines that it is recognised by. */
interface MaskedGroup {
  id: string
  masked: readonly string[]
}

export interface SimilarGroup {
  id: string
  /** See `similarityOf`. */
  similarity: number
}

/**
 * Finds the groups whose masked lines are the most similar to those of this one, at most SIMILAR_GROUPS_MAX, the most
 * similar first. Groups without lines are similar to none.
 */
export function findSimilar(group: MaskedGroup, others: readonly MaskedGroup[]): SimilarGroup[] {
  const own = wordsOf(group.masked)
  return others
    .filter(({ id }) => id !== group.id)
    .map(({ id, masked }) => ({ id, similarity: shareOf(own, wordsOf(masked)) }))
    .filter(({ similarity }) => similarity >= SIMILARITY_MIN)
    .toSorted((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
    .slice(0, SIMILAR_GROUPS_MAX)
}

/**
 * The share of words that two groups of lines have in common, 0 to 1, whatever their order: twice the number of common
 * words, divided by the number of all words. 0 without any.
 */
export function similarityOf(one: readonly string[], other: readonly string[]): number {
  return shareOf(wordsOf(one), wordsOf(other))
}

function shareOf(ours: readonly string[], theirs: readonly string[]): number {
  const all = ours.length + theirs.length
  if (all === 0 || (2 * Math.min(ours.length, theirs.length)) / all < SIMILARITY_MIN) return 0
  const left = new Map<string, number>()
  for (const word of ours) left.set(word, (left.get(word) ?? 0) + 1)
  let common = 0
  for (const word of theirs) {
    const rest = left.get(word) ?? 0
    if (rest === 0) continue
    left.set(word, rest - 1)
    common += 1
  }
  return (2 * common) / all
}

function wordsOf(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(/[^\w<>]+/)).filter((word) => word !== '')
}
