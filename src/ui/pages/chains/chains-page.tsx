import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'
import { useKeys } from '../../app/keys.ts'
import { ProblemPanel } from '../../app/problem-panel.tsx'
import { toast } from '../../app/toasts.tsx'
import { useViewer } from '../../app/viewer.ts'
import { Button, Keys } from '../../design/button.tsx'
import { ArrowUpIcon, RetryIcon } from '../../design/icons.tsx'
import { Skeleton } from '../../design/skeleton.tsx'
import { count, counted } from '../../words/count.ts'
import { useChainList, type ChainList, type ChainRow as Row } from './chain-list.ts'
import { ChainRow } from './chain-row.tsx'
import { UiRetryNowDocument } from './chains.generated.ts'
import { Empty } from './empty.tsx'
import { Filters, StateTabs } from './filters.tsx'
import './chains-page.css'

const route = getRouteApi('/frame/chains')

const ROW_PX = 37
/** Of the names of the columns, which stay above the rows. */
const HEAD_PX = 31
const ROW_NARROW_PX = 63
const NARROW = '(width < 720px)'
/** Rows before the end of what is loaded at which the next page is asked for. */
const AHEAD_ROWS = 40

export function ChainsPage() {
  const search = route.useSearch()
  const { can } = useViewer()
  const scroller = useRef<HTMLDivElement>(null)
  const onScreen = useRef<readonly string[]>([])
  const list = useChainList(
    search,
    () => (scroller.current?.scrollTop ?? 0) === 0,
    () => onScreen.current,
  )
  const { rows, error, isLoading } = list
  const isNarrow = useMatches(NARROW)
  // oxlint-disable-next-line react/incompatible-library -- nothing here is compiled to remember what it returns
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? ROW_NARROW_PX : ROW_PX),
    overscan: 12,
    scrollPaddingStart: isNarrow ? 0 : HEAD_PX,
    getItemKey: (index) => rows[index]!.id,
  })
  useEffect(() => virtual.measure(), [virtual, isNarrow])
  const items = virtual.getVirtualItems()
  useEffect(() => {
    onScreen.current = items.map(({ index }) => rows[index]?.chainId).filter((id) => id !== undefined)
    const last = items.at(-1)
    if (last && last.index >= rows.length - AHEAD_ROWS) list.loadMore()
  })

  const { chosen, current, choose, setCurrent, clear } = useRows(list, (index) => virtual.scrollToIndex(index))
  const retry = useRetryNow(list)
  const showsProject = search.project === undefined && new Set(rows.map(({ project }) => project.id)).size > 1
  const { fresh, moved } = list.pending
  return (
    <div className="chains-page">
      <div className="chains-head">
        <h1 tabIndex={-1}>Chains</h1>
        {chosen.size > 0 && (
          <div className="chains-chosen" role="status">
            <span>{count(chosen.size)} selected</span>
            {can.manageRetries && (
              <Button
                onClick={() => rows.filter(({ chainId }) => chosen.has(chainId)).forEach((row) => void retry(row))}
              >
                <RetryIcon /> Retry now
              </Button>
            )}
            <Button kind="quiet" onClick={clear}>
              Clear
            </Button>
          </div>
        )}
      </div>
      <StateTabs state={search.state} counts={list.counts} />
      <Filters search={search} />
      {search.dropped && (
        <p className="dropped" role="status">
          Not understood in the address, and left out: {search.dropped.join(', ')}
        </p>
      )}
      <div className="chains-panel">
        {(fresh.size > 0 || moved.size > 0) && <Pill list={list} scroller={scroller} />}
        {error && rows.length === 0 ? (
          <ProblemPanel error={error} onAgain={list.reload} />
        ) : !isLoading && rows.length === 0 ? (
          <Empty search={search} />
        ) : (
          <div
            role="table"
            aria-label="Chains"
            aria-rowcount={list.hasMore ? -1 : rows.length + 1}
            aria-busy={isLoading}
            className="chains-table"
            ref={scroller}
          >
            <div role="rowgroup" className="chains-columns">
              <div role="row" aria-rowindex={1} className="chain-row head">
                <span role="columnheader" className="chain-choice">
                  <span className="visually-hidden">Selected</span>
                </span>
                <span role="columnheader" className="chain-name">
                  Name
                </span>
                <span role="columnheader" className="chain-attempts">
                  Attempts
                </span>
                <span role="columnheader" className="chain-outlook">
                  Outlook
                </span>
                <span role="columnheader" className="chain-ran">
                  Ran
                </span>
                <span role="columnheader" className="chain-latest">
                  Latest
                </span>
              </div>
            </div>
            <div role="rowgroup">
              {isLoading ? (
                <Skeleton />
              ) : (
                <div role="presentation" className="chains-space" style={{ height: virtual.getTotalSize() }}>
                  {items.map(({ index, start, key }) => {
                    const row = rows[index]!
                    return (
                      <ChainRow
                        key={key}
                        chain={row}
                        rowIndex={index + 2}
                        isChosen={chosen.has(row.chainId)}
                        isCurrent={row.chainId === (current ?? rows[0]!.chainId)}
                        showsProject={showsProject}
                        style={{ transform: `translateY(${start}px)` }}
                        onChoose={choose}
                        onFocus={setCurrent}
                      />
                    )
                  })}
                </div>
              )}
            </div>
          </div>
        )}
      </div>
      <Foot list={list} total={totalOf(list, search.state)} />
    </div>
  )

  function useRetryNow({ put }: ChainList) {
    const client = useClient()
    return useCallback(
      async ({ name, newestAttempt: { sessionId } }: Row) => {
        const { data, error: refused } = await client.mutation(UiRetryNowDocument, { sessionId }).toPromise()
        if (data?.retryNow.__typename === 'RetryNowPayload') {
          put(data.retryNow.session.chain)
          toast('done', `${name} is retried now.`)
        } else {
          toast('refused', `${name}: ${data ? messageOf(data.retryNow) : (refused?.message ?? 'no answer')}`)
        }
      },
      [client, put],
    )
  }

  /** Which rows are chosen, and which one the keys are about. */
  function useRows({ rows: all, reload }: ChainList, show: (index: number) => void) {
    const navigate = useNavigate()
    const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
    const [currentId, setCurrentId] = useState<string>()
    const pick = useCallback(
      (chainId: string) =>
        setPicked((before) => {
          const after = new Set(before)
          if (!after.delete(chainId)) after.add(chainId)
          return after
        }),
      [],
    )
    const at = Math.max(
      0,
      all.findIndex(({ chainId }) => chainId === currentId),
    )
    const row = all[at]
    const move = (by: number) => {
      const to = currentId === undefined ? 0 : Math.min(all.length - 1, Math.max(0, at + by))
      const next = all[to]
      if (!next) return
      show(to)
      setCurrentId(next.chainId)
      requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-chain="${next.chainId}"]`)?.focus())
    }
    useKeys([
      { keys: 'j', does: 'next row', run: () => move(1) },
      { keys: 'k', does: 'row before', run: () => move(-1) },
      { keys: 'x', does: 'select the row', run: () => row && pick(row.chainId) },
      {
        keys: 'o',
        does: 'open the row, as enter does',
        run: () => row && void navigate({ to: '/chains/$chainId', params: { chainId: row.chainId } }),
      },
      { keys: 'r', does: 'retry the row now', run: () => row && void retry(row) },
      { keys: 'n', does: 'show what is new', run: reload },
      { keys: 'Escape', does: 'clear the selection', run: () => setPicked(new Set()) },
    ])
    return {
      chosen: picked,
      current: currentId,
      choose: pick,
      setCurrent: setCurrentId,
      clear: () => setPicked(new Set<string>()),
    }
  }
}

function messageOf(refusal: { __typename: string; message?: string }): string {
  return refusal.message ?? refusal.__typename
}

function totalOf({ counts }: ChainList, state: string | undefined): string | null {
  if (!counts) return null
  const some = state === undefined ? counts : counts.filter((each) => each.state === STATE_OF[state])
  const sum = some.reduce((total, each) => total + each.count, 0)
  return some.every(({ isExact }) => isExact) ? counted(sum, 'chain') : `${count(sum)}+ chains`
}

const STATE_OF: Readonly<Record<string, string>> = {
  running: 'LIVE',
  waiting: 'WAITING_RETRY',
  held: 'HELD',
  failed: 'FAILED',
  succeeded: 'SUCCEEDED',
  cancelled: 'CANCELLED',
}

function Pill({ list, scroller }: { list: ChainList; scroller: React.RefObject<HTMLDivElement | null> }) {
  const { fresh, moved } = list.pending
  const words = [moved.size > 0 && `${count(moved.size)} changed`, fresh.size > 0 && `${count(fresh.size)} new`]
  const show = () => {
    list.reload()
    scroller.current?.scrollTo({ top: 0 })
  }
  return (
    <div className="pill-place" role="status">
      <button type="button" className="pill" onClick={show}>
        <ArrowUpIcon />
        {words.filter(Boolean).join(', ')}
        <Keys keys="n" />
      </button>
    </div>
  )
}

function Foot({ list: { rows, hasMore }, total }: { list: ChainList; total: string | null }) {
  return (
    <footer className="chains-foot">
      <span>
        {total}
        {hasMore && ` · ${count(rows.length)} loaded`}
      </span>
      <span className="chains-foot-keys" aria-hidden="true">
        <Keys keys="j k" /> move <Keys keys="x" /> select <Keys keys="enter" /> open <Keys keys="r" /> retry now{' '}
        <Keys keys="?" /> keys
      </span>
    </footer>
  )
}

function useMatches(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const media = matchMedia(query)
    const change = () => setMatches(media.matches)
    media.addEventListener('change', change)
    return () => media.removeEventListener('change', change)
  }, [query])
  return matches
}
