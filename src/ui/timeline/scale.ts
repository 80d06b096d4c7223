import type { Bar, Timeline } from './bars.ts'

/** A span of time that is drawn as one piece. Stretches follow each other without gaps or overlaps. */
export interface Stretch {
  from: number
  to: number
  /** Whether nothing ran in this span, so that it may be drawn shorter. */
  isWait: boolean
}

interface Piece extends Stretch {
  x: number
  width: number
  /** The piece is narrower than it would be to scale. */
  isCut: boolean
}

export interface Scale {
  width: number
  pieces: readonly Piece[]
  /** Converts a time to pixels. Monotonic, and strictly so where a piece has length. */
  x(at: number): number
  /** Converts pixels to a time. */
  at(x: number): number
}

/** Waits longer than this many median runs are cut. */
const CUT_ABOVE_MEDIANS = 4
const CUT_PX = 28
/** All cuts together take at most this share of the width. */
const CUTS_SHARE_MAX = 0.5

/**
 * Creates a scale. `elastic`: runs are to scale, and much longer waits are cut; otherwise everything is to scale. The
 * widths of the pieces always add up to `width`.
 */
export function createScale(stretches: readonly Stretch[], width: number, elastic: boolean, cutPx = CUT_PX): Scale {
  const pieces = placed(stretches, width, elastic, cutPx)
  return {
    width,
    pieces,
    x(at) {
      const piece = pieces[lastWhere(pieces, (each) => each.from <= at)] ?? pieces[0]
      if (piece === undefined) return 0
      if (at >= piece.to) return piece.x + piece.width
      return piece.x + piece.width * share(at, piece.from, piece.to)
    },
    at(x) {
      const piece = pieces[lastWhere(pieces, (each) => each.x <= x)] ?? pieces[0]
      if (piece === undefined) return 0
      return piece.from + (piece.to - piece.from) * share(x, piece.x, piece.x + piece.width)
    },
  }
}

/**
 * The stretches of a timeline, with the wait for the planned retry, and that retry with the length of a median run.
 */
export function stretchesOf({ items, ghost, to }: Timeline): Stretch[] {
  const stretches = items.flatMap((item) => (item.type === 'gap' ? [waitOf(item)] : stretchesOfBar(item)))
  if (ghost === null) return stretches
  const wait = stretches.at(-1)
  // The past and future parts of a wait are one stretch, so that it is cut at one place.
  if (wait?.isWait && ghost.at > to) wait.to = ghost.at
  else if (ghost.at > to) stretches.push({ from: to, to: ghost.at, isWait: true })
  const length = medianRun(stretches) || Math.max(1000, (ghost.at - (stretches[0]?.from ?? to)) / 10)
  stretches.push({ from: ghost.at, to: ghost.at + length, isWait: false })
  return stretches
}

function waitOf({ from, to }: { from: number; to: number }): Stretch {
  return { from, to, isWait: true }
}

/** The stretches of a bar: waits for an agent, and what is between them. */
function stretchesOfBar({ parts }: Bar): Stretch[] {
  const stretches: Stretch[] = []
  for (const { kind, from, to } of parts) {
    const last = stretches.at(-1)
    if (kind === 'QUEUED') stretches.push({ from, to, isWait: true })
    else if (last?.isWait === false) last.to = to
    else stretches.push({ from, to, isWait: false })
  }
  return stretches
}

function placed(stretches: readonly Stretch[], width: number, elastic: boolean, cutPx: number): Piece[] {
  const cutAbove = elastic ? CUT_ABOVE_MEDIANS * medianRun(stretches) : 0
  const isCut = ({ isWait, from, to }: Stretch) => cutAbove > 0 && isWait && to - from > cutAbove
  const cuts = stretches.filter(isCut).length
  const cutWidth = Math.min(cutPx, (width * CUTS_SHARE_MAX) / cuts)
  const whole = stretches.reduce((sum, each) => sum + (isCut(each) ? 0 : each.to - each.from), 0)
  const scaled = width - (cuts === 0 ? 0 : cuts * cutWidth)
  if (whole === 0) return equal(stretches, width)
  // Sums are converted to pixels once, so that rounding errors do not add up over thousands of pieces.
  let length = 0
  let passed = 0
  const x = () => (scaled * length) / whole + (passed === 0 ? 0 : passed * cutWidth)
  return stretches.map((each) => {
    const begin = x()
    const cut = isCut(each)
    if (cut) passed++
    else length += each.to - each.from
    return { ...each, isCut: cut, x: begin, width: x() - begin }
  })
}

/** Equal pieces, for a timeline in which nothing has taken time yet. */
function equal(stretches: readonly Stretch[], width: number): Piece[] {
  const each = width / stretches.length
  return stretches.map((stretch, index) => ({ ...stretch, isCut: false, x: index * each, width: each }))
}

/** The median length of the stretches that ran; 0 if there is none. */
function medianRun(stretches: readonly Stretch[]): number {
  const lengths = stretches.flatMap(({ isWait, from, to }) => (isWait || to === from ? [] : [to - from]))
  return lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length / 2)] ?? 0
}

/** The position of `at` between `from` and `to`, 0 to 1, also if these are equal. */
function share(at: number, from: number, to: number): number {
  return to === from ? 0 : Math.min(1, Math.max(0, (at - from) / (to - from)))
}

/** The index of the last element with a property that only the first elements have; -1 if there is none. */
function lastWhere<T>(all: readonly T[], is: (each: T) => boolean): number {
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (is(all[middle]!)) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The visible part of a chain's time; null for all of it. */
export type Range = { from: number; to: number } | null

export interface Seen {
  scale: Scale
  /** The pixels of the scale left of the view. */
  offset: number
  width: number
}

/** The largest zoom, relative to the whole chain. */
const ZOOM_MAX = 50_000

/** The scale on which `range` fills `width` pixels. */
export function seenOf(stretches: readonly Stretch[], width: number, elastic: boolean, range: Range): Seen {
  const scaleAt = (zoom: number) => createScale(stretches, width * zoom, elastic)
  const all = scaleAt(1)
  if (range === null || stretches.length === 0 || range.to <= range.from) return { scale: all, offset: 0, width }
  const pixelsAt = (scale: Scale) => scale.x(range.to) - scale.x(range.from)
  // Cuts do not grow with the zoom, so the width is found by bisection.
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

/** Zooms by `factor` around the time at `x` pixels of the view. */
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

/** Moves the view by pixels; positive ones show later times. */
export function panned({ scale, offset, width }: Seen, pixels: number): Range {
  if (scale.width <= width) return null
  return rangeOf({ scale, offset: within(offset + pixels, scale.width - width), width })
}

/** Moves the view as little as necessary to show a span of time. */
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
