import './charts.css'

/** The tone of the cause, or the state of the attempt. */
export type StripMark =
  | 'succeeded'
  | 'running'
  | 'queued'
  | 'planned'
  | 'exit'
  | 'timeout'
  | 'hung'
  | 'memory'
  | 'agent'
  | 'image'
  | 'scheduler'
  | 'unknown'

const WIDTH = 8
const STEP = 10
const HEIGHT = 14
const CORNER = 1.5
/** The width of the dots that represent earlier attempts. */
const MORE_WIDTH = 8
export const STRIP_ATTEMPTS_MAX = 8

/** The last attempts as marks, oldest first. The text beside it has the same information. */
export function AttemptStrip({ marks, hasMore }: { marks: readonly StripMark[]; hasMore: boolean }) {
  const left = hasMore ? MORE_WIDTH : 0
  const width = left + marks.length * STEP
  return (
    <svg className="attempt-strip" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      {hasMore && <path className="more" d={`M1 ${HEIGHT / 2 - 0.75}h1.5v1.5H1zM4 ${HEIGHT / 2 - 0.75}h1.5v1.5H4z`} />}
      {runsOf(marks).map(({ mark, from, to }) => (
        <path key={from} className={mark} d={barsOf(mark, left, from, to)} />
      ))}
    </svg>
  )
}

/** Equal neighbours share one element: a list has hundreds of them. */
function runsOf(marks: readonly StripMark[]) {
  const runs: { mark: StripMark; from: number; to: number }[] = []
  for (const [index, mark] of marks.entries()) {
    const last = runs.at(-1)
    if (last?.mark === mark) last.to = index
    else runs.push({ mark, from: index, to: index })
  }
  return runs
}

function barsOf(mark: StripMark, left: number, from: number, to: number): string {
  const inset = mark === 'queued' || mark === 'planned' ? 0.5 : 0
  const [across, down] = [WIDTH - 2 * (inset + CORNER), HEIGHT - 2 * (inset + CORNER)]
  const turn = (x: number, y: number) => `a${CORNER} ${CORNER} 0 0 1 ${x * CORNER} ${y * CORNER}`
  const bar = `h${across}${turn(1, 1)}v${down}${turn(-1, 1)}h${-across}${turn(-1, -1)}v${-down}${turn(1, -1)}z`
  const starts = Array.from({ length: to - from + 1 }, (_, at) => left + (from + at) * STEP + inset + CORNER)
  return starts.map((x) => `M${x} ${inset}${bar}`).join('')
}
