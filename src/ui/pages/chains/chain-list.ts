import { useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useClient } from 'urql'
import { UiRetryNowDocument } from '../../api/act.generated.ts'
import { serverNow, setServerNow } from '../../api/clock.ts'
import { type Changes, useLive } from '../../api/live.ts'
import { useAct } from '../../app/act.ts'
import { useKeys } from '../../app/keys.ts'
import { chainFilterOf } from '../../app/list/filters.ts'
import { DEFAULT_ORDER, ORDERS, type SearchOf } from '../../app/list/search.ts'
import { useBefore, useSaved } from '../../app/places.tsx'
import { UiChainsChangedDocument } from './chains.generated.ts'
import {
  begunFor,
  type ChainRow,
  type Counts,
  keyOf,
  type Listed,
  PAGE_ROWS,
  readAgain,
  readCounts,
  readFirst,
  readMore,
  takeBegun,
} from './read-chains.ts'

const UNTOUCHED_MS = 3_000

/** Changes that are not shown yet, because the list does not move under the pointer. */
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
 * The chains of a search, page by page, kept up to date. `isAtTop`: whether the list is scrolled to its first rows.
 */
export function useChainList(
  search: SearchOf<'chains'>,
  isAtTop: () => boolean,
  visible: () => readonly string[],
): ChainList {
  const client = useClient()
  const key = keyOf(search)
  const kept = useBefore<{ key: string; listed: Listed | null; counts: Counts | null }>('chains')
  // The rows as they were when the user left the list; changes since then are followed from their cursor.
  const restored = useRef(kept?.key === key && kept.listed ? kept : null)
  const [listed, setListed] = useState<Listed | null>(() => restored.current?.listed ?? begunFor(key)?.listed ?? null)
  const [counts, setCounts] = useState<Counts | null>(restored.current?.counts ?? null)
  useSaved('chains', { key, listed, counts })
  const [error, setError] = useState<Error>()
  const [pending, setPending] = useState(NOTHING)
  const [round, setRound] = useState(0)
  const touchedAt = useTouch()
  const loading = useRef(false)

  const orderBy = ORDERS[search.order ?? DEFAULT_ORDER]
  // oxlint-disable-next-line react/exhaustive-deps -- its time stays that of the first read
  const filter = useMemo(() => chainFilterOf(search, serverNow()), [key, round])

  const shownKey = useRef(key)
  useEffect(() => {
    let left = false
    setPending(NOTHING)
    loading.current = true
    const isAgain = shownKey.current === key && round > 0
    if (shownKey.current !== key) setListed(null)
    shownKey.current = key
    const again = restored.current?.listed
    restored.current = null
    const begun = again
      ? { rows: Promise.resolve(again), counts: readCounts(client, filter) }
      : (takeBegun(key) ?? (isAgain ? readAgain : readFirst)(client, filter, orderBy))
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

/** The time of the last input on this page. */
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

export interface Rows {
  /** The chosen chains, each with its newest attempt at the time of the choice. */
  chosen: ReadonlyMap<string, string>
  /** The chain of the row to which the keys apply. */
  current: string | undefined
  choose: (chain: ChainRow) => void
  setCurrent: (chainId: string) => void
  /** Chooses all loaded rows except this one. */
  chooseAll: (but?: ChainRow) => void
  clear: () => void
}

/** The chosen rows, and the row to which the keys apply. */
export function useRows({ rows, reload }: ChainList, show: (index: number) => void): Rows {
  const navigate = useNavigate()
  const act = useAct()
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map())
  const [currentId, setCurrent] = useState<string>()
  const choose = useCallback(({ chainId, newestAttempt }: ChainRow) => {
    setChosen((before) => {
      const after = new Map(before)
      if (!after.delete(chainId)) after.set(chainId, newestAttempt.sessionId)
      return after
    })
  }, [])
  const clear = () => setChosen(new Map())
  const at = Math.max(
    0,
    rows.findIndex(({ chainId }) => chainId === currentId),
  )
  const row = rows[at]
  const move = (by: number) => {
    const to = currentId === undefined ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))
    const next = rows[to]
    if (!next) return
    show(to)
    setCurrent(next.chainId)
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-chain="${next.chainId}"]`)?.focus())
  }
  const retry = ({ name, newestAttempt: { sessionId } }: ChainRow) =>
    act(UiRetryNowDocument, { sessionId }, { about: name, done: `${name} is retried now.` })
  useKeys([
    { keys: 'j', does: 'next row', run: () => move(1) },
    { keys: 'k', does: 'row before', run: () => move(-1) },
    { keys: 'x', does: 'select the row', run: () => row && choose(row) },
    {
      keys: 'o',
      does: 'open the row, as enter does',
      run: () => row && void navigate({ to: '/chains/$chainId', params: { chainId: row.chainId } }),
    },
    { keys: 'r', does: 'retry the row now', run: () => row && void retry(row) },
    { keys: 'n', does: 'show what is new', run: reload },
  ])
  return {
    chosen,
    current: currentId,
    choose,
    setCurrent,
    chooseAll: (but) =>
      setChosen(
        new Map(rows.filter((each) => each !== but).map((each) => [each.chainId, each.newestAttempt.sessionId])),
      ),
    clear,
  }
}

/** Changes parameters of the address; undefined ones are left out of it. */
export function useChangeSearch(): (change: Partial<SearchOf<'chains'>>) => void {
  const navigate = useNavigate()
  return (change) =>
    void navigate({ to: '/chains', search: (before) => ({ ...before, dropped: undefined, ...change }), replace: true })
}
