import { useState } from 'react'
import { useSteadyRows, type Steady } from '../../app/list/steady-rows.ts'
import { usePolled } from '../../api/poll.ts'
import { UiRetriesDocument, type UiRetriesQuery, type UiRetryRowFragment } from './retries.generated.ts'
import { filtersOf, type RetriesSearch } from './retries-search.ts'

/** `isGone`: it is no longer in the queue. */
export type Retry = Steady<UiRetryRowFragment>
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
  const filters = filtersOf(search)
  const key = JSON.stringify(filters)
  const [place, setPlace] = useState<{ key: string; after: string | null; offset: number }>()
  // Under another filter it begins at its head.
  const { after, offset } = place?.key === key ? place : { after: null, offset: 0 }
  const { data, error, again } = usePolled(UiRetriesDocument, { ...filters, first: PAGE_ROWS, after }, EVERY_MS)
  const fresh = data?.retryDecisions.edges.map(({ node }) => node) ?? []
  const { rows, hold, release } = useSteadyRows(`${key} ${after}`, fresh)
  const endCursor = data?.retryDecisions.pageInfo.hasNextPage ? data.retryDecisions.pageInfo.endCursor : null
  const go = (to: string | null, before: number) => {
    release()
    setPlace({ key, after: to, offset: before })
  }
  return {
    data,
    error,
    rows,
    again,
    offset,
    next: endCursor === null ? null : () => go(endCursor, offset + fresh.length),
    head: after === null ? null : () => go(null, 0),
    hold,
    release,
  }
}
