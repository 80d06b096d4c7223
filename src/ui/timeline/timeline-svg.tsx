import { memo } from 'react'
import { letterOf, type Tone, toneOf } from '../design/causes.ts'
import { countdown, type Moments } from '../words/time.ts'
import type { Bar, FoundCheckpoint, Ghost, Item, Timeline } from './bars.ts'
import { type Drawing, type DrawnBar, NUMBER_CHARACTER_PX, representative, ticksOf } from './drawing.ts'
import { capsule, cutStrokes, diamond, Patterns, rectangles } from './legend.tsx'
import type { Seen } from './scale.ts'
import { barSentence, bundleSentence, ghostSentence, partSentences } from './words.ts'

export interface EpochMark {
  epoch: number
  /** The number of the epoch's first attempt. */
  attempt: number
  text: string
}

export interface Focus {
  attempt: number
  /** The index among the bar's segments and the gaps after it; -1 is the bar. */
  part: number
}

interface Props {
  timeline: Timeline
  drawing: Drawing
  seen: Seen
  now: number
  moments: Moments
  offsetMinutes: number
  epochs: readonly EpochMark[]
  chosen: number | null
  focus: Focus | null
  /** The number of retries that the policy has after the planned one. */
  further: number
  /** The prefix of ids in the drawing. */
  id: string
}

const EPOCH_ROW = 22
const AXIS_ROW = 22
const NUMBER_ROW = 18
const BAR = 34
const LABEL_ROW = 24
const CHECKPOINT_PX = 9
/** The room for outlines at both ends. */
const EDGE_PX = 6
export const FURTHER_PX = 22

export function heightOf(hasEpochs: boolean): number {
  return (hasEpochs ? EPOCH_ROW : 0) + AXIS_ROW + NUMBER_ROW + BAR + LABEL_ROW
}

/** Draws the timeline. Equal things share one shape, so that any chain takes few elements. */
export const TimelineSvg = memo(function TimelineSvg(props: Props) {
  const { timeline, seen, epochs, further, id } = props
  const hasEpochs = epochs.length > 1
  const top = (hasEpochs ? EPOCH_ROW : 0) + AXIS_ROW + NUMBER_ROW
  const rows = { axis: hasEpochs ? EPOCH_ROW : 0, top, middle: top + BAR / 2, bottom: top + BAR }
  const height = heightOf(hasEpochs)
  const width = seen.width + (timeline.ghost === null ? 0 : further * FURTHER_PX)
  return (
    <svg
      role="presentation"
      className="timeline-svg"
      width={width + 2 * EDGE_PX}
      height={height}
      viewBox={`${-EDGE_PX} 0 ${width + 2 * EDGE_PX} ${height}`}
    >
      <Patterns id={id} />
      <g aria-hidden="true">
        <Axis {...props} rows={rows} />
        {hasEpochs && <Epochs {...props} rows={rows} height={height} />}
        <Gaps {...props} rows={rows} />
      </g>
      <Bars {...props} rows={rows} />
      <g aria-hidden="true">
        <Segments {...props} rows={rows} />
        <Texts {...props} rows={rows} />
        {timeline.ghost !== null && <Planned {...props} ghost={timeline.ghost} rows={rows} />}
        <Outlines {...props} rows={rows} />
      </g>
    </svg>
  )
})

interface RowProps extends Props {
  rows: { axis: number; top: number; middle: number; bottom: number }
}

function Axis({ seen, moments, offsetMinutes, rows }: RowProps) {
  const ticks = ticksOf(seen.scale, { offset: seen.offset, width: seen.width }, offsetMinutes)
  const text = { second: moments.clock, minute: moments.minute, day: moments.day }
  return (
    <>
      <path
        className="grid"
        d={ticks.map(({ x }) => `M${round(x) + 0.5} ${rows.axis + 4}V${rows.bottom + 6}`).join('')}
      />
      {ticks.map(({ x, at, unit }) => (
        <text key={at} className="tick" x={x + 5} y={rows.axis + 14}>
          {text[unit](at)}
        </text>
      ))}
    </>
  )
}

const EPOCH_CHARACTER_PX = 6.6

