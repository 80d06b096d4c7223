import { lazy, Suspense, useState, type ReactNode } from 'react'
import { useAct } from '../../app/act/act.ts'
import { toast } from '../../app/toasts.tsx'
import { useViewer } from '../../app/viewer.ts'
import type { ScheduleRunOutcome } from '../../../client/schema-types.generated.ts'
import {
  UiDeleteScheduleDocument,
  UiPauseScheduleDocument,
  UiResumeScheduleDocument,
  UiRunScheduleNowDocument,
} from './schedules.generated.ts'

const Confirm = lazy(async () => ({ default: (await import('../../app/act/confirm.tsx')).Confirm }))

interface Options {
  schedule: { scheduleId: string; name: string }
  onDone: () => void
  onDeleted: () => void
}

interface ScheduleActions {
  /** Why it cannot be changed; null if it can. */
  refusal: string | null
  pause: () => void
  resume: () => void
  runNow: () => void
  askToDelete: () => void
  dialog: ReactNode
}

/** What becomes of a run that is asked for. */
const RUNS: Readonly<Record<ScheduleRunOutcome, string>> = {
  STARTED: 'a run has started.',
  QUEUED: 'the run waits until an earlier one has ended.',
  SKIPPED: 'the run was skipped, as an earlier one goes on.',
  MISSED: 'the run was missed.',
  REFUSED: 'the run was refused.',
}

/** What can be done with a schedule. */
export function useScheduleActions({ schedule: { scheduleId, name }, onDone, onDeleted }: Options): ScheduleActions {
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
    if (done) toast('done', `${name}: ${RUNS[done.run.outcome]}`)
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
      <Suspense>
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
            {name} makes no runs any more, and the record of its runs is deleted with it. The chains that it made stay,
            and go on.
          </Confirm>
        )}
      </Suspense>
    ),
  }
}
