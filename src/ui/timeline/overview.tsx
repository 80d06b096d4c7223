import { type PointerEvent, useRef } from 'react'
import { type Tone, toneOf } from '../design/causes.ts'
import { barsOf, type Timeline } from './bars.ts'
import { bundled, representative } from './drawing.ts'
import { rectangles } from './legend.tsx'
import { createScale, type Range, type Seen, type Stretch } from './scale.ts'

interface Props {
  timeline: Timeline
  stretches: readonly Stretch[]
  width: number
  elastic: boolean
  seen: Seen
  range: Range
  onRange: (range: Range) => void
}

const HEIGHT = 22
/** The width of the range to which a click without a drag zooms. */
const SPAN_PX_MIN = 12

/** The whole chain in small, with the visible part marked. A drag chooses another part. */
export function Overview({ timeline, stretches, width, elastic, seen, range, onRange }: Props) {
  const start = useRef<number | null>(null)
  const scale = createScale(stretches, width, elastic)
  const drawn = bundled(barsOf(timeline), ({ from, to }) => ({ x: scale.x(from), width: scale.x(to) - scale.x(from) }))
  const byTone = Map.groupBy(drawn, ({ bars }): Tone => toneOf(representative(bars)))
  const xOf = (event: PointerEvent<SVGSVGElement>) =>
    Math.min(width, Math.max(0, event.clientX - event.currentTarget.getBoundingClientRect().left))
  const choose = (from: number, to: number) => {
    const [left, right] = [Math.min(from, to), Math.max(from, to)]
    const half = Math.max(0, SPAN_PX_MIN - (right - left)) / 2
    onRange({ from: scale.at(Math.max(0, left - half)), to: scale.at(Math.min(width, right + half)) })
  }
  const window =
    range === null
      ? null
      : { x: scale.x(seen.scale.at(seen.offset)), end: scale.x(seen.scale.at(seen.offset + seen.width)) }
  return (
    <svg
      className="overview"
      width={width}
      height={HEIGHT}
      aria-hidden="true"
      onPointerDown={(event) => {
        start.current = xOf(event)
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={(event) =>
        start.current !== null && Math.abs(xOf(event) - start.current) > 3 && choose(start.current, xOf(event))
      }
      onPointerUp={(event) => {
        if (start.current !== null && Math.abs(xOf(event) - start.current) <= 3) choose(start.current, start.current)
        start.current = null
      }}
    >
      <rect className="overview-ground" width={width} height={HEIGHT} rx={4} />
      {[...byTone].map(([tone, all]) => (
        <path
          key={tone}
          className={`overview-bars tint-${tone}`}
          d={rectangles(
            all.map(({ x, width: own }) => ({ x, width: Math.max(0.5, own - 0.3), y: 6, height: HEIGHT - 12 })),
          )}
        />
      ))}
      {window && (
        <rect
          className="overview-window"
          x={window.x}
          y={0.5}
          width={Math.max(4, window.end - window.x)}
          height={HEIGHT - 1}
          rx={4}
        />
      )}
    </svg>
  )
}
