import { useWidth } from '../design/use-width.ts'
import { roundUp } from '../words/numbers.ts'
import { duration } from '../words/time.ts'
import type { Planned } from './read-preview.ts'
import './policy.css'

/** The number of retries, and when the last one starts. `isStale`: a text that was typed since then is wrong. */
export function ScheduleFigures({ schedule, isStale }: { schedule: readonly Planned[]; isStale: boolean }) {
  const last = schedule.length === 0 ? null : startsOf(schedule).at(-1)!
  return (
    <div className="policy-figures" role="status">
      <Figure name="retries" value={String(schedule.length)} />
      <Figure name="last one after, at least" value={last ? duration(last.earliest) : '–'} />
      <Figure name="at most" value={last ? duration(last.latest) : '–'} />
      {isStale && <span className="policy-stale">of what was typed before</span>}
    </div>
  )
}

/** Draws the delay before each retry, beside another schedule's if there is one, and the start of each attempt. */
export function ScheduleDrawing({ schedule, series }: { schedule: readonly Planned[]; series: readonly Series[] }) {
  return (
    <>
      <div className="policy-part">
        <h2>Delay before each retry</h2>
        <Legend series={series} />
      </div>
      <ScheduleChart series={series} />
      {schedule.length > 0 && (
        <>
          <div className="policy-part">
            <h2>When attempts start</h2>
            <span className="policy-aside">if each fails at once</span>
          </div>
          <ScheduleStrip planned={schedule} />
        </>
      )}
    </>
  )
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div className="policy-figure">
      <span className="policy-figure-value">{value}</span>
      <span className="policy-figure-name">{name}</span>
    </div>
  )
}

function Legend({ series }: { series: readonly Series[] }) {
  const isSpread = series.some(({ planned }) =>
    planned.some(({ earliestSeconds, latestSeconds }) => latestSeconds > earliestSeconds),
  )
  return (
    <ul className="policy-legend">
      {series.map(({ name, className }) => (
        <li key={name}>
          <i className={`swatch ${className}`} />
          {series.length > 1 ? name : 'at least'}
        </li>
      ))}
      {isSpread && (
        <li>
          <i className="swatch hatched" />
          {series.length > 1 ? 'up to, by jitter' : 'at most, by jitter'}
        </li>
      )}
    </ul>
  )
}

const HEIGHT = 208
const TOP = 22
const LEFT = 54
const FOOT = 24
const BAR_MAX = 46
/** The width below which labels above bars would touch. */
const LABELLED_FROM = 58

export interface Series {
  name: string
  className: string
  planned: readonly Planned[]
}

/** A bar for the least length of each delay; the hatched part above it shows the most. */
function ScheduleChart({ series }: { series: readonly Series[] }) {
  const [ref, width] = useWidth()
  const retries = Math.max(...series.map(({ planned }) => planned.length))
  const longest = Math.max(...series.flatMap(({ planned }) => planned.map(({ latestSeconds }) => latestSeconds)))
  const ticks = ticksTo(longest, 4)
  const top = ticks.at(-1)!
  const y = (seconds: number) => TOP + (HEIGHT - TOP - FOOT) * (1 - seconds / top)
  const slot = (width - LEFT) / retries
  const group = Math.min(slot * 0.72, BAR_MAX * series.length)
  const bar = group / series.length
  const isLabelled = slot >= LABELLED_FROM && series.length === 1
  const every = Math.ceil(26 / Math.max(slot, 1))
  return (
    <div className="schedule-chart" ref={ref}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={summaryOf(series)}>
          <defs>
            <pattern id="spread" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect width="6" height="6" className="spread-ground" />
              <rect width="2" height="6" className="spread-line" />
            </pattern>
          </defs>
          {ticks.map((tick) => (
            <g key={tick}>
              <line className="grid" x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
              <text className="tick" x={LEFT - 10} y={y(tick) + 4} textAnchor="end">
                {tick === 0 ? '0' : duration(tick)}
              </text>
            </g>
          ))}
          {series.map(({ name, className, planned }, index) =>
            planned.map(({ retry, earliestSeconds, latestSeconds }, at) => {
              const x = LEFT + slot * at + (slot - group) / 2 + bar * index
              const thick = Math.max(bar - (series.length > 1 ? 2 : 0), 1)
              return (
                <g key={`${name} ${retry}`} className={className}>
                  <rect
                    className="sure"
                    x={x}
                    y={y(earliestSeconds)}
                    width={thick}
                    height={y(0) - y(earliestSeconds)}
                  />
                  {latestSeconds > earliestSeconds && (
                    <rect
                      className="spread"
                      x={x + 0.5}
                      y={y(latestSeconds) + 0.5}
                      width={Math.max(thick - 1, 1)}
                      height={Math.max(y(earliestSeconds) - y(latestSeconds) - 0.5, 0)}
                    />
                  )}
                  {isLabelled && (
                    <text className="length" x={x + bar / 2} y={y(latestSeconds) - 7} textAnchor="middle">
                      {duration(latestSeconds)}
                    </text>
                  )}
                </g>
              )
            }),
          )}
          {Array.from({ length: retries }, (_, at) => at)
            .filter((at) => at % every === 0)
            .map((at) => (
              <text key={at} className="tick" x={LEFT + slot * (at + 0.5)} y={HEIGHT - 6} textAnchor="middle">
                {at + 1}
              </text>
            ))}
        </svg>
      )}
    </div>
  )
}

