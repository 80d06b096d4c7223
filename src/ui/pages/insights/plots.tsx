import { RANGES, type RangeWord } from '../../app/list/time-range.ts'
import { lookOfCause } from '../../design/causes.ts'
import { CauseMark } from '../../design/panel.tsx'
import { Meter } from '../../charts/meter.tsx'
import { count, percentage } from '../../words/numbers.ts'
import { type Moments, shortDuration } from '../../words/time.ts'
import type { UiInsightsQuery } from './insights.generated.ts'

type Causes = UiInsightsQuery['causes']

const DAY_SECONDS = 86_400

interface LossBarsProps {
  causes: Causes
  moments: Moments
  range: RangeWord
}

/** CPU time of failed attempts over time: a bar for each hour or day, with a part for each cause. */
export function LossBars({ causes, moments, range }: LossBarsProps) {
  const bars = barsOf(causes)
  const highest = Math.max(...bars.map(({ total }) => total), 0)
  if (highest === 0) return <p className="panel-empty loss-empty">No CPU time was lost.</p>
  const isDaily = RANGES[range].seconds > 3 * DAY_SECONDS
  const wordsOf = (at: string) => (isDaily ? at.slice(0, 10) : moments.minute(Date.parse(at)))
  const shown = causes.filter(({ series }) => series.some(({ slotSecondsLost }) => slotSecondsLost.cpu > 0))
  return (
    <>
      <div className="loss-bars" aria-hidden="true">
        {bars.map(({ from, total, parts }) => (
          <div key={from} className="loss-bar" title={`${wordsOf(from)}: ${shortDuration(total)}`}>
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
        <span>{wordsOf(bars[0]!.from)}</span>
        <span>at most {shortDuration(highest)}</span>
        <span>{wordsOf(bars.at(-1)!.from)}</span>
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
  from: string
  total: number
  parts: { cause: string | null; cpu: number }[]
}

/** Oldest first. Parts are in the same order in each bar. */
function barsOf(causes: Causes): LossBar[] {
  const points = causes.flatMap(({ key, series }) =>
    series.map(({ from, slotSecondsLost: { cpu } }) => ({ from, cause: key, cpu })),
  )
  return [...Map.groupBy(points, ({ from }) => from)]
    .map(([from, parts]) => ({ from, parts, total: parts.reduce((sum, { cpu }) => sum + cpu, 0) }))
    .toSorted((a, b) => a.from.localeCompare(b.from))
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
