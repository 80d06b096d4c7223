import type { MouseEvent } from 'react'
import { lookOfCause } from '../design/causes.ts'
import { CauseMark } from '../design/panel.tsx'
import { count, percentage } from '../words/numbers.ts'
import type { Moments } from '../words/time.ts'
import { type CauseBucket, causesOf, spanWords } from './cause-stacks.ts'
import './charts.css'

interface Props {
  /** The causes, the most frequent first. */
  causes: readonly { cause: string; failed: number }[]
  chosen?: string | undefined
  /** The link of a cause. */
  linkOf: (cause: string) => { href: string; onClick: (event: MouseEvent) => void }
}

/** The legend of the bars' colours, with the number of each. */
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

/** The numbers of the bars as a table, for screen readers and for people who prefer to read. */
export function CauseTable({ buckets, moments }: { buckets: readonly CauseBucket[]; moments: Moments }) {
  const causes = causesOf(buckets).map(({ cause }) => cause)
  const rows = buckets.filter(({ byCause }) => byCause.some(({ failed }) => failed > 0)).toReversed()
  if (rows.length === 0) return null
  return (
    <details className="cause-table">
      <summary>As a table</summary>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls it */}
      <div className="cause-table-space" tabIndex={0} role="group" aria-label="Failed attempts by cause, as a table">
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {causes.map((cause) => (
                <th key={cause} scope="col">
                  {lookOfCause(cause).words}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((bucket) => (
              <tr key={bucket.from}>
                <th scope="row">{spanWords(bucket, moments)}</th>
                {causes.map((cause) => (
                  <td key={cause}>{count(bucket.byCause.find((each) => each.cause === cause)?.failed ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
