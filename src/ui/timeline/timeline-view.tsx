import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useWidth } from '../design/use-width.ts'
import type { Moments } from '../words/time.ts'
import { type Bar, barsOf, type Ghost, type Item, type Timeline } from './bars.ts'
import { drawingOf } from './drawing.ts'
import { Legend } from './legend.tsx'
import { Overview } from './overview.tsx'
import { panned, panTo, type Range, seenOf, stretchesOf, zoomed } from './scale.ts'
import { type EpochMark, type Focus, FURTHER_PX, heightOf, optionId, TimelineSvg } from './timeline-svg.tsx'
import { TimelineTable } from './timeline-table.tsx'
import { partSentences, textsUnder, timelineText } from './words.ts'
import './timeline.css'

/** The subject of a card. */
export type Target = { kind: 'item'; item: Item } | { kind: 'ghost'; ghost: Ghost }

interface Props {
  timeline: Timeline
  name: string
  now: number
  moments: Moments
  offsetMinutes: number
  epochs: readonly EpochMark[]
  /** The chosen attempt. */
  chosen: number | null
  onChoose: (attempt: number) => void
  /** Called on Enter, to show the attempt's log. */
  onOpen: (attempt: number) => void
  isTrueTime: boolean
  onTrueTime: (isTrueTime: boolean) => void
  range: Range
  onRange: (range: Range) => void
  further: number
  /** Earlier attempts are not read yet. */
  isPartial: boolean
  renderCard: (target: Target) => ReactNode
}

const FURTHER_MAX = 4
/** The number of bars from which an overview is shown. */
const OVERVIEW_FROM_BARS = 60
const HOVER_MS = 120
const WHEEL_ZOOM = 1.0015
const KEY_ZOOM = 1.5

