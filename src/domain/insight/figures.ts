/** Properties by which figures are summed up. */
export const FIGURE_GROUPINGS = [
  'PROJECT',
  'NAME',
  'USER',
  'RESOURCE_GROUP',
  'IMAGE',
  'AGENT',
  'SESSION_GROUP',
  'LABEL',
  'CAUSE',
  'EXIT_CODE',
  'RULE',
  'FAILURE_GROUP',
] as const
export type FigureGrouping = (typeof FIGURE_GROUPINGS)[number]

/** Properties that only failed attempts have. */
const FAILURE_GROUPINGS: readonly FigureGrouping[] = ['CAUSE', 'EXIT_CODE', 'RULE', 'FAILURE_GROUP']

export function isOfFailures(grouping: FigureGrouping): boolean {
  return FAILURE_GROUPINGS.includes(grouping)
}

const DAY_MS = 86_400_000

export interface TimeSpan {
  from: Date
  to: Date
}

/** The days (UTC) within a window, for which there are sums, and its parts before and after them. */
export interface FigureSpans {
  /** Null if there is no whole day. */
  days: TimeSpan | null
  /** At most two; empty if the window begins and ends with a day. */
  edges: readonly TimeSpan[]
}

export function figureSpans({ from, to }: TimeSpan): FigureSpans {
  const [first, last] = [up(from), down(to)]
  if (first >= last) return { days: null, edges: [{ from, to }] }
  const edges = [
    { from, to: first },
    { from: last, to },
  ]
  return { days: { from: first, to: last }, edges: edges.filter((edge) => edge.from < edge.to) }
}

/** The whole days (UTC) in which a window is. */
export function wholeDays({ from, to }: TimeSpan): TimeSpan {
  return { from: down(from), to: up(to) }
}

function down(time: Date): Date {
  return new Date(Math.floor(time.getTime() / DAY_MS) * DAY_MS)
}

function up(time: Date): Date {
  return new Date(Math.ceil(time.getTime() / DAY_MS) * DAY_MS)
}

/** How the n-th automatic retries of a group ended, of those that have ended. */
export interface RetryCount {
  /** From 1. */
  retry: number
  succeeded: number
  failed: number
  /** Ended by a person before they had a result. */
  stopped: number
}

export interface RetrySuccess extends RetryCount {
  /** The share of the n-th retries that succeeded; null if all were stopped. */
  share: number | null
  /** The share of failures that one of the first n retries mends, by the Kaplan–Meier estimate. */
  cumulative: number
}

/**
 * Estimates how many failures are mended by one, two and more retries. Only retries that ran count: a chain that its
 * policy or a person ended before its n-th retry says nothing about that one, rather than that it would have failed. The
 * same holds for a retry that a person stopped.
 */
export function successByRetry(counts: readonly RetryCount[]): RetrySuccess[] {
  let unmended = 1
  return counts
    .toSorted((a, b) => a.retry - b.retry)
    .map((count) => {
      const known = count.succeeded + count.failed
      const share = known === 0 ? null : count.succeeded / known
      unmended *= 1 - (share ?? 0)
      return { ...count, share, cumulative: 1 - unmended }
    })
}

/** The number of chains whose time to success is in one bucket: [2^(bucket/4), 2^((bucket+1)/4)) seconds, from 1 s on. */
export interface TimeCount {
  bucket: number
  chains: number
}

/** The median of times that are known by bucket: at most 9 % too long or too short. Null without any. */
export function medianSeconds(counts: readonly TimeCount[]): number | null {
  const total = counts.reduce((sum, { chains }) => sum + chains, 0)
  let before = 0
  for (const { bucket, chains } of counts.toSorted((a, b) => a.bucket - b.bucket)) {
    before += chains
    if (before * 2 >= total && chains > 0) return 2 ** ((bucket + 0.5) / 4)
  }
  return null
}

/** The share of all running and waiting time in which attempts ran that succeeded; null if there was none. */
export function effectiveShare(time: {
  usefulSeconds: number
  runningSeconds: number
  waitingSeconds: number
}): number | null {
  const all = time.runningSeconds + time.waitingSeconds
  return all === 0 ? null : time.usefulSeconds / all
}
