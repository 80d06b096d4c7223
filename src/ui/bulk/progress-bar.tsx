import { count, percentage } from '../words/count.ts'
import type { UiProgressFragment } from './bulk.generated.ts'
import './bulk.css'

type Counts = Pick<UiProgressFragment, 'total' | 'done' | 'refusedCount' | 'pending' | 'state'>

/** How far it is: what was done, refused, and is left. */
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

/** The same as numbers with their names below. */
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