function Epochs({ epochs, timeline, seen, rows, height }: RowProps & { height: number }) {
  const marks = epochs
    .flatMap(({ attempt, epoch, text }) => {
      const bar = timeline.items.find((item) => item.type === 'bar' && item.attempt === attempt)
      return bar === undefined ? [] : [{ epoch, text, x: seen.scale.x(bar.from) - seen.offset }]
    })
    .filter(({ x }) => x >= -4 && x <= seen.width)
  return (
    <>
      <path
        className="epoch-rule"
        d={marks
          .filter(({ epoch }) => epoch > 0)
          .map(({ x }) => `M${round(x) - 3.5} 0V${height}`)
          .join('')}
      />
      {marks.map(({ epoch, text, x }, index) => {
        const room = (marks[index + 1]?.x ?? seen.width) - x - 16
        const fits = Math.floor(room / EPOCH_CHARACTER_PX)
        const shown = text.length <= fits ? text : fits < 9 ? '' : `${text.slice(0, fits - 1)}…`
        return (
          <text key={epoch} className="epoch" x={Math.max(0, x) + 3} y={rows.axis - 7}>
            {shown}
            <title>{text}</title>
          </text>
        )
      })}
    </>
  )
}

function Gaps({ drawing, timeline, seen, rows, id }: RowProps) {
  const { gaps } = drawing
  const { ghost, to } = timeline
  const whole = gaps.filter(({ isCut, gap }) => !isCut && gap.kind !== 'HELD')
  const held = gaps.filter(({ gap }) => gap.kind === 'HELD')
  const heldShape = rectangles(
    held.map(({ x, width }) => ({ x: x + 2, y: rows.middle - 9, width: width - 4, height: 18 })),
  )
  const line = ({ x, width }: { x: number; width: number }) =>
    width < 6 ? '' : `M${x + 4} ${rows.middle}H${Math.max(x + 4, x + width - 3)}`
  const nowX = seen.scale.x(to) - seen.offset
  const dueX = ghost === null ? nowX : seen.scale.x(ghost.at) - seen.offset
  return (
    <>
      <path className="backoff" d={whole.map(line).join('')} />
      {ghost !== null && <path className="backoff future" d={line({ x: nowX, width: dueX - nowX })} />}
      <path className="held" d={heldShape} />
      <path d={heldShape} fill={`url(#${id}-held)`} />
      <path
        className="cut"
        d={gaps
          .filter(({ isCut, gap, width }) => isCut && gap.kind !== 'HELD' && width >= 7)
          .map(({ x, width }) => cutStrokes(x, width, rows.middle))
          .join('')}
      />
    </>
  )
}

function Bars({ drawing, timeline, chosen, now, rows, id, focus }: RowProps) {
  const after = Map.groupBy(
    timeline.items.filter(({ type }) => type === 'gap'),
    ({ attempt }) => attempt,
  )
  return (
    <g role="presentation">
      {drawing.bars.map((drawn) => (
        <rect
          key={drawn.bars[0]!.attempt}
          id={optionId(id, drawn)}
          role="option"
          aria-selected={drawn.bars.some(({ attempt }) => attempt === chosen)}
          aria-label={labelOf(drawn, after)}
          className={`attempt-bar tint-${toneOf(representative(drawn.bars))}`}
          x={drawn.x}
          y={rows.top}
          width={Math.max(1, drawn.width)}
          height={BAR}
          rx={Math.min(4, drawn.width / 3)}
        />
      ))}
      {timeline.ghost !== null && (
        <rect
          id={`${id}-ghost`}
          role="option"
          aria-selected={false}
          aria-label={ghostSentence(timeline.ghost, now)}
          className="ghost-area"
          {...ghostSpan(timeline.ghost, drawing, rows)}
        />
      )}
      {focus !== null && focus.part >= 0 && <FocusedPart {...{ timeline, focus, id, after }} />}
    </g>
  )
}

