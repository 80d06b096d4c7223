import type { ReactNode } from 'react'
import { Button } from '../../design/button.tsx'

export interface Column<Row> {
  title: string
  /** Says the title before the value where rows have no columns. */
  isNamed?: true
  /** Null for nothing. */
  cell: (row: Row) => ReactNode
}

interface Props<Row> {
  label: string
  /** Sets the widths of the columns. */
  className: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** What can be done with a row. */
  renderActs?: (row: Row) => ReactNode
  /** No longer in force. */
  isOver?: (row: Row) => boolean
  empty: ReactNode
}

/** A list of records; on a narrow screen each is a few lines. */
export function Rows<Row>({ label, className, columns, rows, keyOf, renderActs, isOver, empty }: Props<Row>) {
  if (rows.length === 0) return <div className="empty">{empty}</div>
  return (
    <div
      role="table"
      aria-label={label}
      className={`list-table settings-table ${className}`}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is scrolled by keys
      tabIndex={0}
    >
      <div role="rowgroup" className="table-columns">
        <div role="row" className="table-row head">
          {columns.map(({ title }) => (
            <span key={title} role="columnheader">
              {title}
            </span>
          ))}
          {renderActs && (
            <span role="columnheader">
              <span className="visually-hidden">Actions</span>
            </span>
          )}
        </div>
      </div>
      <div role="rowgroup">
        {rows.map((row) => (
          <div key={keyOf(row)} role="row" className="table-row" data-over={isOver?.(row) || undefined}>
            {columns.map(({ title, isNamed, cell }) => {
              const shown = cell(row)
              return (
                <span key={title} role="cell" data-title={isNamed && title} data-none={shown === null || undefined}>
                  {shown}
                </span>
              )
            })}
            {renderActs && (
              <span role="cell" className="settings-row-acts">
                {renderActs(row)}
              </span>
            )}
          </div>
        ))}
      </div>
    </div>
  )
}

interface FootProps {
  /** Null if there is none. */
  first: (() => void) | null
  next: (() => void) | null
  children?: ReactNode
}

/** To other pages of a list. */
export function Foot({ first, next, children }: FootProps) {
  return (
    <footer className="table-foot">
      {children}
      {first && <Button onClick={first}>Newest</Button>}
      {next && <Button onClick={next}>Older</Button>}
    </footer>
  )
}
