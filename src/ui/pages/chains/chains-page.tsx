import { getRouteApi } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { startTransition, useEffect, useRef, useState } from 'react'
import { IgnoredParameters } from '../../app/list/list-page.tsx'
import { DEFAULT_ORDER, type OrderWord, type SearchOf, STATE_TABS, type StateTab } from '../../app/list/search.ts'
import { ProblemPanel, useTitle } from '../../app/page.tsx'
import { FollowSwitches } from '../../app/retry/switches.tsx'
import { Button, Keys } from '../../design/controls.tsx'
import { ArrowUpIcon } from '../../design/icons.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { ColumnHead } from '../../design/table.tsx'
import { count, counted } from '../../words/numbers.ts'
import { type ChainList, useChainList, useChangeSearch, useRows } from './chain-list.ts'
import { ChainRow } from './chain-row.tsx'
import { Filters, StateTabs } from './filters.tsx'
import { SelectionBar, useAll } from './selection-bar.tsx'
import { useColumns } from './views.tsx'
import '../../design/table.css'
import './chains.css'
import '../../design/panel.css'

const route = getRouteApi('/frame/chains')

const ROW_PX = 37
/** The height of the heading, which stays above the rows. */
const HEAD_PX = 31
const ROW_NARROW_PX = 63
/** The share of the window's height that the rows take, roughly. */
const TABLE_SHARE = 0.7
/** Rows drawn above and below the view, after the visible ones. */
const OVERSCAN_ROWS = 12
const NARROW = '(width < 720px)'
/**
 * The next page is read when fewer loaded rows than this are left below the view; with few rows, a quarter of them.
 */
const AHEAD_ROWS = 40

export function ChainsPage() {
  const search = route.useSearch()
  const scroller = useRef<HTMLDivElement>(null)
  const onScreen = useRef<readonly string[]>([])
  const list = useChainList(
    search,
    () => (scroller.current?.scrollTop ?? 0) === 0,
    () => onScreen.current,
  )
  const { rows, error, isLoading } = list
  useTitle('Chains')
  const { without, columns } = useColumns()
  const isNarrow = useMatches(NARROW)
  const isDrawn = useDrawn(rows.length > 0)
  // oxlint-disable-next-line react/incompatible-library -- no compiler memoizes it
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? ROW_NARROW_PX : ROW_PX),
    // Assumed until it is measured, so that the first frame has rows.
    initialRect: { width: innerWidth, height: innerHeight * TABLE_SHARE },
    overscan: isDrawn ? OVERSCAN_ROWS : 0,
    scrollPaddingStart: isNarrow ? 0 : HEAD_PX,
    getItemKey: (index) => rows[index]!.id,
  })
  useEffect(() => virtual.measure(), [virtual, isNarrow])
  const items = virtual.getVirtualItems()
  useEffect(() => {
    onScreen.current = items.map(({ index }) => rows[index]?.chainId).filter((id) => id !== undefined)
    const last = items.at(-1)
    if (last && last.index >= rows.length - Math.min(AHEAD_ROWS, rows.length / 4)) list.loadMore()
  })

  const selected = useRows(list, (index) => virtual.scrollToIndex(index))
  const { chosen, current } = selected
  const all = useAll(search, chosen)
  const total = totalOf(list, search.state)
  const showsProject = search.project === undefined && new Set(rows.map(({ project }) => project.id)).size > 1
  const { fresh, moved } = list.pending
  const change = useChangeSearch()
  const sorting = {
    order: search.order ?? DEFAULT_ORDER,
    onOrder: (order: string | undefined) =>
      change({ order: order === DEFAULT_ORDER ? undefined : (order as OrderWord | undefined) }),
  }
  return (
    <div className="list-page">
      <div className="list-head">
        <h1 tabIndex={-1}>Chains</h1>
        <SelectionBar rows={selected} all={all} total={total} onDone={list.reload} />
      </div>
      <StateTabs state={search.state} counts={list.counts} />
      <Filters search={search} />
      <IgnoredParameters names={search.dropped} />
      <div className="table-panel">
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
            className="list-table chains-table"
            data-without={without}
            style={columns}
            ref={scroller}
          >
            <div role="rowgroup" className="table-columns">
              <div role="row" aria-rowindex={1} className="table-row chain-row head">
                <span role="columnheader" className="chain-choice">
                  <input
                    type="checkbox"
                    aria-label="Select the rows that are loaded"
                    checked={all.isAll || (rows.length > 0 && chosen.size >= rows.length)}
                    onChange={() => {
                      if (all.isAll || chosen.size >= rows.length) selected.clear()
                      else selected.chooseAll()
                      all.setAll(false)
                    }}
                  />
                </span>
                <ColumnHead title="Name" className="chain-name" name="name" {...sorting} />
                <ColumnHead title="Attempts" className="chain-attempts" name="attempts" isDown {...sorting} />
                <span role="columnheader" className="chain-outlook">
                  Outlook
                </span>
                <span role="columnheader" className="chain-ran">
                  Ran
                </span>
                <ColumnHead title="Latest" className="chain-latest" name="latest" isDown {...sorting} />
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
                        isChosen={all.isAll || chosen.has(row.chainId)}
                        isCurrent={row.chainId === (current ?? rows[0]!.chainId)}
                        showsProject={showsProject}
                        style={{ transform: `translateY(${start}px)` }}
                        onChoose={all.isAll ? selected.chooseAll : selected.choose}
                        onFocus={selected.setCurrent}
                      />
                    )
                  })}
                </div>
              )}
            </div>
          </div>
        )}
      </div>
      <Foot list={list} total={total} />
      {rows.some(({ state }) => state === 'WAITING_RETRY') && <FollowSwitches />}
    </div>
  )
}

