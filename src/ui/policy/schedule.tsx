import { duration } from '../words/duration.ts'
import type { Planned } from './read-preview.ts'
import { ScheduleChart, ScheduleStrip, startsOf, type Series } from './schedule-chart.tsx'
import './policy.css'

/** How many retries there are, and when the last one starts. `isStale`: something that is typed since is wrong. */
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

/** The delay before each retry, beside those of another schedule if there is one, and when attempts start. */
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
