import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useClient } from 'urql'
import { serverNow, setServerNow } from '../../api/clock.ts'
import { useLive, type Changes } from '../../api/live.ts'
import { UiChainsChangedDocument } from './chains.generated.ts'
import { DEFAULT_ORDER, filterOf, ORDERS, type ChainsSearch } from './chains-search.ts'
import {
  begunFor,
  keyOf,
  PAGE_ROWS,
  readAgain,
  readFirst,
  readMore,
  takeBegun,
  type ChainRow,
  type Counts,
  type Listed,
} from './read-chains.ts'

const UNTOUCHED_MS = 3_000

/** What has changed and is not shown, since the list does not move under the pointer. */
export interface Pending {
  fresh: ReadonlySet<string>
  moved: ReadonlySet<string>
}

const NOTHING: Pending = { fresh: new Set(), moved: new Set() }

export interface ChainList {
  rows: readonly ChainRow[]
  counts: Counts | null
  isLoading: boolean
  hasMore: boolean
  error: Error | undefined
  pending: Pending
  loadMore: () => void
  reload: () => void
}

/**
 * The chains of a search, a page at a time, and kept up to date. `isAtTop`: nobody has scrolled away from the first rows.
 */
export function useChainList(
  search: ChainsSearch,
  isAtTop: () => boolean,
  visible: () => readonly string[],
): ChainList {
  const client = useClient()
  const [listed, setListed] = useState<Listed | null>(() => begunFor(keyOf(search))?.listed ?? null)
  const [counts, setCounts] = useState<Counts | null>(null)
  const [error, setError] = useState<Error>()
  const [pending, setPending] = useState(NOTHING)
  const [round, setRound] = useState(0)
  const touchedAt = useTouch()
  const loading = useRef(false)

  const orderBy = ORDERS[search.order ?? DEFAULT_ORDER]
  const key = keyOf(search)
  // oxlint-disable-next-line react/exhaustive-deps -- the time that is in it stays what it was when the list was read
  const filter = useMemo(() => filterOf(search, serverNow()), [key, round])

  const shownKey = useRef(key)
  useEffect(() => {
    let left = false
    setPending(NOTHING)
    loading.current = true
    const isAgain = shownKey.current === key && round > 0
    if (shownKey.current !== key) setListed(null)
    shownKey.current = key
    const begun = takeBegun(key) ?? (isAgain ? readAgain : readFirst)(client, filter, orderBy)
    begun.rows
      .then(
        (first) => {
          if (left) return
          setListed(first)
          setError(undefined)
        },
        (refused: unknown) => left || setError(refused as Error),
      )
      .finally(() => {
        if (!left) loading.current = false
      })
    void begun.counts.then((read) => void (read && !left && setCounts(read)))
    return () => {
      left = true
    }
  }, [client, key, filter, orderBy, round])

  const loadMore = useCallback(() => {
    if (loading.current || !listed?.hasMore) return
    loading.current = true
    readMore(client, filter, orderBy, listed.endCursor!)
      .then(
        (next) =>
          setListed((before) => {
            if (!before) return next
            const known = new Set(before.rows.map(({ id }) => id))
            const rows = [...before.rows, ...next.rows.filter(({ id }) => !known.has(id))]
            return { ...next, rows, cursor: before.cursor }
          }),
        (refused: unknown) => setError(refused as Error),
      )
      .finally(() => {
        loading.current = false
      })
  }, [client, filter, orderBy, listed])

  const reload = useCallback(() => setRound((last) => last + 1), [])

  const replace = useCallback((rows: readonly ChainRow[]) => {
    const byId = new Map(rows.map((row) => [row.id, row]))
    setListed((before) => before && { ...before, rows: before.rows.map((row) => byId.get(row.id) ?? row) })
  }, [])

  const follow = async ({ chainIds }: Changes) => {
    if (isAtTop() && performance.now() - touchedAt.current > UNTOUCHED_MS) return reload()
    const known = new Set(listed!.rows.map(({ chainId }) => chainId))
    const onScreen = new Set(visible())
    const shown = chainIds.filter((id) => onScreen.has(id)).slice(0, PAGE_ROWS)
    const unknown = chainIds.filter((id) => !known.has(id)).slice(0, PAGE_ROWS)
    const { data } = await client
      .query(
        UiChainsChangedDocument,
        {
          first: PAGE_ROWS,
          shown: { ids: shown },
          fresh: { ...filter, ids: unknown },
          filter: { ...filter, state: undefined },
        },
        { requestPolicy: 'network-only' },
      )
      .toPromise()
    if (!data) return undefined
    setServerNow(data.now)
    replace(data.shown.edges.map(({ node }) => node))
    setCounts(data.counted.counts)
    setPending(({ fresh, moved }) => ({
      fresh: new Set([...fresh, ...data.fresh.edges.map(({ node }) => node.chainId)]),
      moved: new Set([...moved, ...chainIds.filter((id) => known.has(id))]),
    }))
    return undefined
  }
  useLive({ cursor: listed?.cursor ?? null, project: search.project, onChanges: follow, onMissed: reload })

  return {
    rows: listed?.rows ?? [],
    counts,
    isLoading: listed === null && error === undefined,
    hasMore: listed?.hasMore ?? false,
    error,
    pending,
    loadMore,
    reload,
  }
}

/** When somebody last did anything here. */
function useTouch() {
  const at = useRef(-Infinity)
  useEffect(() => {
    const touch = () => {
      at.current = performance.now()
    }
    const events = ['pointermove', 'pointerdown', 'wheel', 'keydown', 'touchmove'] as const
    for (const event of events) document.addEventListener(event, touch, { passive: true })
    return () => {
      for (const event of events) document.removeEventListener(event, touch)
    }
  }, [])
  return at
}