export function TimelineView(props: Props) {
  const { timeline, now, chosen, isTrueTime, range, onRange } = props
  const id = useId().replaceAll(':', '')
  const [frame, width] = useWidth()
  const [focus, setFocus] = useState<Focus | null>(null)
  const [hovered, setHovered] = useState<Target | null>(null)
  const [pinned, setPinned] = useState<Target | null>(null)
  const further = timeline.ghost === null ? 0 : Math.min(FURTHER_MAX, props.further, Math.floor(width / 160))
  const viewWidth = Math.max(120, width - further * FURTHER_PX)
  const stretches = useMemo(() => stretchesOf(timeline), [timeline])
  const seen = useMemo(
    () => seenOf(stretches, viewWidth, !isTrueTime, range),
    [stretches, viewWidth, isTrueTime, range],
  )
  const drawing = useMemo(() => drawingOf(timeline, seen.scale, seen, textsUnder), [timeline, seen])
  const bars = useMemo(() => barsOf(timeline), [timeline])
  const hasEpochs = props.epochs.length > 1

  const targetAt = (x: number): Target | null => {
    const near = drawing.bars.find((drawn) => x >= drawn.x - 2 && x <= drawn.x + drawn.width + 2)
    if (near) return { kind: 'item', item: near.bars[0]! }
    if (drawing.ghost && x >= drawing.ghost.x - 2) return { kind: 'ghost', ghost: timeline.ghost! }
    const at = seen.scale.at(seen.offset + x)
    const item = timeline.items.findLast(({ from }) => from <= at)
    return item === undefined ? null : { kind: 'item', item }
  }

  const pointer = usePointer({
    onHover: (x) => setHovered(x === null ? null : targetAt(x)),
    onPan: (pixels) => onRange(panned(seen, pixels)),
    onClick: (x) => {
      const target = targetAt(x)
      setPinned(target)
      if (target?.kind === 'item') props.onChoose(target.item.attempt)
    },
  })
  const wheel = (event: WheelEvent) => {
    const box = frame.current?.getBoundingClientRect()
    if (!box || Math.abs(event.deltaX) + Math.abs(event.deltaY) === 0) return
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault()
      onRange(zoomed(stretches, !isTrueTime, seen, WHEEL_ZOOM ** -event.deltaY, event.clientX - box.left))
    } else if (range !== null && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault()
      onRange(panned(seen, event.deltaX))
    }
  }
  useWheel(frame, wheel)

  const zoomBy = (factor: number) => onRange(zoomed(stretches, !isTrueTime, seen, factor, viewWidth / 2))
  const moveTo = (bar: Bar | undefined, part = -1) => {
    if (bar === undefined) return
    setFocus({ attempt: bar.attempt, part })
    setPinned(null)
    if (range !== null) onRange(panTo(seen, bar))
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const at = bars.findIndex(({ attempt }) => attempt === (focus?.attempt ?? chosen))
    const after = timeline.items.filter((item) => item.type === 'gap' && item.attempt === bars[at]?.attempt)
    const parts = at < 0 ? 0 : partSentences(bars[at]!, after).length
    const part = focus?.part ?? -1
    const acts: Record<string, () => void> = {
      ArrowLeft: () => moveTo(bars[Math.max(0, at - 1)]),
      ArrowRight: () => moveTo(bars[Math.min(bars.length - 1, at + 1)]),
      Home: () => moveTo(bars[0]),
      End: () => moveTo(bars.at(-1)),
      ArrowUp: () => moveTo(bars[at], Math.min(parts - 1, part + 1)),
      ArrowDown: () => moveTo(bars[at], Math.max(-1, part - 1)),
      Enter: () => bars[at] && props.onOpen(bars[at].attempt),
      ' ': () => bars[at] && props.onChoose(bars[at].attempt),
      '+': () => zoomBy(KEY_ZOOM),
      '=': () => zoomBy(KEY_ZOOM),
      '-': () => zoomBy(1 / KEY_ZOOM),
      '0': () => onRange(null),
      Escape: () => {
        setPinned(null)
        setHovered(null)
        setFocus(null)
      },
    }
    const act = acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  const focusedBar = bars.find(({ attempt }) => attempt === focus?.attempt)
  const focusTarget: Target | null = focusedBar
    ? {
        kind: 'item',
        item:
          [...focusedBar.parts.map(() => focusedBar), ...gapsAfter(timeline, focusedBar)][focus!.part] ?? focusedBar,
      }
    : null
  const shown = pinned ?? hovered ?? focusTarget
  const focusedDrawn = drawing.bars.find((drawn) => drawn.bars.some(({ attempt }) => attempt === focus?.attempt))
  const active =
    focus === null ? undefined : focus.part >= 0 ? `${id}-part` : focusedDrawn && optionId(id, focusedDrawn)

  return (
    <section className="timeline" aria-label="Timeline">
      <div className="timeline-head">
        <Legend timeline={timeline} />
        {props.isPartial && <p className="timeline-note">earlier attempts are being read…</p>}
        <div className="timeline-tools">
          {range !== null && (
            <button type="button" className="tool" onClick={() => onRange(null)}>
              Show all
            </button>
          )}
          <button
            type="button"
            className="tool"
            aria-label="Zoom out"
            onClick={() => zoomBy(1 / KEY_ZOOM)}
            disabled={range === null}
          >
            −
          </button>
          <button type="button" className="tool" aria-label="Zoom in" onClick={() => zoomBy(KEY_ZOOM)}>
            +
          </button>
          <button
            type="button"
            className="tool"
            aria-pressed={isTrueTime}
            title="Waits are cut, unless it is on. Key t"
            onClick={() => props.onTrueTime(!isTrueTime)}
          >
            True time
          </button>
          <CopyButton text={() => timelineText(timeline, { name: props.name, now, moments: props.moments })} />
        </div>
      </div>
      <div ref={frame} className="timeline-frame" style={{ minHeight: heightOf(hasEpochs) }} {...pointer}>
        <div
          className="timeline-bars"
          role="listbox"
          tabIndex={0}
          aria-label="Attempts"
          aria-orientation="horizontal"
          aria-activedescendant={active}
          onKeyDown={onKey}
          onFocus={(event) => {
            if (!event.currentTarget.matches(':focus-visible')) return
            setFocus((last) => last ?? { attempt: chosen ?? bars.at(-1)?.attempt ?? 0, part: -1 })
          }}
          onBlur={() => setFocus(null)}
        >
          {width > 0 && (
            <TimelineSvg
              id={id}
              timeline={timeline}
              drawing={drawing}
              seen={seen}
              now={now}
              moments={props.moments}
              offsetMinutes={props.offsetMinutes}
              epochs={props.epochs}
              chosen={chosen}
              focus={focus}
              further={further}
            />
          )}
        </div>
        {shown !== null && (
          <Card
            key={keyOf(shown)}
            x={middleOf(shown, seen)}
            width={width}
            top={heightOf(hasEpochs)}
            isPinned={pinned !== null}
            onClose={() => setPinned(null)}
          >
            {props.renderCard(shown)}
          </Card>
        )}
      </div>
      {bars.length > OVERVIEW_FROM_BARS && width > 0 && (
        <Overview
          timeline={timeline}
          stretches={stretches}
          width={viewWidth}
          elastic={!isTrueTime}
          seen={seen}
          range={range}
          onRange={onRange}
        />
      )}
      <TimelineTable timeline={timeline} moments={props.moments} now={now} />
    </section>
  )
}

