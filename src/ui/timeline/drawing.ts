import { type Bar, barsOf, type Gap, type Item, type Timeline } from './bars.ts'
import type { Scale } from './scale.ts'

/** The visible part of a scale. */
export interface View {
  /** The pixels of the scale left of the view. */
  offset: number
  width: number
}

export interface DrawnGap {
  x: number
  width: number
  gap: Gap
  isCut: boolean
}

export interface Label {
  /** The middle of the label. */
  x: number
  text: string
  item: Item
}

/** The drawn parts of a timeline, in pixels from the left of its view. */
export interface Drawing {
  bars: readonly DrawnBar[]
  gaps: readonly DrawnGap[]
  /** The labels under bars and gaps. */
  labels: readonly Label[]
  /** The numbers of attempts, and for a bundle how many it has. */
  numbers: readonly { x: number; text: string; bar: DrawnBar }[]
  /** The bars with room for their mark. */
  marked: readonly DrawnBar[]
  /** The planned retry, as wide as the median run but never too narrow to be seen; null if there is none in view. */
  ghost: { x: number; width: number } | null
}

/** The most elements of a drawing, with its axis and everything else. */
export const ELEMENTS_MAX = 300
/**
 * Reserved for elements that are not counted here: axis, epochs, the planned retry, shared shapes, their groups and
 * patterns.
 */
export const ELEMENTS_BESIDE = 120

const CHARACTER_PX = 6.4
export const NUMBER_CHARACTER_PX = 7
const TEXTS_APART_PX = 8
const MARK_ROOM_PX = 22
const GHOST_PX_MIN = 14

/**
 * Lays out the visible part. `textsOf`: the possible texts under an item, the longest first. Narrow bars are bundled
 * until the drawing has few enough elements.
 */
export function drawingOf(
  timeline: Timeline,
  scale: Scale,
  view: View,
  textsOf: (item: Item) => readonly string[],
): Drawing {
  for (let narrowPx = NARROW_PX; ; narrowPx *= 1.5) {
    const drawing = drawnWith(narrowPx, timeline, scale, view, textsOf)
    if (elementsOf(drawing) <= ELEMENTS_MAX - ELEMENTS_BESIDE || drawing.bars.length <= 1) return drawing
  }
}

/** Counts the elements: one for each bar, number, mark and label; gaps of one kind share one. */
export function elementsOf({ bars, labels, numbers, marked }: Drawing): number {
  return bars.length + labels.length + numbers.length + marked.length
}

function drawnWith(
  narrowPx: number,
  timeline: Timeline,
  scale: Scale,
  { offset, width }: View,
  textsOf: (item: Item) => readonly string[],
): Drawing {
  const spanOf = ({ from, to }: { from: number; to: number }) => {
    const x = scale.x(from)
    return { x: x - offset, width: scale.x(to) - x }
  }
  const isSeen = (span: { x: number; width: number }) => span.x + span.width >= 0 && span.x <= width
  const seen = barsOf(timeline).filter((bar) => isSeen(spanOf(bar)))
  const bars = bundled(seen, spanOf, narrowPx)
  const within = new Set(bars.flatMap(({ bars: own }) => own.slice(0, -1).map(({ attempt }) => attempt)))
  const cuts = new Set(scale.pieces.filter(({ isCut }) => isCut).map(({ from }) => from))
  const gaps = timeline.items
    .filter((item): item is Gap => item.type === 'gap' && !within.has(item.attempt))
    .map((gap) => ({ ...spanOf(gap), gap, isCut: cuts.has(gap.from) }))
    .filter((gap) => isSeen(gap) && gap.width > 0)
  const { ghost } = timeline
  const ghostX = ghost === null ? 0 : scale.x(ghost.at) - offset
  const ghostWidth = Math.max(GHOST_PX_MIN, scale.width - offset - ghostX)
  return {
    bars,
    gaps,
    ghost: ghost === null || ghostX > width ? null : { x: Math.min(ghostX, width - GHOST_PX_MIN), width: ghostWidth },
    labels: labelsOf(bars, gaps, width, textsOf),
    numbers: numbersOf(bars, width),
    marked: bars.filter((bar) => bar.bars.length === 1 && bar.width >= MARK_ROOM_PX),
  }
}

