import { USUAL_SUCCESSES_MIN } from '../limits.ts'

/** How long successful attempts of one name took, in seconds. */
export interface UsualDuration {
  median: number
  p95: number
}

/** Computes how long attempts usually take. Null below USUAL_SUCCESSES_MIN successes, which would say little. */
export function usualDuration(seconds: readonly number[]): UsualDuration | null {
  if (seconds.length < USUAL_SUCCESSES_MIN) return null
  return { median: quantile(seconds, 0.5), p95: quantile(seconds, 0.95) }
}

/**
 * Estimates how much longer an attempt runs that has run for `elapsed` seconds: the median of those successes that took
 * longer, less what it has run. Null below USUAL_SUCCESSES_MIN successes, and if all of them were shorter.
 */
export function expectedRest(seconds: readonly number[], elapsed: number): number | null {
  if (seconds.length < USUAL_SUCCESSES_MIN) return null
  const longer = seconds.filter((each) => each > elapsed)
  return longer.length === 0 ? null : quantile(longer, 0.5) - elapsed
}

/** The value below which this share of the values lies, with linear interpolation between two of them. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)]!
  return below + (sorted[Math.ceil(at)]! - below) * (at % 1)
}
