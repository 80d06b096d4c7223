import { createScale, type Scale, type Stretch } from './elastic-scale.ts'

/** The part of a chain's time that is seen; null for all of it. */
export type Range = { from: number; to: number } | null

export interface Seen {
  scale: Scale
  /** Pixels of the scale left of what is seen. */
  offset: number
  width: number
}

/** How much larger than the whole chain it can be drawn. */
const ZOOM_MAX = 50_000

/** The scale on which exactly `range` is seen in `width` pixels. */
export function seenOf(stretches: readonly Stretch[], width: number, elastic: boolean, range: Range): Seen {
  const scaleAt = (zoom: number) => createScale(stretches, width * zoom, elastic)
  const all = scaleAt(1)
  if (range === null || stretches.length === 0 || range.to <= range.from) return { scale: all, offset: 0, width }
  const pixelsAt = (scale: Scale) => scale.x(range.to) - scale.x(range.from)
  // What is cut does not grow with the zoom, so how much it takes is found by trying.
  let [low, high] = [1, 2]
  while (high < ZOOM_MAX && pixelsAt(scaleAt(high)) < width) [low, high] = [high, high * 2]
  for (let step = 0; step < 40 && high - low > low * 1e-9; step++) {
    const middle = (low + high) / 2
    if (pixelsAt(scaleAt(middle)) < width) low = middle
    else high = middle
  }
  const scale = scaleAt(high)
  return { scale, offset: within(scale.x(range.from), scale.width - width), width }
}

/** Larger by `factor`, or smaller, around the moment at `x` pixels of the view. */
export function zoomed(
  stretches: readonly Stretch[],
  elastic: boolean,
  { scale, offset, width }: Seen,
  factor: number,
  x: number,
): Range {
  const zoom = (scale.width / width) * factor
  if (zoom <= 1) return null
  if (zoom > ZOOM_MAX) return rangeOf({ scale, offset, width })
  const next = createScale(stretches, width * zoom, elastic)
  return rangeOf({ scale: next, offset: within(next.x(scale.at(offset + x)) - x, next.width - width), width })
}

/** Moved by so many pixels: later moments come into view if they are positive. */
export function panned({ scale, offset, width }: Seen, pixels: number): Range {
  if (scale.width <= width) return null
  return rangeOf({ scale, offset: within(offset + pixels, scale.width - width), width })
}

/** Moved as little as brings a span of time into view. */
export function panTo(seen: Seen, span: { from: number; to: number }): Range {
  const [from, to] = [seen.scale.x(span.from) - seen.offset, seen.scale.x(span.to) - seen.offset]
  if (from < 0) return panned(seen, from - MARGIN_PX)
  if (to > seen.width) return panned(seen, Math.min(from - MARGIN_PX, to - seen.width + MARGIN_PX))
  return rangeOf(seen)
}

const MARGIN_PX = 24

function rangeOf({ scale, offset, width }: Seen): Range {
  return scale.width <= width ? null : { from: scale.at(offset), to: scale.at(offset + width) }
}

function within(offset: number, max: number): number {
  return Math.min(Math.max(0, offset), Math.max(0, max))
}
