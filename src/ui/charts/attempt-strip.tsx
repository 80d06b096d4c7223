import './attempt-strip.css'

/** A tone of causes, or what the attempt is at. */
export type StripMark =
  | 'succeeded'
  | 'running'
  | 'queued'
  | 'planned'
  | 'exit'
  | 'memory'
  | 'agent'
  | 'image'
  | 'scheduler'
  | 'unknown'

const WIDTH = 8
const STEP = 10
const HEIGHT = 14
/** Of the dots that stand for earlier attempts. */
const MORE_WIDTH = 8
export const STRIP_ATTEMPTS_MAX = 8

/** The last attempts, oldest first; the words beside it say what it shows. */
export function AttemptStrip({ marks, hasMore }: { marks: readonly StripMark[]; hasMore: boolean }) {
  const left = hasMore ? MORE_WIDTH : 0
  const width = left + marks.length * STEP
  return (
    <svg className="attempt-strip" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      {hasMore && <path className="more" d={`M1 ${HEIGHT / 2 - 0.75}h1.5v1.5H1zM4 ${HEIGHT / 2 - 0.75}h1.5v1.5H4z`} />}
      {marks.map((mark, index) => {
        const isOutline = mark === 'queued' || mark === 'planned'
        const inset = isOutline ? 0.5 : 0
        return (
          <rect
            // oxlint-disable-next-line react/no-array-index-key -- a mark is what stands at its place
            key={index}
            className={mark}
            x={left + index * STEP + inset}
            y={inset}
            width={WIDTH - 2 * inset}
            height={HEIGHT - 2 * inset}
            rx="1.5"
          />
        )
      })}
    </svg>
  )
}