function gapsAfter({ items }: Timeline, { attempt }: Bar): Item[] {
  return items.filter((item) => item.type === 'gap' && item.attempt === attempt)
}

function keyOf(target: Target): string {
  return target.kind === 'ghost' ? 'ghost' : `${target.item.type}${target.item.attempt}${target.item.from}`
}

function middleOf(
  target: Target,
  { scale, offset }: { scale: { x(at: number): number; width: number }; offset: number },
): number {
  if (target.kind === 'ghost') return (scale.x(target.ghost.at) + scale.width) / 2 - offset
  return (scale.x(target.item.from) + scale.x(target.item.to)) / 2 - offset
}

const CARD_PX = 340

function Card(props: {
  x: number
  width: number
  top: number
  isPinned: boolean
  onClose: () => void
  children: ReactNode
}) {
  const own = Math.min(CARD_PX, props.width)
  const left = Math.min(Math.max(0, props.x - own / 2), props.width - own)
  return (
    <div className="timeline-card" data-pinned={props.isPinned} style={{ left, top: props.top, width: own }}>
      {props.children}
      {props.isPinned && (
        <button type="button" className="card-close" aria-label="Close" onClick={props.onClose}>
          ×
        </button>
      )}
    </div>
  )
}

function CopyButton({ text }: { text: () => string }) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () =>
    void navigator.clipboard.writeText(text()).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  return (
    <button type="button" className="tool" onClick={copy}>
      <span aria-live="polite">{copied ? 'Copied' : 'Copy as text'}</span>
    </button>
  )
}

/** React's own listener is passive, and cannot prevent the page from zooming. */
function useWheel(ref: React.RefObject<HTMLDivElement | null>, onWheel: (event: WheelEvent) => void) {
  const latest = useRef(onWheel)
  useEffect(() => {
    latest.current = onWheel
  })
  useEffect(() => {
    const element = ref.current!
    const listener = (event: WheelEvent) => latest.current(event)
    element.addEventListener('wheel', listener, { passive: false })
    return () => element.removeEventListener('wheel', listener)
  }, [ref])
}

const DRAG_FROM_PX = 4

function usePointer(on: {
  onHover: (x: number | null) => void
  onPan: (pixels: number) => void
  onClick: (x: number) => void
}) {
  const drag = useRef<{ start: number; last: number; moved: boolean } | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const isOwn = (event: PointerEvent) => !(event.target as Element).closest('.timeline-card')
  const xOf = (event: PointerEvent<HTMLDivElement>) => event.clientX - event.currentTarget.getBoundingClientRect().left
  return {
    onPointerDown: (event: PointerEvent<HTMLDivElement>) => {
      if (event.button === 0 && isOwn(event)) drag.current = { start: xOf(event), last: xOf(event), moved: false }
    },
    onPointerMove: (event: PointerEvent<HTMLDivElement>) => {
      if (!isOwn(event)) return clearTimeout(timer.current)
      const x = xOf(event)
      const current = drag.current
      if (current !== null && (current.moved || Math.abs(x - current.start) > DRAG_FROM_PX)) {
        if (!current.moved) event.currentTarget.setPointerCapture(event.pointerId)
        current.moved = true
        on.onPan(current.last - x)
        current.last = x
        return
      }
      clearTimeout(timer.current)
      timer.current = setTimeout(() => on.onHover(x), HOVER_MS)
    },
    onPointerUp: (event: PointerEvent<HTMLDivElement>) => {
      const current = drag.current
      drag.current = null
      if (current !== null && !current.moved && isOwn(event)) on.onClick(xOf(event))
    },
    onPointerLeave: () => {
      clearTimeout(timer.current)
      timer.current = setTimeout(() => on.onHover(null), HOVER_MS)
    },
  }
}
