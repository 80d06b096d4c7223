import { Link } from '@tanstack/react-router'
import { useServerNow } from '../../api/clock.ts'
import { usePolled } from '../../api/poll.ts'
import { useMoments } from '../../app/moments.tsx'
import { causeInWords, lookOfCause, TIMED_OUT } from '../../design/causes.ts'
import { CauseMark, Panel } from '../../design/panel.tsx'
import { useWidth } from '../../design/use-width.ts'
import { count } from '../../words/numbers.ts'
import { countdown, limitInWords } from '../../words/time.ts'
import {
  UiOverviewDueDocument,
  type UiOverviewDueQueryVariables,
  type UiOverviewRetryFragment,
} from './overview.generated.ts'
import type { Overview } from './use-overview.ts'
import '../../charts/charts.css'

/** The first retries of the queue, with countdowns. */
export function NextRetries({ data, project }: { data: Overview; project: string | undefined }) {
  const { next, soon } = data
  const within = `${count(soon.totalCount)}${soon.totalCountIsExact ? '' : '+'} within the hour`
  return (
    <Panel
      title="Next retries"
      aside={
        <>
          {next.edges.length > 0 && <span>{within}</span>}
          <Link to="/retries" search={project === undefined ? {} : { project }}>
            See all
          </Link>
        </>
      }
    >
      {next.edges.length === 0 ? (
        <p className="panel-empty">No retry waits.</p>
      ) : (
        <>
          <ol className="lines">
            {next.edges.map(({ node }) => (
              <li key={node.id}>
                <Retry retry={node} />
              </li>
            ))}
          </ol>
          {soon.totalCount > 0 && <DueSoon project={project} />}
        </>
      )}
    </Panel>
  )
}

function Retry({ retry: { chainId, cause, dueAt, session } }: { retry: UiOverviewRetryFragment }) {
  const { attempt, maxAttempts } = session.retryState
  const kind = session.timedOut ? TIMED_OUT : cause
  return (
    <Link to="/chains/$chainId" params={{ chainId }} className="line next-retry">
      <Countdown dueAt={dueAt!} />
      <span className="line-name" title={session.name}>
        {session.name}
      </span>
      <span className="next-attempt">
        retry {attempt} of {maxAttempts - 1}
      </span>
      <span className="next-why">
        <CauseMark {...lookOfCause(kind)} />
        <span className="line-cut">{causeInWords(kind, session.exitCode, limitInWords(session.batchTimeout))}</span>
      </span>
    </Link>
  )
}

function Countdown({ dueAt }: { dueAt: string }) {
  const { absolute } = useMoments()
  const at = Date.parse(dueAt)
  const seconds = (at - useServerNow()) / 1000
  return (
    <time className="next-due" dateTime={dueAt} title={absolute(at)}>
      {seconds > 0 ? countdown(seconds) : 'due'}
    </time>
  )
}

/** The query's variable for each step of the hour. */
const STEPS = [
  'due0',
  'due1',
  'due2',
  'due3',
  'due4',
  'due5',
  'due6',
  'due7',
  'due8',
  'due9',
  'due10',
  'due11',
] as const satisfies (keyof UiOverviewDueQueryVariables)[]
const STEP_MINUTES = 60 / STEPS.length
const STEP_MS = STEP_MINUTES * 60_000
const EVERY_MS = 10_000

/** The number of retries due in each five minutes of the next hour. Overdue ones are in the first. */
function DueSoon({ project }: { project: string | undefined }) {
  const of = { ...(project !== undefined && { project }), phase: ['SCHEDULED' as const] }
  const { data } = usePolled(
    UiOverviewDueDocument,
    (now) => {
      const at = (step: number) => new Date(now + step * STEP_MS).toISOString()
      const dueAt = (step: number) => ({ ...(step > 0 && { gte: at(step) }), lt: at(step + 1) })
      const filters = STEPS.map((name, step) => [name, { ...of, dueAt: dueAt(step) }] as const)
      return Object.fromEntries(filters) as UiOverviewDueQueryVariables
    },
    EVERY_MS,
  )
  return (
    <div className="due-soon">
      {data && <DueHistogram counts={STEPS.map((name) => data[name].totalCount)} stepMinutes={STEP_MINUTES} />}
    </div>
  )
}

const HEIGHT = 44
const GAP = 3
/** The least height of a bar that is not empty, so that it is visible. */
const LOWEST = 2

/** A bar for each step of time from now on, as high as the number of retries due in it. */
function DueHistogram({ counts, stepMinutes }: { counts: readonly number[]; stepMinutes: number }) {
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
              // oxlint-disable-next-line react/no-array-index-key -- a bar has no other identity than its place
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
