import { useState } from 'react'
import type { BulkActionState } from '../../client/schema-types.generated.ts'
import { useSend } from '../app/act.ts'
import { toast } from '../app/toasts.tsx'
import { Button } from '../design/controls.tsx'
import { CancelledIcon, FailedIcon, RunningIcon, SucceededIcon } from '../design/icons.tsx'
import { count, percentage } from '../words/numbers.ts'
import { reasonInWords } from './bulk-words.ts'
import {
  UiAbortBulkActionDocument,
  type UiOutcomeFragment,
  type UiProgressFragment,
  type UiRefusalGroupFragment,
} from './bulk.generated.ts'
import './bulk.css'

type Counts = Pick<UiProgressFragment, 'total' | 'done' | 'refusedCount' | 'pending' | 'state'>

/** The progress as a bar: done, refused, left. */
export function ProgressBar({ progress, label }: { progress: Counts; label: string }) {
  const { total, done, refusedCount, pending } = progress
  return (
    <div
      className="bulk-bar"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={total - pending}
      aria-valuetext={`${percentage(total - pending, total)}: ${leftInWords(progress)}`}
    >
      <span className="bulk-bar-done" style={{ flexGrow: done }} />
      <span className="bulk-bar-refused" style={{ flexGrow: refusedCount }} />
      <span className="bulk-bar-left" style={{ flexGrow: total === 0 ? 1 : pending }} />
    </div>
  )
}

/** `12 done, 3 refused, 85 left` */
export function leftInWords({ done, refusedCount, pending, state }: Counts): string {
  const parts = [`${count(done)} done`]
  if (refusedCount > 0) parts.push(`${count(refusedCount)} refused`)
  if (pending > 0) parts.push(`${count(pending)} ${state === 'RUNNING' ? 'left' : 'left undone'}`)
  return parts.join(', ')
}

/** The progress as numbers with their names below. */
export function ProgressFigures({ progress }: { progress: Counts }) {
  const { total, done, refusedCount, pending, state } = progress
  const figures = [
    { name: 'in all', value: total },
    { name: 'done', value: done, tone: 'done' },
    { name: 'refused', value: refusedCount, tone: 'refused' },
    { name: state === 'ABORTED' ? 'left undone' : 'left', value: pending, tone: 'left' },
  ]
  return (
    <dl className="bulk-figures">
      {figures.map(({ name, value, tone }) => (
        <div key={name}>
          <dt>
            {tone && <i className={`bulk-swatch ${tone}`} />}
            {name}
          </dt>
          <dd>{count(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

/** The reasons of refusals, each once, with the server's message for the first. */
export function Refusals({ title, groups }: { title: string; groups: readonly UiRefusalGroupFragment[] }) {
  if (groups.length === 0) return null
  return (
    <section className="refusals" aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {groups.map(({ code, count: many, message }) => (
          <li key={code}>
            <span className="refusals-count">{count(many)}</span>
            <span>
              {reasonInWords(code)}
              <span className="refusals-example">
                {many > 1 && 'the first: '}
                {message}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** `refused`: all were refused. */
export function StateMark({ state, refused }: { state: BulkActionState; refused: boolean }) {
  if (state === 'RUNNING') return <RunningIcon label="goes on" className="tone-running" />
  if (state === 'ABORTED') return <CancelledIcon label="stopped" className="tone-unknown" />
  if (refused) return <FailedIcon label="done to none" className="tone-exit" />
  return <SucceededIcon label="completed" className="tone-succeeded" />
}

/** Aborts the rest; finished items stay as they are. */
export function AbortButton({ id, onAborted }: { id: string; onAborted: (outcome: UiOutcomeFragment) => void }) {
  const send = useSend()
  const [isBusy, setBusy] = useState(false)
  const abort = async () => {
    setBusy(true)
    const { done, problem } = await send(UiAbortBulkActionDocument, { bulkActionId: id })
    setBusy(false)
    if (problem) toast('refused', problem.message)
    else onAborted(done.bulkAction)
  }
  return (
    <Button kind="danger" disabled={isBusy} onClick={() => void abort()}>
      Stop here
    </Button>
  )
}
