import { type ReactNode, useState } from 'react'
import { problemOf } from '../../api/problem.ts'
import { Button } from '../../design/controls.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { count, counted } from '../../words/numbers.ts'
import { ProblemPanel } from '../problem-panel.tsx'
import '../../design/table.css'
import '../../design/panel.css'

interface ListPanelProps<Row> {
  label: string
  /** Class of its rows, which gives them their columns. */
  rowClass: string
  columns: readonly Column[]
  read: { data: unknown; error: Error | undefined; again: () => void }
  rows: readonly Row[]
  /** Rows of the list before these, and whether there are more behind them. */
  offset?: number
  hasMore: boolean
  /** In the place of no rows. */
  empty: ReactNode
  /** While the pointer is on the rows they may be kept where they are. */
  hold?: () => void
  release?: () => void
  /** `rowIndex` is the row's number for assistive technology. */
  children: (row: Row, rowIndex: number) => ReactNode
}

type Column = string | { title: string; className?: string; isHidden?: boolean }

/** A list in each of its states: as it was read, out of date, not readable, not read yet, without rows. */
export function ListPanel<Row>(props: ListPanelProps<Row>) {
  const { label, rowClass, columns, read, rows, offset = 0, hasMore, empty, hold, release, children } = props
  const { data, error, again } = read
  return (
    <>
      {error && data !== undefined && (
        <p className="notice" role="status">
          This is no longer up to date: {problemOf(error).message}
        </p>
      )}
      <div className="table-panel">
        {data === undefined && error ? (
          <ProblemPanel error={error} onAgain={again} />
        ) : data === undefined ? (
          <Skeleton />
        ) : rows.length === 0 ? (
          empty
        ) : (
          <div
            role="table"
            aria-label={label}
            aria-rowcount={hasMore ? -1 : offset + rows.length + 1}
            className="list-table"
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is scrolled by keys
            tabIndex={0}
          >
            <div role="rowgroup" className="table-columns">
              <div role="row" aria-rowindex={1} className={`table-row ${rowClass} head`}>
                {columns.map(headOf)}
              </div>
            </div>
            <div role="rowgroup" onPointerEnter={hold} onPointerLeave={release}>
              {rows.map((row, index) => children(row, offset + index + 2))}
            </div>
          </div>
        )}
      </div>
    </>
  )
}

function headOf(column: Column) {
  const { title, className, isHidden = false } = typeof column === 'string' ? { title: column } : column
  return (
    <span key={title} role="columnheader" className={className}>
      {isHidden ? <span className="visually-hidden">{title}</span> : title}
    </span>
  )
}

/** Where a filter leaves nothing: what of it can be taken away. */
export function EmptyUnderFilters(props: {
  /** `No agent fits` */
  title: string
  filters: Readonly<Record<string, string | undefined>>
  onRemove: (name: string) => void
}) {
  const { title, filters, onRemove } = props
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>Take away what leaves out too much:</p>
      <div className="empty-filters">
        {Object.entries(filters)
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <Button key={name} className="chip" onClick={() => onRemove(name)}>
              <span>
                {name} {value}
              </span>
            </Button>
          ))}
      </div>
    </div>
  )
}

interface PageFootProps {
  /** `agent` */
  noun: string
  /** On this page, and before it. */
  rows: number
  offset: number
  /** Null if there is none. */
  first: (() => void) | null
  next: (() => void) | null
}

/** Below a list: which rows these are, and the way to others. */
export function PageFoot({ noun, rows, offset, first, next }: PageFootProps) {
  const isPart = next !== null || offset > 0
  return (
    <footer className="table-foot">
      {rows > 0 && <span>{isPart ? `${count(offset + 1)} to ${count(offset + rows)}` : counted(rows, noun)}</span>}
      {first && <Button onClick={first}>First ones</Button>}
      {next && <Button onClick={next}>More</Button>}
    </footer>
  )
}

/** Query parameters that could not be parsed. */
export function Dropped({ names }: { names: readonly string[] | undefined }) {
  if (names === undefined) return null
  return (
    <p className="notice" role="status">
      Not understood in the address, and left out: {names.join(', ')}
    </p>
  )
}

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

/** `isGone`: it was there when the pointer came, and is there no longer. */
export type Steady<Row> = Row & { isGone?: true }

/**
 * Rows of a list that is read again and again: as long as somebody points at them, none of them moves. `of` says of
 * which list and of which page of it they are.
 */
export function useSteadyRows<Row extends { id: string }>(of: string, fresh: readonly Row[]) {
  const [held, setHeld] = useState<{ of: string; rows: readonly Row[] }>()
  return {
    rows: held?.of === of ? steady(held.rows, fresh) : (fresh as readonly Steady<Row>[]),
    hold: () => setHeld((before) => (before?.of === of ? before : { of, rows: fresh })),
    release: () => setHeld(undefined),
  }
}

/** The rows that there were, in their places, as they are now. */
function steady<Row extends { id: string }>(before: readonly Row[], now: readonly Row[]): Steady<Row>[] {
  const byId = new Map(now.map((row) => [row.id, row]))
  return before.map((row) => byId.get(row.id) ?? { ...row, isGone: true })
}
