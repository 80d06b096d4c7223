import type { ComponentProps, ReactNode } from 'react'
import './table.css'

export interface Column<Row> {
  title: string
  /** Class of its cells. */
  className?: string
  /** Class of its heading. */
  headClass?: string
  /** The heading is there for screen readers only. */
  isHidden?: boolean
  /** Puts the title before the value where rows have no columns. */
  isNamed?: boolean
  /** Shown while the pointer is over the cell. */
  hint?: (row: Row) => string | null | undefined
  /** Null for nothing. */
  cell: (row: Row) => ReactNode
}

export interface TableProps<Row> extends Omit<ComponentProps<'div'>, 'part' | 'children'> {
  label: string
  /** Class of the rows, which sets their columns. */
  rowClass?: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** Attributes of a row for its state. */
  rowProps?: (row: Row) => Readonly<Record<`data-${string}`, string | boolean | undefined>>
  /** Fills the height that there is, and scrolls. */
  isScrolled?: boolean
  /** For a part of a longer list: the number of rows before it, and of all rows (-1 if not known). */
  part?: { offset: number; count: number }
  /** Handlers of the rows as a whole. */
  body?: ComponentProps<'div'>
}

/** A table whose rows become a few lines on a narrow screen. */
export function Table<Row extends { id: string }>(props: TableProps<Row>) {
  const { label, rowClass = '', columns, rows, rowProps, isScrolled = false, part, body, ...rest } = props
  return (
    <div
      role="table"
      aria-label={label}
      aria-rowcount={part && (part.count < 0 ? -1 : part.count + 1)}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls it
      tabIndex={isScrolled ? 0 : undefined}
      {...rest}
    >
      <div role="rowgroup" className="table-columns">
        <div role="row" aria-rowindex={part && 1} className={`table-row ${rowClass} head`}>
          {columns.map(({ title, headClass, isHidden = false }) => (
            <span key={title} role="columnheader" className={headClass}>
              {isHidden ? <span className="visually-hidden">{title}</span> : title}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" {...body}>
        {rows.map((row, index) => (
          <div
            key={row.id}
            role="row"
            aria-rowindex={part && part.offset + index + 2}
            className={`table-row ${rowClass}`}
            {...rowProps?.(row)}
          >
            {columns.map(({ title, className, isNamed, hint, cell }) => {
              const shown = cell(row)
              return (
                <span
                  key={title}
                  role="cell"
                  className={className}
                  title={hint?.(row) ?? undefined}
                  data-title={isNamed && title}
                  data-none={shown === null || undefined}
                >
                  {shown}
                </span>
              )
            })}
          </div>
        ))}
      </div>
    </div>
  )
}

interface TableCardProps<Row> extends TableProps<Row> {
  title: string
  /** How many there are, beside the title. */
  count?: string
  /** Shown where there are no rows. */
  none: string
  foot?: ReactNode
}

/** A table in a card of a detail page. */
export function TableCard<Row extends { id: string }>(props: TableCardProps<Row>) {
  const { title, count, none, foot, ...table } = props
  return (
    <section className="card flush" aria-label={title}>
      <h2>
        {title} {count !== undefined && <span className="card-count">{count}</span>}
      </h2>
      {table.rows.length === 0 ? <p className="card-none">{none}</p> : <Table {...table} />}
      {foot && <p className="card-foot">{foot}</p>}
    </section>
  )
}