/** The focused part of a bar for assistive technology; parts are no elements of the drawing. */
function FocusedPart({
  timeline,
  focus,
  id,
  after,
}: {
  timeline: Timeline
  focus: Focus
  id: string
  after: Map<number, Item[]>
}) {
  const bar = timeline.items.find((item): item is Bar => item.type === 'bar' && item.attempt === focus.attempt)
  if (bar === undefined) return null
  const sentences = partSentences(bar, after.get(bar.attempt) ?? [])
  return (
    <rect
      id={`${id}-part`}
      role="option"
      aria-selected={false}
      aria-label={sentences[focus.part] ?? ''}
      width={0}
      height={0}
    />
  )
}

function labelOf({ bars }: DrawnBar, after: Map<number, Item[]>): string {
  return bars.length === 1 ? barSentence(bars[0]!, after.get(bars[0]!.attempt) ?? []) : bundleSentence(bars)
}

export function optionId(id: string, { bars }: DrawnBar): string {
  return `${id}-bar-${bars[0]!.attempt}`
}

const PATTERNED: readonly Tone[] = ['timeout', 'hung', 'memory', 'agent', 'image', 'scheduler']

/**
 * Draws the segments over the colour of the bars: hollow where they waited, with the pattern of their cause where
 * they ran.
 */
function Segments({ drawing, seen, rows, id }: RowProps) {
  const single = drawing.bars.filter(({ bars, width }) => bars.length === 1 && width >= 5)
  const spans = (kinds: readonly string[], only = single) =>
    only.flatMap(({ bars: [bar], x, width }) =>
      bar!.parts
        .filter(({ kind }) => kinds.includes(kind))
        .map(({ from, to }) => {
          const [begin, end] = [seen.scale.x(from) - seen.offset, seen.scale.x(to) - seen.offset]
          const left = Math.max(x + 1.5, begin)
          return { x: left, width: Math.min(x + width - 1.5, end) - left, y: rows.top + 1.5, height: BAR - 3 }
        })
        .filter((span) => span.width > 0.75),
    )
  const queued = rectangles(spans(['QUEUED']), 2.5)
  const preparing = rectangles(spans(['PREPARING']))
  const open = single.filter(({ bars: [bar] }) => bar!.isOpen && bar!.outcome === 'LIVE')
  return (
    <>
      <path className="hollow" d={queued + preparing} />
      <path d={queued} fill={`url(#${id}-queued)`} />
      <path d={preparing} fill={`url(#${id}-preparing)`} />
      <path className="ending" d={rectangles(spans(['ENDING']))} />
      {PATTERNED.map((tone) => {
        const shape = rectangles(
          spans(
            ['RUNNING'],
            single.filter(({ bars: [bar] }) => toneOf(bar!) === tone),
          ),
        )
        return shape === '' ? null : <path key={tone} d={shape} fill={`url(#${id}-${tone})`} />
      })}
      {open.map(({ x, width, bars: [bar] }) => (
        <rect key={bar!.attempt} className="edge" x={x + width - 3} y={rows.top} width={3} height={BAR} rx={1.5} />
      ))}
    </>
  )
}

function Texts({ drawing, rows, chosen }: RowProps) {
  return (
    <>
      {drawing.numbers.map(({ x, text, bar }) => (
        <text
          key={text + bar.bars[0]!.attempt}
          className={bar.bars.some(({ attempt }) => attempt === chosen) ? 'number chosen' : 'number'}
          x={Math.max(x + 1, 1)}
          y={rows.top - 6}
        >
          {text}
        </text>
      ))}
      <path className="checkpoint" d={checkpoints(drawing, rows.top - 10, ['HERE', 'FETCHED'])} />
      <path className="checkpoint missing" d={checkpoints(drawing, rows.top - 10, ['MISSING'])} />
      {drawing.marked.map((drawn) => (
        <Mark key={drawn.bars[0]!.attempt} drawn={drawn} middle={rows.middle} end={drawn.x + drawn.width} />
      ))}
      {drawing.labels.map(({ x, text, item }) => (
        <text
          key={`${item.type}${item.from}`}
          className={item.type === 'gap' && item.kind === 'HELD' ? 'label held-label' : 'label'}
          x={x}
          y={rows.bottom + 17}
        >
          {text}
        </text>
      ))}
    </>
  )
}

