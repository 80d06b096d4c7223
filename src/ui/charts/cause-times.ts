import type { Moments } from '../words/moment.ts'
import type { CauseBucket } from './cause-stacks.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const ROUND_MS = [2, 4, 10, 20, 30, 60, 120, 180, 240, 360, 720, 1_440, 2_880, 5_760, 10_080].map(
  (each) => each * MINUTE_MS,
)
/** Of what is written below the bars. */
const LABEL_PX = 62

/** `14:00 to 15:00`, with the day where that is not the whole of it: `23 Nov`, `23 Nov 06:00 to 12:00`. */
export function spanWords({ from, to }: Pick<CauseBucket, 'from' | 'to'>, moments: Moments): string {
  const [begins, ends] = [Date.parse(from), Date.parse(to)]
  if (moments.minute(begins) === '00:00' && ends - begins > DAY_MS / 2) return moments.day(begins)
  return `${moments.day(begins)}, ${moments.minute(begins)} to ${moments.minute(ends)}`
}

/** What is written below which bars, where a round time begins: hours within two days, beyond that days. */
export function labelsOf(
  buckets: readonly CauseBucket[],
  slot: number,
  moments: Moments,
): { index: number; words: string }[] {
  const begins = buckets.map(({ from }) => Date.parse(from))
  const [first, second] = begins
  if (first === undefined || second === undefined || slot <= 0) return []
  const bucketMs = second - first
  const isLong = begins.length * bucketMs > 2 * DAY_MS
  const leastMs = Math.max((LABEL_PX / slot) * bucketMs, isLong ? DAY_MS : 0)
  const everyMs = ROUND_MS.find((ms) => ms >= leastMs && ms % bucketMs === 0) ?? 7 * DAY_MS
  const aheadMs = moments.offsetMinutes(first) * MINUTE_MS
  return begins.flatMap((at, index) => {
    // The last one would be cut off.
    const hasRoom = (begins.length - index) * slot > LABEL_PX * 0.6
    return (at + aheadMs) % everyMs === 0 && hasRoom
      ? [{ index, words: isLong ? moments.day(at) : moments.minute(at) }]
      : []
  })
}
