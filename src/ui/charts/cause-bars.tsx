import { type KeyboardEvent, type MouseEvent, useState } from 'react'
import { lookOfCause } from '../design/causes.ts'
import { CauseMark } from '../design/panel.tsx'
import { useWidth } from '../design/use-width.ts'
import { count, counted } from '../words/numbers.ts'
import type { Moments } from '../words/time.ts'
import { type CauseBucket, labelsOf, spanWords, type Stack, stacksOf, ticksOf } from './cause-stacks.ts'
import './charts.css'

const TOP = 10
const FOOT = 24
const LEFT = 38
const BAR_MAX = 34
const GAP = 0.24
/** The height of a part that has room for its letter. */
const LETTER_PX = 15

interface Props {
  /** The name for screen readers. */
  label: string
  buckets: readonly CauseBucket[]
  moments: Moments
  height?: number
  /** Shows shares: all bars have the same height. */
  isShare?: boolean
  /** The link of a bar. */
  linkOf: (bucket: CauseBucket) => { href: string; onClick: (event: MouseEvent) => void }
}

/** The failed attempts over time: a bar for each span, with a part for each cause. */
export function CauseBars({ label, buckets, moments, height = 208, isShare = false, linkOf }: Props) {
  const [ref, width] = useWidth()
  const { stacks, highest } = stacksOf(buckets, isShare)
  const [pointed, setPointed] = useState<number | null>(null)
  const [current, setCurrent] = useState<number | null>(null)
  const ticks = isShare ? [0, 0.5, 1] : ticksOf(highest, height < 160 ? 2 : 4)
  const top = ticks.at(-1)!
  const slot = (width - LEFT) / Math.max(1, stacks.length)
  const bar = Math.max(1, Math.min(slot * (1 - GAP), BAR_MAX))
  const y = (value: number) => TOP + (height - TOP - FOOT) * (1 - value / top)
  const xOf = (index: number) => LEFT + slot * index + (slot - bar) / 2
  const filled = stacks.flatMap(({ total }, index) => (total > 0 ? [index] : []))
  const entered = current !== null && filled.includes(current) ? current : filled.at(-1)

  const move = (event: KeyboardEvent) => {
    const at = filled.indexOf(entered ?? -1)
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: filled.length - 1 }[event.key]
    const next = to === undefined ? undefined : filled[to]
    if (next === undefined) return
    event.preventDefault()
    setCurrent(next)
    ref.current?.querySelector<SVGAElement>(`[data-bar="${next}"]`)?.focus()
  }
  const shown = pointed === null ? undefined : stacks[pointed]
  return (
    <div className="cause-bars" ref={ref} style={{ height }}>
      {width > 0 && (
        <svg width={width} height={height} role="group" aria-label={label}>
          <g aria-hidden="true">
            {ticks.map((tick) => (
              <g key={tick}>
                <line className={tick === 0 ? 'ground' : 'grid'} x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
                <text className="tick" x={LEFT - 8} y={y(tick) + 4} textAnchor="end">
                  {isShare ? `${tick * 100}%` : count(tick)}
                </text>
              </g>
            ))}
            {labelsOf(buckets, slot, moments).map(({ index, words }) => (
              <text key={index} className="tick" x={LEFT + slot * index + 2} y={height - 6}>
                {words}
              </text>
            ))}
          </g>
          {stacks.map((stack, index) => (
            <Bar
              key={stack.bucket.from}
              stack={stack}
              words={barWords(stack, moments)}
              index={index}
              x={xOf(index)}
              width={bar}
              y={y}
              hit={{ x: LEFT + slot * index, y: TOP, width: slot, height: height - TOP - FOOT }}
              isEntered={index === entered}
              link={linkOf(stack.bucket)}
              onPoint={setPointed}
              onKeyDown={move}
            />
          ))}
          <g aria-hidden="true">
            {stacks.map((stack, index) => (
              <Letters key={stack.bucket.from} stack={stack} x={xOf(index)} width={bar} y={y} />
            ))}
          </g>
        </svg>
      )}
      {shown && <Tip stack={shown} span={spanWords(shown.bucket, moments)} x={xOf(pointed!) + bar / 2} width={width} />}
    </div>
  )
}

function Bar(props: {
  stack: Stack
  words: string
  index: number
  x: number
  width: number
  y: (value: number) => number
  hit: { x: number; y: number; width: number; height: number }
  isEntered: boolean
  link: ReturnType<Props['linkOf']>
  onPoint: (index: number | null) => void
  onKeyDown: (event: KeyboardEvent) => void
}) {
  const { stack, words, index, x, width, y, hit, isEntered, link, onPoint, onKeyDown } = props
  if (stack.total === 0) return null
  return (
    <a
      className="cause-bar"
      href={link.href}
      onClick={link.onClick}
      data-bar={index}
      tabIndex={isEntered ? 0 : -1}
      aria-label={words}
      onPointerEnter={() => onPoint(index)}
      onPointerLeave={() => onPoint(null)}
      onFocus={() => onPoint(index)}
      onBlur={() => onPoint(null)}
      onKeyDown={onKeyDown}
    >
      <rect className="hit" {...hit} />
      {partsOf(stack, y).map(({ cause, top, height }) => (
        <rect
          key={cause}
          className={`part tint-${lookOfCause(cause).tone}`}
          x={x}
          y={top}
          width={width}
          height={height}
          rx={1}
        />
      ))}
    </a>
  )
}

/** Leaves a line between the parts, except where a part is too thin. */
function partsOf({ parts }: Stack, y: (value: number) => number): { cause: string; top: number; height: number }[] {
  return parts.map(({ cause, from, to }, place) => {
    const height = y(from) - y(to)
    return { cause, top: y(to), height: Math.max(1, place > 0 && height > 3 ? height - 1 : height) }
  })
}

/** The letters of the parts that have room. They are outside the links, whose names are words. */
function Letters({ stack, x, width, y }: { stack: Stack; x: number; width: number; y: (value: number) => number }) {
  if (width < LETTER_PX) return null
  return partsOf(stack, y).map(
    ({ cause, top, height }) =>
      height >= LETTER_PX && (
        <text key={cause} className="letter" x={x + width / 2} y={top + height / 2 + 3.5} textAnchor="middle">
          {lookOfCause(cause).letter}
        </text>
      ),
  )
}

function barWords({ bucket, total, parts }: Stack, moments: Moments): string {
  const causes = parts.map(({ cause, failed }) => `${lookOfCause(cause).words} ${failed}`).join(', ')
  return `${spanWords(bucket, moments)}: ${counted(total, 'failed attempt')}: ${causes}`
}

const TIP_PX = 208

interface TipProps {
  stack: Stack
  span: string
  x: number
  width: number
}

function Tip({ stack: { total, parts }, span, x, width }: TipProps) {
  const left = Math.max(0, Math.min(width - TIP_PX, x - TIP_PX / 2))
  return (
    <div className="cause-tip" style={{ left, width: TIP_PX }} aria-hidden="true">
      <p>{span}</p>
      {parts.toReversed().map(({ cause, failed }) => (
        <p key={cause} className="cause-tip-part">
          <CauseMark {...lookOfCause(cause)} />
          <span>{lookOfCause(cause).words}</span>
          <b>{count(failed)}</b>
        </p>
      ))}
      {parts.length > 1 && (
        <p className="cause-tip-part total">
          <span>together</span>
          <b>{count(total)}</b>
        </p>
      )}
    </div>
  )
}
