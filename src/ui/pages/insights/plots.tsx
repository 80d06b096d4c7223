import { RANGES, type RangeWord } from '../../app/list/time-range.ts'
import { lookOfCause } from '../../design/causes.ts'
import { CauseMark } from '../../design/panel.tsx'
import { Meter } from '../../charts/meter.tsx'
import { count, percentage } from '../../words/numbers.ts'
import { type Moments, shortDuration } from '../../words/time.ts'
import type { UiInsightsQuery } from './insights.generated.ts'

type Causes = UiInsightsQuery['causes']

const DAY_SECONDS = 86_400
const HOUR_SECONDS = 3_600

interface LossBarsProps {
  causes: Causes
  moments: Moments
  range: RangeWord
  from: string
  to: string
}

/** CPU time of failed attempts over time: a bar for each hour or day, with a part for each cause. */
export function LossBars({ causes, moments, range, from, to }: LossBarsProps) {
  const isDaily = RANGES[range].seconds > 3 * DAY_SECONDS
  const bars = barsOf(causes, { from, to, stepMs: (isDaily ? DAY_SECONDS : HOUR_SECONDS) * 1000 })
  const highest = Math.max(...bars.map(({ total }) => total), 0)
  if (highest === 0) return <p className="panel-empty loss-empty">No CPU time was lost.</p>
  const wordsOf = (at: string) => (isDaily ? at.slice(0, 10) : moments.minute(Date.parse(at)))
  const shown = causes.filter(({ series }) => series.some(({ slotSecondsLost }) => slotSecondsLost.cpu > 0))
  return (
    <>
      <div className="loss-bars" aria-hidden="true">
        {bars.map(({ at, total, parts }) => (
          <div key={at} className="loss-bar" title={`${wordsOf(at)}: ${shortDuration(total)}`}>
            {parts.map(({ cause, cpu }) => (
              <span
                key={cause}
                className={`tint-${lookOfCause(cause).tone}`}
                style={{ height: `${(cpu / highest) * 100}%` }}
              />
            ))}
          </div>
        ))}
      </div>
      <div className="loss-scale" aria-hidden="true">
        <span>{wordsOf(bars[0]!.at)}</span>
        <span>at most {shortDuration(highest)}</span>
        <span>{wordsOf(bars.at(-1)!.at)}</span>
      </div>
      <ul className="loss-legend">
        {shown.map(({ key, series }) => (
          <li key={key}>
            <CauseMark {...lookOfCause(key)} />
            {lookOfCause(key).words}{' '}
            <b>{shortDuration(series.reduce((sum, { slotSecondsLost }) => sum + slotSecondsLost.cpu, 0))}</b>
          </li>
        ))}
      </ul>
    </>
  )
}

interface LossBar {
  at: string
  total: number
  parts: { cause: string | null; cpu: number }[]
}

/** A bar for each step of the window, oldest first. Parts are in the same order in each bar. */
function barsOf(causes: Causes, { from, to, stepMs }: { from: string; to: string; stepMs: number }): LossBar[] {
  const begin = Math.floor(Date.parse(from) / stepMs)
  const end = Math.floor(Date.parse(to) / stepMs)
  const points = causes.flatMap(({ key, series }) =>
    series.map((point) => ({ at: Date.parse(point.from), cause: key, cpu: point.slotSecondsLost.cpu })),
  )
  const byStep = Map.groupBy(points, ({ at }) => Math.floor(at / stepMs))
  return Array.from({ length: end - begin + 1 }, (_, index) => {
    const parts = byStep.get(begin + index) ?? []
    const total = parts.reduce((sum, { cpu }) => sum + cpu, 0)
    return { at: new Date((begin + index) * stepMs).toISOString(), parts, total }
  })
}

/** How many failures the first n retries mend: chains that were stopped earlier count neither way. */
export function SuccessBars({ all }: { all: UiInsightsQuery['all'] }) {
  const curve = curveOf(all)
  if (curve.length === 0) return <p className="panel-empty loss-empty">No retry has ended.</p>
  return (
    <>
      <p className="soft">The share of failures that the first retries mend, of chains that were retried as often.</p>
      <div className="success-bars">
        {curve.slice(0, CURVE_MAX).map(({ retry, succeeded, known, cumulative }) => (
          <Meter
            key={retry}
            name={`retry ${retry}`}
            share={cumulative}
            words={
              known === 0
                ? 'all were stopped'
                : `${count(succeeded)} of ${count(known)} succeeded, ${percentage(succeeded, known)}`
            }
          />
        ))}
      </div>
    </>
  )
}

const CURVE_MAX = 10

/** The curve of all projects together, from their counts. */
function curveOf(all: UiInsightsQuery['all']) {
  const counts = Map.groupBy(
    all.flatMap(({ successByRetry }) => successByRetry),
    ({ retry }) => retry,
  )
  let unmended = 1
  return [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([retry, own]) => {
      const succeeded = own.reduce((sum, each) => sum + each.succeeded, 0)
      const known = own.reduce((sum, each) => sum + each.succeeded + each.failed, 0)
      if (known > 0) unmended *= 1 - succeeded / known
      return { retry, succeeded, known, cumulative: 1 - unmended }
    })
}
