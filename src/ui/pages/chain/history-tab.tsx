import { useEffect } from 'react'
import { useQuery } from 'urql'
import type { Moments } from '../../words/moment.ts'
import { UiHistoryDocument } from './chain.generated.ts'

/** What the scheduler did with an attempt. */
export function HistoryTab({ sessionId, status, moments }: { sessionId: string; status: string; moments: Moments }) {
  const [{ data, error }, refresh] = useQuery({
    query: UiHistoryDocument,
    variables: { sessionId, after: null },
    requestPolicy: 'cache-and-network',
  })
  useEffect(() => refresh({ requestPolicy: 'network-only' }), [status, refresh])
  if (error)
    return (
      <p className="empty" role="alert">
        {error.message}
      </p>
    )
  const entries = data?.session?.schedulingHistory.edges.map(({ node }) => node)
  if (entries === undefined) return <div className="skeleton skeleton-rows" aria-busy="true" />
  if (entries.length === 0) return <p className="empty">Nothing has been done with it yet.</p>
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is reached by the keyboard
    <div className="scroll-x" role="region" aria-label="History" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">at</th>
            <th scope="col">what</th>
            <th scope="col">status</th>
            <th scope="col">result</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- its only name; entries are only added at the end
            <tr key={index}>
              <td className="nowrap" title={moments.absolute(Date.parse(entry.lastAt))}>
                {moments.clock(Date.parse(entry.firstAt))}
              </td>
              <td>
                {entry.phase}
                {entry.attempts > 1 && <span className="soft"> × {entry.attempts}</span>}
              </td>
              <td className="nowrap soft">
                {entry.toStatus === null || entry.toStatus === entry.fromStatus
                  ? entry.fromStatus
                  : `${entry.fromStatus ?? ''} › ${entry.toStatus}`}
              </td>
              <td>
                {entry.result.toLowerCase().replaceAll('_', ' ')}
                {entry.message && <span className="soft">: {entry.message}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
