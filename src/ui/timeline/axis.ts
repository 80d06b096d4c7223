import type { Scale } from './elastic-scale.ts'
import type { View } from './drawing.ts'

export interface Tick {
  /** Pixels from the left of the view. */
  x: number
  at: number
  /** How exact its text has to be. */
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
/** Half of a text. */
const MARGIN_PX = 26

/**
 * Round moments, far enough from each other for their texts. What lies between two cuts and is too short for a round
 * one has its beginning. `offsetMinutes`: what the zone of the texts is ahead of UTC.
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

/** What lies between two cuts. */
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