/** The marks behind the numbers of attempts with one of these checkpoint states, where there is room. */
function checkpoints({ numbers }: Drawing, y: number, states: readonly FoundCheckpoint['state'][]): string {
  return numbers
    .filter(({ bar }) => bar.bars.length === 1 && states.includes(bar.bars[0]!.session.checkpoint.state))
    .map(({ x, text, bar }) => ({
      x: Math.max(x + 1, 1) + text.length * NUMBER_CHARACTER_PX + 3,
      end: bar.x + bar.width,
    }))
    .filter(({ x, end }) => x + CHECKPOINT_PX <= end)
    .map(({ x }) => diamond(round(x), y, CHECKPOINT_PX))
    .join('')
}

function Mark({ drawn, middle, end }: { drawn: DrawnBar; middle: number; end: number }) {
  const bar = drawn.bars[0]!
  const lastRun = bar.parts.at(-1)!.kind
  if (bar.outcome === 'LIVE' && lastRun !== 'RUNNING') return null
  const letter = letterOf(bar)
  const className = bar.parts.some(({ kind }) => kind === 'RUNNING') ? 'mark' : 'mark hollow-mark'
  if (letter !== null) {
    if (letter.length * 8 + 12 > drawn.width) return null
    return (
      <text className={className} x={end - 8} y={middle + 4.5}>
        {letter}
      </text>
    )
  }
  const x = end - 12
  const tone = toneOf(bar)
  if (tone === 'succeeded') return <path className={`${className} stroke`} d={`M${x - 5} ${middle}l3.5 3.5 6-7`} />
  if (tone === 'running') return <path className={className} d={`M${x - 4} ${middle - 5}l8 5-8 5z`} />
  return <path className={className} d={`M${x - 4} ${middle - 4}h8v8h-8z`} />
}

function Planned({ ghost, drawing, seen, now, rows, further, id }: RowProps & { ghost: Ghost }) {
  const { x, width } = ghostSpan(ghost, drawing, rows)
  const text = ghost.isHeld ? 'held' : countdown((ghost.at - now) / 1000)
  const fits = width >= text.length * 7.5
  const nowX = seen.scale.x(now) - seen.offset
  const showsNow = x - nowX > 30
  const starts = Array.from({ length: further }, (_, index) => seen.width + 8 + index * FURTHER_PX)
  return (
    <>
      {showsNow && <path className="now" d={`M${round(nowX) + 0.5} ${rows.top - 8}V${rows.bottom + 8}`} />}
      <path className={ghost.isHeld ? 'ghost is-held' : 'ghost'} d={capsule(x, rows.top, width, BAR)} />
      {ghost.isHeld && <path d={capsule(x, rows.top, width, BAR)} fill={`url(#${id}-held)`} />}
      <text className="number" x={x + 1} y={rows.top - 6}>
        {ghost.attempt}
      </text>
      <text className="countdown" x={fits ? x + width / 2 : x + 8} y={fits ? rows.middle + 4.5 : rows.bottom + 17}>
        {text}
      </text>
      <path className="further-wait" d={starts.map((start) => `M${start - 6} ${rows.middle}h6`).join('')} />
      <path
        className="further"
        d={starts.map((start) => capsule(start + 2, rows.top + 6, FURTHER_PX - 12, BAR - 12)).join('')}
      />
    </>
  )
}

/** The span of the planned retry: as wide as the median attempt, but always visible. */
function ghostSpan(ghost: Ghost, { ghost: span }: Drawing, { top }: { top: number }) {
  return { x: span?.x ?? 0, y: top, width: span?.width ?? 0, height: BAR }
}

function Outlines({ drawing, chosen, focus, rows }: RowProps) {
  const around = (attempt: number | undefined) => {
    const drawn = drawing.bars.find(({ bars }) => bars.some((bar) => bar.attempt === attempt))
    return drawn && { x: drawn.x - 3, y: rows.top - 3, width: drawn.width + 6, height: BAR + 6, rx: 6 }
  }
  const chosenBar = around(chosen ?? undefined)
  const focused = around(focus?.attempt)
  return (
    <>
      {chosenBar && <rect className="chosen-outline" {...chosenBar} />}
      {focused && <rect className="focus-outline" {...focused} />}
    </>
  )
}

function round(x: number): number {
  return Math.round(x)
}
