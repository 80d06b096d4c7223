import { useWidth } from '../design/use-width.ts'
import { count } from '../words/count.ts'
import './charts.css'

const HEIGHT = 44
const GAP = 3
/** Of what is not empty, so that it is seen. */
const LOWEST = 2

/** A bar for each step of time from now on, as high as what is due in it. */
export function DueHistogram({ counts, stepMinutes }: { counts: readonly number[]; stepMinutes: number }) {
  const [ref, width] = useWidth()
  const highest = Math.max(...counts, 1)
  const step = (width + GAP) / counts.length
  const heightOf = (due: number) => (due === 0 ? 0 : Math.max(LOWEST, (HEIGHT * due) / highest))
  return (
    <div className="due-histogram" ref={ref}>
      {width > 0 && (
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`Due in the next hour, each ${stepMinutes} minutes: ${counts.map(count).join(', ')}`}
        >
          {counts.map((due, index) => (
            <rect
              // oxlint-disable-next-line react/no-array-index-key -- a bar is what stands at its place
              key={index}
              x={step * index}
              y={HEIGHT - heightOf(due)}
              width={Math.max(step - GAP, 1)}
              height={heightOf(due)}
              rx="1.5"
            >
              <title>{`${count(due)} due in minutes ${index * stepMinutes} to ${(index + 1) * stepMinutes}`}</title>
            </rect>
          ))}
        </svg>
      )}
      <span className="due-histogram-ends" aria-hidden="true">
        <span>now</span>
        <span>in an hour</span>
      </span>
    </div>
  )
}
