import type { Bar } from './bars.ts'

/** What is drawn for one attempt, or for several that are too narrow to be told apart. */
export interface DrawnBar {
  x: number
  width: number
  /** Consecutive attempts; more than one are a bundle. */
  bars: readonly Bar[]
}

/** Narrower ones are merged with narrow neighbours that are as near. */
export const NARROW_PX = 3
/** A bundle as wide as so many narrow bars takes no more in. */
const BUNDLE_BARS = 8
/** What is narrower is drawn as wide as this, as far as there is room. */
const DRAWN_PX_MIN = 2

/**
 * In the order of the bars, without overlap. `spanOf`: where a bar begins and ends in pixels; never before the one
 * before it.
 */
export function bundled(
  bars: readonly Bar[],
  spanOf: (bar: Bar) => { x: number; width: number },
  narrowPx = NARROW_PX,
): DrawnBar[] {
  const drawn: { x: number; end: number; bars: Bar[]; isNarrow: boolean }[] = []
  for (const bar of bars) {
    const { x, width } = spanOf(bar)
    const isNarrow = width < narrowPx
    const last = drawn.at(-1)
    const joins = isNarrow && last?.isNarrow && x - last.end < narrowPx && x + width - last.x <= narrowPx * BUNDLE_BARS
    if (joins) {
      last.bars.push(bar)
      last.end = x + width
    } else drawn.push({ x, end: x + width, bars: [bar], isNarrow })
  }
  return drawn.map(({ x, end, bars: own }, index) => {
    const next = drawn[index + 1]?.x ?? Infinity
    return { x, width: Math.min(Math.max(end - x, DRAWN_PX_MIN), Math.max(end, next) - x), bars: own }
  })
}

/** The bar in whose colour a bundle is drawn: the newest of those with its most frequent end. */
export function representative(bars: readonly Bar[]): Bar {
  const keyOf = ({ outcome, cause }: Bar) => `${outcome} ${cause ?? ''}`
  const counts = Map.groupBy(bars, keyOf)
  const most = Math.max(...[...counts.values()].map(({ length }) => length))
  return bars.findLast((bar) => counts.get(keyOf(bar))!.length === most)!
}
