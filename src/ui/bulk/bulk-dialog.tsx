import { Link } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'
import type { SessionAction } from '../../client/schema-types.generated.ts'
import { NO_FAULTS, placeFaults, type Problem } from '../api/problem.ts'
import { ConfirmForm } from '../app/confirm.tsx'
import { Button, TextField } from '../design/controls.tsx'
import { Dialog } from '../design/dialog.tsx'
import { count, counted } from '../words/numbers.ts'
import { ACTION_WORDS } from './bulk-words.ts'
import type { UiDryRunFragment, UiOutcomeFragment } from './bulk.generated.ts'
import { Changes, useChanges } from './overrides.tsx'
import { AbortButton, ProgressBar, ProgressFigures, Refusals } from './progress.tsx'
import { type Selection, useBulk, useOutcome } from './use-bulk.ts'
import './bulk.css'

interface Props {
  action: SessionAction
  selection: Selection
  onClose: () => void
  /** Called after the action: shown data may have changed. */
  onDone: () => void
}

/** Shows what an action would do and what would be refused, asks for confirmation, and shows its progress. */
export function BulkDialog({ action, selection, onClose, onDone }: Props) {
  const { stage, begin, tryWith, again } = useBulk(action, selection)
  const { act, noun } = ACTION_WORDS[action]
  if (stage.kind === 'begun') return <Begun first={stage.first} {...{ action, onClose, onDone }} />
  if (stage.kind === 'refused') {
    const { message, issues } = stage.problem
    return (
      <Dialog title={`${noun}: refused`} onClose={onClose}>
        <div className="dialog-note" role="alert">
          <p>{message}</p>
          {issues.map((issue) => (
            <p key={issue.path}>{issue.message}</p>
          ))}
        </div>
        <div className="dialog-buttons">
          <Button onClick={onClose}>Close</Button>
          <Button onClick={again}>Try again</Button>
        </div>
      </Dialog>
    )
  }
  if (stage.kind === 'trying') {
    return (
      <Dialog title={act} onClose={onClose}>
        <p className="dialog-note" role="status">
          Trying it without changes…
        </p>
        <div className="bulk-waiting" aria-hidden="true" />
      </Dialog>
    )
  }
  const { tried, isBusy, problem, refused } = stage
  return <Asking {...{ action, onClose, tried, isBusy, problem, refused, begin, tryWith }} />
}

interface AskingProps extends Pick<ReturnType<typeof useBulk>, 'begin' | 'tryWith'> {
  action: SessionAction
  tried: UiDryRunFragment
  isBusy: boolean
  problem: Problem | null
  refused: Problem | null
  onClose: () => void
}

function Asking({ action, tried, isBusy, problem, refused, begin, tryWith, onClose }: AskingProps) {
  const [reason, setReason] = useState('')
  const changes = useChanges(tryWith)
  const { act, follows, isDestructive } = ACTION_WORDS[action]
  // The changes of a resubmission show their faults themselves.
  const faults = refused && action !== 'RESUBMIT' ? placeFaults(refused, ['reason']) : NO_FAULTS
  const left = tried.total - tried.count
  const refusals = <Refusals title={`${counted(left, 'chain')} would be refused`} groups={tried.refusals} />
  if (tried.count === 0 && !changes.isAny) {
    return (
      <Dialog
        title={tried.total === 0 ? 'Nothing matches any more' : 'It is possible for none of them'}
        onClose={onClose}
      >
        {refusals}
        <div className="dialog-buttons">
          <Button onClick={onClose}>Close</Button>
        </div>
      </Dialog>
    )
  }
  const isRight = changes.isTried && problem === null && tried.count > 0
  return (
    <Dialog title={`${act}: ${counted(tried.count, 'chain')}?`} onClose={onClose}>
      <ConfirmForm
        act={act}
        keep="Cancel"
        kind={isDestructive ? 'danger' : 'primary'}
        count={tried.count}
        isBusy={isBusy || !isRight}
        onAct={() =>
          void begin({
            ...(reason.trim() !== '' && { reason: reason.trim() }),
            ...(changes.isAny && { overrides: changes.overrides }),
          })
        }
        onClose={onClose}
      >
        <div className="bulk-outcome">
          <p>{follows}</p>
          {action === 'RESUBMIT' && <Changes changes={changes} problem={problem ?? refused} />}
          {refusals}
          {action === 'TERMINATE' && (
            <TextField
              label="Reason"
              hint="for those who read the chain's history"
              fault={faults.fields['reason']}
              spellCheck
              value={reason}
              maxLength={500}
              onType={setReason}
            />
          )}
          {faults.rest !== null && (
            <p className="field-note" role="alert">
              {faults.rest}
            </p>
          )}
        </div>
      </ConfirmForm>
    </Dialog>
  )
}

function Begun(props: { action: SessionAction; first: UiOutcomeFragment; onClose: () => void; onDone: () => void }) {
  const { action, first, onClose, onDone } = props
  const { outcome, error, put } = useOutcome(first)
  const { noun, done } = ACTION_WORDS[action]
  const isRunning = outcome.state === 'RUNNING'
  const told = useEffectEvent(onDone)
  useEffect(() => {
    if (!isRunning) told()
  }, [isRunning])
  return (
    <Dialog title={isRunning ? `${noun} goes on` : `${counted(outcome.done, 'chain')} ${done}`} onClose={onClose}>
      <div className="bulk-outcome" role="status" aria-live="polite">
        <ProgressBar progress={outcome} label={noun} />
        <ProgressFigures progress={outcome} />
        {error !== null && <p className="dialog-note">Its progress is no longer shown here: {error.message}</p>}
        <Refusals title={`${count(outcome.refusedCount)} refused`} groups={outcome.refusals} />
      </div>
      <div className="dialog-buttons">
        <Link to="/bulk-actions/$bulkActionId" params={{ bulkActionId: outcome.bulkActionId }} className="button">
          Each chain of it
        </Link>
        {isRunning && <AbortButton id={outcome.bulkActionId} onAborted={put} />}
        <Button kind="primary" onClick={onClose}>
          {isRunning ? 'Close; it continues' : 'Close'}
        </Button>
      </div>
    </Dialog>
  )
}
