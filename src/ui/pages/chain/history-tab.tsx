import { useQuery } from 'urql'
import { useReread, useRereadWhen } from '../../api/reread.ts'
import { HistoryTable } from '../../app/history/history-table.tsx'
import type { Moments } from '../../words/moment.ts'
import { UiHistoryDocument } from './chain.generated.ts'

/** What the scheduler did with an attempt. */
export function HistoryTab({ sessionId, status, moments }: { sessionId: string; status: string; moments: Moments }) {
  const variables = { sessionId, after: null }
  const [{ data, error }] = useQuery({ query: UiHistoryDocument, variables, requestPolicy: 'cache-and-network' })
  useRereadWhen(status, useReread(UiHistoryDocument, variables))
  if (error)
    return (
      <p className="chain-empty" role="alert">
        {error.message}
      </p>
    )
  const entries = data?.session?.schedulingHistory.edges.map(({ node }) => node)
  if (entries === undefined) return <div className="skeleton skeleton-rows" aria-busy="true" />
  if (entries.length === 0) return <p className="chain-empty">Nothing has been done with it yet.</p>
  return <HistoryTable label="History" entries={entries} moments={moments} />
}
