import type { ResubmissionState } from '../../client/schema-types.generated.ts'
import { CancelledIcon, FailedIcon, RunningIcon, SucceededIcon } from '../design/icons.tsx'

/** `refused`: it was done to none. */
export function StateMark({ state, refused }: { state: ResubmissionState; refused: boolean }) {
  if (state === 'RUNNING') return <RunningIcon label="goes on" className="tone-running" />
  if (state === 'ABORTED') return <CancelledIcon label="stopped" className="tone-unknown" />
  if (refused) return <FailedIcon label="done to none" className="tone-exit" />
  return <SucceededIcon label="completed" className="tone-succeeded" />
}
