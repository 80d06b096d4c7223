import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { usePolled } from '../../api/poll.ts'
import { problemOf } from '../../api/problem.ts'
import { Ago } from '../../app/ago.tsx'
import { GuardedButton } from '../../app/form/guarded-button.tsx'
import { usePlace } from '../../app/list/place.ts'
import { ProblemPanel } from '../../app/problem-panel.tsx'
import { NextRuns } from '../../app/next-runs.tsx'
import { ArrowLeftIcon } from '../../design/icons.tsx'
import { Skeleton } from '../../design/skeleton.tsx'
import { amountWords } from '../../words/amount.ts'
import { counted } from '../../words/count.ts'
import { duration } from '../../words/duration.ts'
import { RunsCard } from './runs-card.tsx'
import { ScheduleMark, Timing, Until } from './schedule-parts.tsx'
import { UiOneScheduleDocument, type UiOneScheduleQuery } from './schedules.generated.ts'
import { useScheduleActions } from './use-schedule-actions.tsx'
import '../../design/panel.css'
import '../../design/table.css'
import '../../design/detail.css'
import './schedules.css'

const route = getRouteApi('/frame/schedules/$scheduleId')

type Schedule = NonNullable<UiOneScheduleQuery['schedule']>

const RUNS = 20
const EVERY_MS = 2_000

const OVERLAPS = {
  SKIP: 'it is skipped',
  QUEUE: 'it waits until that has ended',
  CANCEL_OTHER: 'that is ended, and it starts',
} as const

/** One schedule: when it runs next, what it runs, and what became of its runs. */
export function SchedulePage() {
  const { scheduleId } = route.useParams()
  const place = usePlace(scheduleId)
  const { data, error, again } = usePolled(
    UiOneScheduleDocument,
    { id: scheduleId, first: RUNS, after: place.after },
    EVERY_MS,
  )
  const name = data?.schedule?.name
  useEffect(() => {
    if (name !== undefined) document.title = `${name} · Reprise`
  }, [name])
  if (!data?.schedule && error) return <ProblemPanel error={error} onAgain={again} />
  if (!data) return <Skeleton />
  if (!data.schedule) return <NoSchedule />
  const { schedule, scheduleRuns } = data
  return (
    <div className="detail-page">
      {error && (
        <p className="notice" role="status">
          This is no longer up to date: {problemOf(error).message}
        </p>
      )}
      <Head schedule={schedule} again={again} />
      <div className="detail-columns">
        <When schedule={schedule} />
        <Facts schedule={schedule} />
      </div>
      <RunsCard runs={scheduleRuns.edges.map(({ node }) => node)} place={place} next={place.onward(scheduleRuns)} />
    </div>
  )
}

function Head({ schedule, again }: { schedule: Schedule; again: () => void }) {
  const navigate = useNavigate()
  const actions = useScheduleActions({
    schedule,
    onDone: again,
    onDeleted: () => void navigate({ to: '/schedules' }),
  })
  const { name, paused, pausedAt, pausedBy, pauseReason, statusReason } = schedule
  const { refusal } = actions
  return (
    <header className="page-head">
      <div className="back-place">
        <Link to="/schedules" className="back-link">
          <ArrowLeftIcon /> Schedules
        </Link>
      </div>
      <h1 tabIndex={-1}>{name}</h1>
      <ScheduleMark schedule={schedule} />
      <div className="page-actions">
        <GuardedButton refusal={refusal} onClick={actions.runNow}>
          Run now
        </GuardedButton>
        <GuardedButton refusal={refusal} onClick={paused ? actions.resume : actions.pause}>
          {paused ? 'Resume' : 'Pause'}
        </GuardedButton>
        <GuardedButton refusal={refusal} onClick={actions.askToDelete}>
          Delete…
        </GuardedButton>
      </div>
      {paused && pausedAt !== null && (
        <p className="page-note">
          Paused <Ago at={pausedAt} /> by {pausedBy}
          {pauseReason !== null && `: ${pauseReason}`}
        </p>
      )}
      {statusReason !== null && <p className="page-note">Its last run was refused: {statusReason}</p>}
      {actions.dialog}
    </header>
  )
}

function When({ schedule }: { schedule: Schedule }) {
  const { paused, nextRunAt, nextRuns, overlap, catchUp, jitter, queued } = schedule
  return (
    <section className="card" aria-label="When it runs">
      <h2>When it runs</h2>
      <p className="schedule-figure">
        <Timing schedule={schedule} />
      </p>
      <p className="card-none">
        {paused ? 'If it were resumed now:' : nextRunAt === null ? 'It never runs again.' : 'The next run is '}
        {!paused && nextRunAt !== null && <Until at={nextRunAt} />}
      </p>
      <NextRuns times={nextRuns.map((time) => Date.parse(time))} />
      <p className="card-none">
        {`If an earlier run goes on, ${OVERLAPS[overlap]}. After a downtime ${missedWords(catchUp)} made.`}
        {jitter > 0 && ` Runs are spread over ${duration(jitter)}.`}
        {queued > 0 && ` ${counted(queued, 'run')} ${queued === 1 ? 'waits' : 'wait'} at present.`}
      </p>
    </section>
  )
}

function missedWords(catchUp: number): string {
  if (catchUp === 0) return 'no missed run is'
  return catchUp === 1 ? 'the last missed run is' : `the last ${counted(catchUp, 'missed run')} are`
}

function Facts({ schedule }: { schedule: Schedule }) {
  const { project, session, owner, createdAt, createdBy, scheduleId } = schedule
  const facts: [string, React.ReactNode][] = [
    ['project', project.name],
    ...(session === null ? [] : sessionFacts(session)),
    [
      'created',
      <>
        <Ago at={createdAt} /> by {createdBy}
      </>,
    ],
    ['rights of', owner],
    ['id', <code key="id">{scheduleId}</code>],
  ]
  return (
    <section className="card" aria-label="What it runs">
      <h2>What it runs</h2>
      {session === null && <p className="card-none">What it runs is not valid any more; its runs are refused.</p>}
      <dl className="facts-table">
        {facts.map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function sessionFacts(session: NonNullable<Schedule['session']>): [string, React.ReactNode][] {
  const { command, name, image, resourceGroup, priority, maxRetries, environ, secretEnviron, labels } = session
  const some = (label: string, words: readonly string[]): [string, React.ReactNode][] =>
    words.length === 0 ? [] : [[label, words.join(', ')]]
  return [
    ['program', <code key="program">{command.join(' ')}</code>],
    ['named', name],
    ...some('image', image === null ? [] : [image]),
    ['group', resourceGroup],
    ['takes', session.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', ')],
    ['retries', maxRetries === null ? 'as its project has it' : String(maxRetries)],
    ['priority', String(priority)],
    // Values may be secret to whoever looks over a shoulder.
    ...some('variables', [...environ.map((each) => each.name), ...secretEnviron]),
    ...some(
      'labels',
      labels.map(({ key, value }) => `${key}=${value}`),
    ),
  ]
}

function NoSchedule() {
  return (
    <div className="empty">
      <h1 tabIndex={-1}>There is no such schedule</h1>
      <p>It does not exist, or it is in a project that you do not see.</p>
      <Link to="/schedules" className="button">
        To the schedules
      </Link>
    </div>
  )
}
