import { useCallback, useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'
import type { ResubmissionItemStatus } from '../../../client/schema-types.generated.ts'
import {
  UiResubmissionItemsDocument,
  type UiResubmissionItemFragment,
} from '../resubmissions/resubmissions.generated.ts'

const PAGE_ROWS = 100

interface Listed {
  rows: readonly UiResubmissionItemFragment[]
  endCursor: string | null
}

export interface Items {
  /** Null until they are read. */
  rows: readonly UiResubmissionItemFragment[] | null
  error: Error | null
  /** Null where all are there. */
  more: (() => void) | null
  /** Reads the first page again, unless somebody has gone beyond it. */
  refresh: () => void
}

/** What became of each, a page at a time. */
export function useItems(id: string, status: ResubmissionItemStatus | null): Items {
  const client = useClient()
  const key = `${id} ${status}`
  const [listed, setListed] = useState<Listed & { key: string }>()
  const [error, setError] = useState<Error | null>(null)
  const shown = listed?.key === key ? listed : undefined
  /** Answers to what is no longer shown may come later than those to what is. */
  const wanted = useRef(key)
  useEffect(() => {
    wanted.current = key
  }, [key])

  const read = useCallback(
    async (after: string | null): Promise<Listed> => {
      const variables = { id, status, first: PAGE_ROWS, after }
      const { data, error: refused } = await client
        .query(UiResubmissionItemsDocument, variables, { requestPolicy: 'network-only' })
        .toPromise()
      const items = data?.resubmission?.items
      if (!items) throw refused ?? new Error('There is no such resubmission')
      const { hasNextPage, endCursor } = items.pageInfo
      return { rows: items.edges.map(({ node }) => node), endCursor: hasNextPage ? endCursor : null }
    },
    [client, id, status],
  )
  const readFirst = useCallback(async () => {
    try {
      const first = await read(null)
      if (wanted.current !== key) return
      setError(null)
      setListed((last) => (last?.key === key && last.rows.length > first.rows.length ? last : { ...first, key }))
    } catch (refused) {
      if (wanted.current === key) setError(refused as Error)
    }
  }, [read, key])
  useEffect(() => void readFirst(), [readFirst])

  const more = async (after: string) => {
    try {
      const next = await read(after)
      setListed((last) => (last?.key === key ? { ...next, key, rows: [...last.rows, ...next.rows] } : last))
    } catch (refused) {
      if (wanted.current === key) setError(refused as Error)
    }
  }
  const endCursor = shown?.endCursor ?? null
  return {
    rows: shown?.rows ?? null,
    error,
    more: endCursor === null ? null : () => void more(endCursor),
    refresh: () => void readFirst(),
  }
}
