import { type Tone, toneOf } from '../design/causes.ts'
import type { Timeline } from './bars.ts'

const TONE_WORDS: Readonly<Record<Tone, string>> = {
  succeeded: 'succeeded',
  running: 'running',
  exit: 'exit code',
  timeout: 'timed out',
  hung: 'hung',
  memory: 'out of memory',
  agent: 'agent lost',
  image: 'image',
  scheduler: 'scheduler timeout',
  unknown: 'unknown cause',
  terminated: 'terminated',
}

/** Explains only the marks that occur in this chain. */
export function Legend({ timeline }: { timeline: Timeline }) {
  const { items, ghost } = timeline
  const tones = [...new Set(items.flatMap((item) => (item.type === 'bar' ? [toneOf(item)] : [])))]
  const kinds = items.flatMap((item): string[] =>
    item.type === 'bar' ? item.parts.map(({ kind }) => kind) : [item.kind],
  )
  const parts = new Set(kinds)
  const found = new Set(items.flatMap((item) => (item.type === 'bar' ? [item.session.checkpoint.state] : [])))
  return (
    <ul className="legend" aria-hidden="true">
      {tones.map((tone) => (
        <li key={tone} className={`tint-${tone}`}>
          <i className="swatch solid" />
          {TONE_WORDS[tone]}
        </li>
      ))}
      {parts.has('QUEUED') && (
        <li>
          <i className="swatch queued" />
          queued
        </li>
      )}
      {parts.has('PREPARING') && (
        <li>
          <i className="swatch preparing" />
          preparing
        </li>
      )}
      {parts.has('BACKOFF') && (
        <li>
          <i className="swatch dotted" />
          backoff
        </li>
      )}
      {parts.has('HELD') && (
        <li>
          <i className="swatch is-held" />
          held
        </li>
      )}
      {found.has('HERE') || found.has('FETCHED') ? (
        <li>
          <CheckpointSwatch className="checkpoint" />
          goes on from a checkpoint
        </li>
      ) : null}
      {found.has('MISSING') && (
        <li>
          <CheckpointSwatch className="checkpoint missing" />
          checkpoint missing
        </li>
      )}
      {ghost !== null && (
        <li>
          <i className="swatch dashed" />
          planned
        </li>
      )}
    </ul>
  )
}

function CheckpointSwatch({ className }: { className: string }) {
  return (
    <svg width="11" height="11" viewBox="0 0 11 11">
      <path className={className} d={diamond(1, 5.5, 9)} />
    </svg>
  )
}

interface Rectangle {
  x: number
  y: number
  width: number
  height: number
}

/** One path with all rectangles. */
export function rectangles(all: readonly Rectangle[], radius = 0): string {
  return all
    .filter(({ width }) => width > 0)
    .map(({ x, y, width, height }) =>
      radius > 0 && width > radius * 2
        ? capsule(x, y, width, height, radius)
        : `M${px(x)} ${y}h${px(width)}v${height}h${px(-width)}z`,
    )
    .join('')
}

/** A rectangle with round corners. */
export function capsule(x: number, y: number, width: number, height: number, wanted = 4): string {
  const r = Math.max(0, Math.min(wanted, width / 2))
  const [across, down] = [px(width - 2 * r), height - 2 * r]
  const corner = (dx: number, dy: number) => `a${r} ${r} 0 0 1 ${dx} ${dy}`
  return `M${px(x + r)} ${y}h${across}${corner(r, r)}v${down}${corner(-r, r)}h${-across}${corner(-r, -r)}v${-down}${corner(r, -r)}z`
}

/** A diamond with its left corner at `x`, and its middle at `y`. */
export function diamond(x: number, y: number, width: number): string {
  const half = width / 2
  return `M${x} ${y}l${half} ${-half}l${half} ${half}l${-half} ${half}z`
}

/** The path of a line with two slanted strokes in it. */
export function cutStrokes(x: number, width: number, y: number): string {
  const middle = x + width / 2
  const slant = (at: number) => `M${px(at - 3)} ${y + 8}l6 -16`
  if (width < 18) return slant(middle)
  return `M${px(x + 4)} ${y}H${px(middle - 5)}${slant(middle - 3)}${slant(middle + 3)}M${px(middle + 5)} ${y}H${px(x + width - 4)}`
}

function px(value: number): number {
  return Math.round(value * 100) / 100
}

/** The patterns of segments; each has the colour of its class. */
export function Patterns({ id }: { id: string }) {
  return (
    <defs>
      <Hatch id={`${id}-queued`} size={5} className="hatch-queued" />
      <Hatch id={`${id}-preparing`} size={3.5} className="hatch-preparing" />
      <Hatch id={`${id}-held`} size={6} className="hatch-held" />
      <Hatch id={`${id}-memory`} size={3.5} className="hatch-on-tone" />
      <Hatch id={`${id}-agent`} size={8} className="hatch-on-tone" />
      <pattern id={`${id}-image`} width={5} height={5} patternUnits="userSpaceOnUse">
        <circle className="dot-on-tone" cx={2.5} cy={2.5} r={0.9} />
      </pattern>
      <pattern id={`${id}-timeout`} width={5} height={5} patternUnits="userSpaceOnUse">
        <path className="hatch-on-tone" d="M2.5 0v5" />
      </pattern>
      <pattern id={`${id}-hung`} width={6} height={6} patternUnits="userSpaceOnUse">
        <path className="hatch-on-tone" d="M1.5 1v4M4.5 1v4" />
      </pattern>
      <pattern id={`${id}-scheduler`} width={5} height={5} patternUnits="userSpaceOnUse">
        <path className="hatch-on-tone" d="M0 2.5h5" />
      </pattern>
    </defs>
  )
}

function Hatch({ id, size, className }: { id: string; size: number; className: string }) {
  return (
    <pattern id={id} width={size} height={size} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <path className={className} d={`M${size / 2} 0v${size}`} />
    </pattern>
  )
}
