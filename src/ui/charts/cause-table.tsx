import { lookOfCause } from '../design/causes.ts'
import { count } from '../words/count.ts'
import type { Moments } from '../words/moment.ts'
import { causesOf, type CauseBucket } from './cause-stacks.ts'
import { spanWords } from './cause-times.ts'
import './charts.css'

/** What the bars show, in numbers: for screen readers, and for everybody who would rather read. */
export function CauseTable({ buckets, moments }: { buckets: readonly CauseBucket[]; moments: Moments }) {
  const causes = causesOf(buckets).map(({ cause }) => cause)
  const rows = buckets.filter(({ byCause }) => byCause.some(({ failed }) => failed > 0)).toReversed()
  if (rows.length === 0) return null
  return (
    <details className="cause-table">
      <summary>As a table</summary>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is scrolled by keys */}
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