const STRIP = 54
const LINE = 18
const MARGIN = 7

/** The start of each attempt if those before it fail at once: the earliest time, and how much later it can be. */
function ScheduleStrip({ planned }: { planned: readonly Planned[] }) {
  const [ref, width] = useWidth()
  const starts = startsOf(planned)
  const ticks = ticksTo(starts.at(-1)!.latest, width < 480 ? 3 : 6)
  const end = Math.max(starts.at(-1)!.latest, ticks.at(-1)!)
  const x = (seconds: number) => MARGIN + ((width - 2 * MARGIN - 22) * seconds) / end
  return (
    <div className="schedule-strip" ref={ref}>
      {width > 0 && (
        <svg width={width} height={STRIP} aria-hidden="true">
          <line className="axis" x1={x(0)} x2={x(end)} y1={LINE} y2={LINE} />
          {starts.map(({ attempt, earliest, latest }) => (
            <g key={attempt}>
              {latest > earliest && (
                <rect
                  className="window"
                  x={x(earliest)}
                  y={LINE - 6}
                  width={Math.max(x(latest) - x(earliest), 1)}
                  height={12}
                />
              )}
              <rect className="start" x={x(earliest) - 1.5} y={LINE - 9} width={3} height={18} rx={1.5} />
            </g>
          ))}
          {ticks.map((tick, index) => (
            <text key={tick} className="tick" x={x(tick)} y={STRIP - 8} textAnchor={index === 0 ? 'start' : 'middle'}>
              {tick === 0 ? '0' : duration(tick)}
            </text>
          ))}
        </svg>
      )}
    </div>
  )
}

interface Start {
  attempt: number
  earliest: number
  latest: number
}

/** The starts of attempts in seconds after the first one. */
export function startsOf(planned: readonly Planned[]): Start[] {
  const starts: Start[] = [{ attempt: 1, earliest: 0, latest: 0 }]
  for (const { earliestSeconds, latestSeconds } of planned) {
    const { attempt, earliest, latest } = starts.at(-1)!
    starts.push({ attempt: attempt + 1, earliest: earliest + earliestSeconds, latest: latest + latestSeconds })
  }
  return starts
}

function summaryOf(series: readonly Series[]): string {
  return series
    .map(({ name, planned }) => `${name}: ${planned.map(({ latestSeconds }) => duration(latestSeconds)).join(', ')}`)
    .join('; ')
}

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
]

/** Round durations from 0 to at least `seconds`, at most `most` of them above 0. */
function ticksTo(seconds: number, most: number): number[] {
  const wanted = Math.max(seconds, 0.001) / most
  const step = STEPS.find((each) => each >= wanted && wanted >= 0.5) ?? roundUp(wanted)
  const ticks = [0]
  for (let at = 1; (at - 1) * step < seconds && at <= most; at++) ticks.push(at * step)
  return ticks
}
