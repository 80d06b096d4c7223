import { useState } from 'react'

/** A page of a list, and how to get to another one. */
export interface Place {
  after: string | null
  /** Rows before it. */
  offset: number
  /** Null if there is none. */
  first: (() => void) | null
  /** `list`: the page as it was read. Null if there is none behind it. */
  onward: (list: List | null | undefined) => (() => void) | null
}

interface List {
  edges: readonly unknown[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

/** Where in a list its page begins: under another `key` at its first row. */
export function usePlace(key: string): Place {
  const [place, setPlace] = useState<{ key: string; after: string; offset: number }>()
  const { after, offset } = place?.key === key ? place : { after: null, offset: 0 }
  return {
    after,
    offset,
    first: after === null ? null : () => setPlace(undefined),
    onward: (list) => {
      const { hasNextPage, endCursor } = list?.pageInfo ?? { hasNextPage: false, endCursor: null }
      if (!hasNextPage || endCursor === null) return null
      return () => setPlace({ key, after: endCursor, offset: offset + list!.edges.length })
    },
  }
}
