/** The spans of time of figures, each with the length of one bar. */
export const RANGES = {
  '1h': { seconds: 3_600, bucketSeconds: 120 },
  '24h': { seconds: 86_400, bucketSeconds: 3_600 },
  '7d': { seconds: 604_800, bucketSeconds: 21_600 },
  '31d': { seconds: 2_678_400, bucketSeconds: 86_400 },
} as const
export type RangeWord = keyof typeof RANGES

export const RANGE_NAMES = {
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
  '31d': 'last 31 days',
} satisfies Record<RangeWord, string>

const MINUTE_MS = 60_000

/**
 * The start of a span, at the beginning of a bar in local time: 24 hours end with the present hour. `offsetMinutes`:
 * the zone's offset from UTC.
 */
export function spanOf(range: RangeWord, now: number, offsetMinutes: number): { from: string; bucketSeconds: number } {
  const { seconds, bucketSeconds } = RANGES[range]
  const bucketMs = bucketSeconds * 1000
  const aheadMs = offsetMinutes * MINUTE_MS
  const begun = Math.floor((now + aheadMs) / bucketMs) * bucketMs - aheadMs
  return { from: new Date(begun - (seconds / bucketSeconds - 1) * bucketMs).toISOString(), bucketSeconds }
}

/** The start of a range in whole minutes, like `since` in the list of chains, so that counts and lists agree. */
export function sinceOf(range: RangeWord, now: number): string {
  return new Date(Math.floor(now / MINUTE_MS) * MINUTE_MS - RANGES[range].seconds * 1000).toISOString()
}
