import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { ScheduleRunOutcome } from '../../../client/schema-types.generated.ts'
import { useAct } from '../../app/act.ts'
import { DetailHead, type Fact, FactsCard, Missing } from '../../app/detail.tsx'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { useList } from '../../app/list/list-page.tsx'
import { Ago } from '../../app/moments.tsx'
import { NextRuns } from '../../app/next-runs.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { toast } from '../../app/toasts.tsx'
import { useViewer } from '../../app/viewer.ts'
import { Skeleton } from '../../design/panel.tsx'
import { amountWords, counted } from '../../words/numbers.ts'
import { duration } from '../../words/time.ts'
import { RunsCard, ScheduleMark, Timing, Until } from './schedule-parts.tsx'
import {
  UiDeleteScheduleDocument,
  UiOneScheduleDocument,
  type UiOneScheduleQuery,
  UiPauseScheduleDocument,
  UiResumeScheduleDocument,
  UiRunScheduleNowDocument,
} from './schedules.generated.ts'
import '../../design/table.css'
import './schedules.css'

const route = getRouteApi('/frame/schedules/$scheduleId')

type Schedule = NonNullable<UiOneScheduleQuery['schedule']>

const RUNS_SHOWN = 20
const EVERY_MS = 2_000

const OVERLAPS = {
  SKIP: 'the new one is skipped',
  QUEUE: 'the new one waits until that has ended',
  CANCEL_OTHER: 'that is ended, and the new one starts',
} as const

/** One schedule: its next runs, its session, and the outcomes of its runs. */
export function SchedulePage() {
  const { scheduleId } = route.useParams()
  const variables = { id: scheduleId, first: RUNS_SHOWN }
  const runs = useList(UiOneScheduleDocument, variables, ({ scheduleRuns }) => scheduleRuns, EVERY_MS)
  const { data, error, again } = runs
  useTitle(data?.schedule?.name ?? 'Schedule')
  if (!data?.schedule && error) return <ProblemPanel error={error} onAgain={again} />
  if (!data) return <Skeleton />
  if (!data.schedule) return <Missing noun="schedule" list="/schedules" />
  const { schedule } = data
  return (
    <div className="detail-page">
      <Outdated error={error} />
      <Head schedule={schedule} again={again} />
      <div className="detail-columns">
        <When schedule={schedule} />
        <Facts schedule={schedule} />
      </div>
      <RunsCard runs={runs} />
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
    <DetailHead
      list="/schedules"
      name={name}
      mark={<ScheduleMark schedule={schedule} />}
      acts={
        <>
          <GuardedButton refusal={refusal} onClick={actions.runNow}>
            Run now
          </GuardedButton>
          <GuardedButton refusal={refusal} onClick={paused ? actions.resume : actions.pause}>
            {paused ? 'Resume' : 'Pause'}
          </GuardedButton>
          <GuardedButton
            refusal={refusal}
            onClick={() =>
              void navigate({ to: '/schedules/$scheduleId/edit', params: { scheduleId: schedule.scheduleId } })
            }
          >
            Change…
          </GuardedButton>
          <GuardedButton refusal={refusal} onClick={actions.askToDelete}>
            Delete…
          </GuardedButton>
        </>
      }
    >
      {paused && pausedAt !== null && (
        <p className="page-note">
          Paused <Ago at={pausedAt} /> by {pausedBy}
          {pauseReason !== null && `: ${pauseReason}`}
        </p>
      )}
      {statusReason !== null && <p className="page-note">Its last run was refused: {statusReason}</p>}
      {actions.dialog}
    </DetailHead>
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
  const facts: Fact[] = [
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
    <FactsCard title="What it runs" facts={facts}>
      {session === null && <p className="card-none">Its session is no longer valid, so its runs are refused.</p>}
    </FactsCard>
  )
}

function sessionFacts(session: NonNullable<Schedule['session']>): Fact[] {
  const { command, name, image, resourceGroup, priority, maxRetries, environ, secretEnviron, labels } = session
  const some = (label: string, words: readonly string[]): Fact[] =>
    words.length === 0 ? [] : [[label, words.join(', ')]]
  return [
    ['program', <code key="program">{command.join(' ')}</code>],
    ['named', name],
    ...some('image', image === null ? [] : [image]),
    ['group', resourceGroup],
    ['takes', session.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', ')],
    ['retries', maxRetries === null ? 'the default of its project' : String(maxRetries)],
    ['priority', String(priority)],
    // Values are not shown, as they may be secret.
    ...some('variables', [...environ.map((each) => each.name), ...secretEnviron]),
    ...some(
      'labels',
      labels.map(({ key, value }) => `${key}=${value}`),
    ),
  ]
}

const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')

interface Options {
  schedule: { scheduleId: string; name: string }
  onDone: () => void
  onDeleted: () => void
}

interface ScheduleActions {
  /** The reason why it cannot be changed; null if it can. */
  refusal: string | null
  pause: () => void
  resume: () => void
  runNow: () => void
  askToDelete: () => void
  dialog: ReactNode
}

/** Messages for the outcomes of a requested run. */
const OUTCOME_WORDS: Readonly<Record<ScheduleRunOutcome, string>> = {
  STARTED: 'a run has started.',
  QUEUED: 'the run waits until an earlier one has ended.',
  SKIPPED: 'the run was skipped, as an earlier one goes on.',
  MISSED: 'the run was missed.',
  REFUSED: 'the run was refused.',
}

/** The actions on a schedule. */
function useScheduleActions({ schedule: { scheduleId, name }, onDone, onDeleted }: Options): ScheduleActions {
  const act = useAct()
  const { can, role } = useViewer()
  const [isAsked, setAsked] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const refusal = can.createSessions ? null : `Your token has the role ${role}, which may not change schedules.`
  const during = async (send: () => Promise<unknown>) => {
    setBusy(true)
    await send()
    setBusy(false)
    onDone()
  }
  const runNow = async () => {
    const done = await act(UiRunScheduleNowDocument, { scheduleId }, { about: name, done: null })
    if (done) toast('done', `${name}: ${OUTCOME_WORDS[done.run.outcome]}`)
  }
  return {
    refusal,
    pause: () =>
      void during(() =>
        act(UiPauseScheduleDocument, { scheduleId }, { about: name, done: `${name} makes no runs any more.` }),
      ),
    resume: () =>
      void during(() =>
        act(UiResumeScheduleDocument, { scheduleId }, { about: name, done: `${name} goes on with its next run.` }),
      ),
    runNow: () => void during(runNow),
    askToDelete: () => setAsked(true),
    dialog: (
      <>
        {isAsked && (
          <Confirm
            title="Delete 1 schedule?"
            act="Delete it"
            isBusy={isBusy}
            onAct={() =>
              void during(async () => {
                const done = await act(
                  UiDeleteScheduleDocument,
                  { scheduleId },
                  { about: name, done: `${name} is deleted.` },
                )
                if (done) onDeleted()
              })
            }
            onClose={() => setAsked(false)}
          >
            {name} makes no more runs, and the record of its runs is deleted with it. Its chains stay, and go on.
          </Confirm>
        )}
      </>
    ),
  }
}