/** The number of matching chains, loaded or not. */
function totalOf({ counts }: ChainList, state: StateTab | undefined): Total | null {
  if (!counts) return null
  const some = state === undefined ? counts : counts.filter((each) => each.state === STATE_TABS[state])
  return {
    count: some.reduce((sum, each) => sum + each.count, 0),
    isExact: some.every(({ isExact }) => isExact),
  }
}

interface Total {
  count: number
  isExact: boolean
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

function Foot({ list: { rows, hasMore }, total }: { list: ChainList; total: Total | null }) {
  return (
    <footer className="table-foot">
      <span>
        {total && (total.isExact ? counted(total.count, 'chain') : `${count(total.count)}+ chains`)}
        {hasMore && ` · ${count(rows.length)} loaded`}
      </span>
      <span className="table-foot-keys" aria-hidden="true">
        <Keys keys="j k" /> move <Keys keys="x" /> select <Keys keys="enter" /> open <Keys keys="r" /> retry now{' '}
        <Keys keys="?" /> keys
      </span>
    </footer>
  )
}

/** Whether a frame has been drawn since `isThere` became true. */
function useDrawn(isThere: boolean): boolean {
  const [isDrawn, setIsDrawn] = useState(false)
  useEffect(() => {
    if (!isThere) return undefined
    const frame = requestAnimationFrame(() => startTransition(() => setIsDrawn(true)))
    return () => cancelAnimationFrame(frame)
  }, [isThere])
  return isDrawn
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

const FIRST = `npx reprise run --name first --retries 3 --retry-delay 5s -- \\
  sh -c 'echo attempt $REPRISE_ATTEMPT; test $REPRISE_ATTEMPT -ge 3'
npx reprise chains`

/** Shown where there are no chains: the filters, or how to create the first one. */
export function Empty({ search }: { search: SearchOf<'chains'> }) {
  const change = useChangeSearch()
  const { order: _, dropped: __, ...narrowing } = search
  const filters = Object.entries(narrowing).filter(([, value]) => value !== undefined)
  if (filters.length > 0) {
    return (
      <div className="empty">
        <h2>No chain fits</h2>
        <p>Take away what leaves out too much:</p>
        <div className="empty-filters">
          {filters.map(([name, value]) => (
            <Button key={name} className="chip" onClick={() => change({ [name]: undefined })}>
              <span>
                {name === 'q' ? 'search' : name} {value}
              </span>
            </Button>
          ))}
        </div>
        {filters.length > 1 && (
          <Button kind="quiet" onClick={() => change(Object.fromEntries(filters.map(([name]) => [name, undefined])))}>
            All of them
          </Button>
        )}
      </div>
    )
  }
  return (
    <div className="empty">
      <h2>No chains yet</h2>
      <p>A chain is one piece of work with all its attempts. This one fails twice and succeeds on its third:</p>
      <pre className="empty-command">{FIRST}</pre>
      <Button onClick={() => void navigator.clipboard.writeText(FIRST)}>Copy</Button>
    </div>
  )
}
