import type { ReactNode } from 'react'
import { problemOf } from '../../api/problem.ts'
import { Skeleton } from '../../design/skeleton.tsx'
import { ProblemPanel } from '../problem-panel.tsx'
import '../../design/table.css'

interface Props<Row> {
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
export function ListPanel<Row>(props: Props<Row>) {
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
