import { useServerNow } from '../api/clock.ts'
import { useWidth } from '../design/use-width.ts'
import { relativeMoment } from '../words/time.ts'
import { useMoments } from './moments.tsx'
import './app.css'

/** The number of drawn runs that are also written out. */
const WRITTEN = 5

/** The next runs on a line of time, the first ones also in words. */
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

const HEIGHT = 22
const MIDDLE = HEIGHT / 2
const RADIUS = 4
const LEFT = 5

/** The runs on a line of time that begins now. */
function RunLine({ times, now }: { times: readonly number[]; now: number }) {
  const [ref, width] = useWidth()
  const end = times.at(-1) ?? now
  const span = Math.max(end - now, 1)
  const x = (time: number) => LEFT + ((width - LEFT - RADIUS - 1) * Math.max(0, time - now)) / span
  return (
    <div className="run-line" ref={ref}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          <line x1={LEFT} x2={width} y1={MIDDLE} y2={MIDDLE} />
          <line className="run-line-now" x1={LEFT} x2={LEFT} y1={3} y2={HEIGHT - 3} />
          {times.map((time, index) => (
            <circle key={time} cx={x(time)} cy={MIDDLE} r={RADIUS} data-next={index === 0 || undefined} />
          ))}
        </svg>
      )}
    </div>
  )
}
