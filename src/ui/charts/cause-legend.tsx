import type { MouseEvent } from 'react'
import { CauseMark } from '../design/cause-mark.tsx'
import { lookOfCause } from '../design/causes.ts'
import { count, percentage } from '../words/count.ts'
import './charts.css'

interface Props {
  /** The most frequent first. */
  causes: readonly { cause: string; failed: number }[]
  chosen?: string | undefined
  /** Where a cause leads. */
  linkOf: (cause: string) => { href: string; onClick: (event: MouseEvent) => void }
}

/** What the colours of the bars are, and how much there is of each. */
export function CauseLegend({ causes, chosen, linkOf }: Props) {
  const total = causes.reduce((sum, { failed }) => sum + failed, 0)
  return (
    <ul className="cause-legend" aria-label="Causes">
      {causes.map(({ cause, failed }) => (
        <li key={cause}>
          <a
            className="cause-entry"
            aria-current={cause === chosen ? 'true' : undefined}
            data-faint={(chosen !== undefined && cause !== chosen) || undefined}
            {...linkOf(cause)}
          >
            <CauseMark {...lookOfCause(cause)} />
            <span>{lookOfCause(cause).words}</span>
            <b>{count(failed)}</b>
            <span className="cause-share">{percentage(failed, total)}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}