/** Places the labels of bars, as long as the room before the next bar allows, then those of gaps. */
function labelsOf(
  bars: readonly DrawnBar[],
  gaps: readonly DrawnGap[],
  width: number,
  textsOf: (item: Item) => readonly string[],
): Label[] {
  const labels: (Label & { from: number; to: number })[] = []
  const tryOne = (item: Item, x: number, middle: number, room: number) => {
    for (const text of textsOf(item)) {
      const length = text.length * CHARACTER_PX
      if (length > room) continue
      const centre = Math.min(Math.max(middle, x + length / 2, length / 2), width - length / 2)
      const [from, to] = [centre - length / 2, centre + length / 2]
      if (from < -1 || to > width + 1) continue
      if (labels.some((each) => from < each.to + TEXTS_APART_PX && each.from < to + TEXTS_APART_PX)) continue
      labels.push({ x: centre, text, item, from, to })
      return
    }
  }
  for (const { x, width: own, bars: within } of bars) {
    if (within.length > 1) continue
    const seenFrom = Math.max(0, x)
    const seen = Math.min(width, x + own) - seenFrom
    tryOne(within[0]!, seenFrom, seenFrom + seen / 2, seen)
  }
  for (const { x, width: own, gap } of gaps) {
    const seenFrom = Math.max(0, x)
    const seen = Math.min(width, x + own) - seenFrom
    tryOne(gap, seenFrom - TEXTS_APART_PX, seenFrom + seen / 2, seen + TEXTS_APART_PX)
  }
  return labels.toSorted((a, b) => a.x - b.x).map(({ x, text, item }) => ({ x, text, item }))
}

/** The numbers above the beginning of bars, without those that would touch. */
function numbersOf(bars: readonly DrawnBar[], width: number): Drawing['numbers'] {
  const numbers: { x: number; text: string; bar: DrawnBar }[] = []
  let free = -Infinity
  for (const bar of bars) {
    const text = bar.bars.length === 1 ? String(bar.bars[0]!.attempt) : `×${bar.bars.length}`
    const x = Math.max(0, bar.x)
    const end = x + text.length * NUMBER_CHARACTER_PX
    if (x < free || end > width) continue
    numbers.push({ x, text, bar })
    free = end + TEXTS_APART_PX
  }
  return numbers
}

/** The bar of one attempt, or of several that are too narrow to draw separately. */
export interface DrawnBar {
  x: number
  width: number
  /** Consecutive attempts; more than one are a bundle. */
  bars: readonly Bar[]
}

/** Bars narrower than this are merged with narrow neighbours that are closer than this. */
const NARROW_PX = 3
/** A bundle as wide as this many narrow bars is complete. */
const BUNDLE_BARS = 8
/** Narrower bars are drawn as wide as this, if there is room. */
const DRAWN_PX_MIN = 2

/**
 * Bundles the bars, in their order and without overlap. `spanOf`: the beginning and end of a bar in pixels, never
 * before those of the previous bar.
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

interface Tick {
  /** The position in pixels from the left of the view. */
  x: number
  at: number
  /** The precision of the text. */
  unit: 'second' | 'minute' | 'day'
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 28].map((count) => count * DAY),
]

const APART_PX = 84
/** Half the width of a text. */
const MARGIN_PX = 26

/**
 * The ticks: round times with room for their texts. A stretch between two cuts that is too short for one has a tick
 * at its beginning. `offsetMinutes`: the zone's offset from UTC.
 */
export function ticksOf(scale: Scale, { offset, width }: View, offsetMinutes = 0): Tick[] {
  const ticks: Tick[] = []
  const ahead = offsetMinutes * MINUTE
  const push = (at: number, unit: Tick['unit']) => {
    const x = scale.x(at) - offset
    if (x >= 0 && x <= width - MARGIN_PX && (ticks.length === 0 || x - ticks.at(-1)!.x >= APART_PX))
      ticks.push({ x, at, unit })
  }
  for (const { from, to, px } of wholes(scale)) {
    if (scale.x(to) < offset || scale.x(from) > offset + width || px === 0) continue
    const [first, last] = [Math.max(from, scale.at(offset)), Math.min(to, scale.at(offset + width))]
    const step = STEPS.find((each) => (each * px) / (to - from) >= APART_PX) ?? STEPS.at(-1)!
    const unit = step >= DAY ? 'day' : step >= MINUTE ? 'minute' : 'second'
    const round = Math.ceil((first + ahead) / step) * step - ahead
    if (scale.x(round) - scale.x(first) > APART_PX || round > last) push(first, step >= HOUR ? 'minute' : 'second')
    for (let at = round; at <= last; at += step) push(at, unit)
  }
  return ticks
}

/** The time between two cuts. */
function wholes({ pieces }: Scale): { from: number; to: number; px: number }[] {
  const all: { from: number; to: number; px: number }[] = []
  let open: { from: number; to: number; px: number } | null = null
  for (const { from, to, width, isCut } of pieces) {
    if (isCut) open = null
    else if (open === null) all.push((open = { from, to, px: width }))
    else {
      open.to = to
      open.px += width
    }
  }
  return all
}
