import { useState } from 'react'
import { useViewer } from '../../app/viewer.ts'
import { usePolled } from '../../api/poll.ts'
import { UiRetriesDocument, type UiRetriesQuery, type UiRetryRowFragment } from './retries.generated.ts'
import { filtersOf, type RetriesSearch } from './retries-search.ts'

/** `isGone`: it was there when the pointer came, and is no longer in the queue. */
export type Retry = UiRetryRowFragment & { isGone?: true }
export type Queue = UiRetriesQuery

const PAGE_ROWS = 50
const EVERY_MS = 1_000

export interface Retries {
  data: Queue | undefined
  error: Error | undefined
  rows: readonly Retry[]
  again: () => void
  /** Rows before those that are shown. */
  offset: number
  next: (() => void) | null
  /** To the head of the queue. */
  head: (() => void) | null
  /** As long as somebody points at the rows, none of them moves. */
  hold: () => void
  release: () => void
}

/** The queue of retries, a page of it, read each second. */
export function useRetries(search: RetriesSearch): Retries {
  const { can } = useViewer()
  const filters = filtersOf(search)
  const key = JSON.stringify(filters)
  const [place, setPlace] = useState<{ key: string; after: string | null; offset: number }>()
  // Under another filter it begins at its head.
  const { after, offset } = place?.key === key ? place : { after: null, offset: 0 }
  const { data, error, again } = usePolled(
    UiRetriesDocument,
    { ...filters, first: PAGE_ROWS, after, administers: can.administer },
    EVERY_MS,
  )
  const fresh = data?.retryDecisions.edges.map(({ node }) => node) ?? []
  const [held, setHeld] = useState<{ key: string; rows: readonly Retry[] }>()
  const at = `${key} ${after}`
  const endCursor = data?.retryDecisions.pageInfo.hasNextPage ? data.retryDecisions.pageInfo.endCursor : null
  const go = (to: string | null, rows: number) => {
    setHeld(undefined)
    setPlace({ key, after: to, offset: rows })
  }
  return {
    data,
    error,
    rows: held?.key === at ? steady(held.rows, fresh) : fresh,
    again,
    offset,
    next: endCursor === null ? null : () => go(endCursor, offset + fresh.length),
    head: after === null ? null : () => go(null, 0),
    hold: () => setHeld((before) => (before?.key === at ? before : { key: at, rows: fresh })),
    release: () => setHeld(undefined),
  }
}

/** The rows that there were, in their places, as they are now. */
function steady(before: readonly Retry[], now: readonly Retry[]): Retry[] {
  const byId = new Map(now.map((row) => [row.id, row]))
  return before.map((row) => byId.get(row.id) ?? { ...row, isGone: true })
}
