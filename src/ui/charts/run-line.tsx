import { useWidth } from '../design/use-width.ts'
import '../app/app.css'

const HEIGHT = 22
const MIDDLE = HEIGHT / 2
const RADIUS = 4
const LEFT = 5

/** Runs along a line of time that begins now; the words beside it say when they are. */
export function RunLine({ times, now }: { times: readonly number[]; now: number }) {
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
