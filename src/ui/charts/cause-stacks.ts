import { roundUp } from './round-up.ts'

/** Of a span of time, how often attempts failed for which cause. */
export interface CauseBucket {
  from: string
  /** Exclusive. */
  to: string
  byCause: readonly { cause: string; failed: number }[]
}

export interface Stack {
  bucket: CauseBucket
  total: number
  /** From the ground up, in the same order in each bar; `from` and `to` on the scale of the drawing. */
  parts: { cause: string; failed: number; from: number; to: number }[]
}

/** What failed of each cause over all of the spans, the most frequent first. */
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

/** The most frequent cause of all lies on the ground of each bar. `isShare`: every bar reaches from 0 to 1. */
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
