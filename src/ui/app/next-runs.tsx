import { useServerNow } from '../api/clock.ts'
import { RunLine } from '../charts/run-line.tsx'
import { relativeMoment } from '../words/moment.ts'
import { useMoments } from './moments.ts'
import './app.css'

/** Of those that are drawn, so many are written as well. */
const WRITTEN = 5

/** When something runs next: along a line, and the first ones in words. */
export function NextRuns({ times }: { times: readonly number[] }) {
  const now = useServerNow()
  const { absolute } = useMoments()
  if (times.length === 0) return null
  return (
    <div className="next-runs">
      <RunLine times={times} now={now} />
      <ol aria-label="Next runs">
        {times.slice(0, WRITTEN).map((time) => (
          <li key={time}>
            <time dateTime={new Date(time).toISOString()}>{absolute(time)}</time>
            <span>{time > now ? relativeMoment(time, now) : 'due'}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}
