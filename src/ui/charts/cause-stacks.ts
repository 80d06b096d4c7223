import { TIMED_OUT } from '../design/causes.ts'
import { roundUp } from '../words/numbers.ts'
import type { Moments } from '../words/time.ts'

/** The number of failed attempts by cause, in a span of time. */
export interface CauseBucket {
  from: string
  /** The end of the span, exclusive. */
  to: string
  byCause: readonly { cause: string; failed: number }[]
}

/** Divides the failures of a span by kind: timeouts are a kind of their own. */
export function byKind<Bucket extends { byCause: readonly { cause: string; failed: number; timedOut: number }[] }>(
  bucket: Bucket,
): Omit<Bucket, 'byCause'> & Pick<CauseBucket, 'byCause'> {
  const kinds = bucket.byCause.flatMap(({ cause, failed, timedOut }) => [
    { cause, failed: failed - timedOut },
    { cause: TIMED_OUT, failed: timedOut },
  ])
  return { ...bucket, byCause: kinds.filter(({ failed }) => failed > 0) }
}

export interface Stack {
  bucket: CauseBucket
  total: number
  /** The parts from bottom to top, in the same order in each bar; `from` and `to` are on the scale of the drawing. */
  parts: { cause: string; failed: number; from: number; to: number }[]
}

/** The number of failures of each cause over all spans, the most frequent first. */
export function causesOf(buckets: readonly CauseBucket[]): { cause: string; failed: number }[] {
  const sums = new Map<string, number>()
  for (const { byCause } of buckets) {
    for (const { cause, failed } of byCause) sums.set(cause, (sums.get(cause) ?? 0) + failed)
  }
  return [...sums]
    .map(([cause, failed]) => ({ cause, failed }))
    .filter(({ failed }) => failed > 0)
    .toSorted((a, b) => b.failed - a.failed || (a.cause < b.cause ? -1 : 1))
}

/**
 * Stacks the causes of each bar, the most frequent one of all at the bottom. `isShare`: every bar reaches from 0 to
 * 1.
 */
export function stacksOf(buckets: readonly CauseBucket[], isShare: boolean): { stacks: Stack[]; highest: number } {
  const order = causesOf(buckets).map(({ cause }) => cause)
  const stacks = buckets.map((bucket): Stack => {
    const own = new Map(bucket.byCause.map(({ cause, failed }) => [cause, failed]))
    const total = bucket.byCause.reduce((sum, { failed }) => sum + failed, 0)
    const scale = isShare && total > 0 ? 1 / total : 1
    let height = 0
    const parts = order.flatMap((cause) => {
      const failed = own.get(cause) ?? 0
      if (failed === 0) return []
      const from = height
      height += failed
      return [{ cause, failed, from: from * scale, to: height * scale }]
    })
    return { bucket, total, parts }
  })
  return { stacks, highest: Math.max(0, ...stacks.map(({ total }) => total)) }
}

/** Round whole numbers from 0 to at least `highest`, at least 1; about `most` of them above 0. */
export function ticksOf(highest: number, most: number): number[] {
  const step = Math.max(1, roundUp(Math.max(1, highest) / most))
  const ticks = [0]
  while (ticks.at(-1)! < highest || ticks.length < 2) ticks.push(ticks.length * step)
  return ticks
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const ROUND_MS = [2, 4, 10, 20, 30, 60, 120, 180, 240, 360, 720, 1_440, 2_880, 5_760, 10_080].map(
  (each) => each * MINUTE_MS,
)
/** The width of a label below the bars. */
const LABEL_PX = 62

/** `14:00 to 15:00` of a day; a whole day as `23 Nov`, other spans as `23 Nov 06:00 to 12:00`. */
export function spanWords({ from, to }: Pick<CauseBucket, 'from' | 'to'>, moments: Moments): string {
  const [begins, ends] = [Date.parse(from), Date.parse(to)]
  if (moments.minute(begins) === '00:00' && ends - begins > DAY_MS / 2) return moments.day(begins)
  return `${moments.day(begins)}, ${moments.minute(begins)} to ${moments.minute(ends)}`
}

/** The labels below the bars, at round times: hours within two days, days beyond that. */
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
    // The last label would be cut off.
    const hasRoom = (begins.length - index) * slot > LABEL_PX * 0.6
    return (at + aheadMs) % everyMs === 0 && hasRoom
      ? [{ index, words: isLong ? moments.day(at) : moments.minute(at) }]
      : []
  })
}
