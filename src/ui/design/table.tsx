import { type ComponentProps, type ReactNode, useState } from 'react'
import { ArrowUpIcon } from './icons.tsx'
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
  /** The word for the order by this column, if the server sorts the rows. */
  order?: string
  /** What the browser sorts the rows by, if it has all of them. Rows without a value are last. */
  value?: (row: Row) => string | number | null
  /** The largest or newest rows are first when it is chosen. */
  isDown?: true
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
  /** There are more rows than these. */
  isPart?: boolean
  /** The order in which the server has sorted the rows; `-name` is the order `name` reversed. */
  order?: string | undefined
  /** Undefined stands for the usual order. */
  onOrder?: (order: string | undefined) => void
}

/** A table whose rows become a few lines on a narrow screen. */
export function Table<Row extends { id: string }>(props: TableProps<Row>) {
  const { label, rowClass = '', columns, rows: given, rowProps, isScrolled = false, part, body, ...others } = props
  const { isPart = false, order, onOrder, ...rest } = others
  const [own, setOwn] = useState<string>()
  const isWhole = !isPart && (part === undefined || (part.offset === 0 && part.count >= 0))
  const by = isWhole && own !== undefined ? columns.find(({ title }) => titleIn(own) === title) : undefined
  const rows = by?.value ? sorted(given, by.value, own!.startsWith('-')) : given
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
          {columns.map(({ title, headClass, isHidden = false, order: word, value, isDown }) => {
            const head = { title, className: headClass, isHidden, isDown }
            if (word !== undefined && onOrder)
              return <ColumnHead key={title} {...head} name={word} order={order} onOrder={onOrder} />
            if (value !== undefined && isWhole && given.length > 1)
              return <ColumnHead key={title} {...head} name={title} order={own} onOrder={setOwn} />
            return <ColumnHead key={title} {...head} />
          })}
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

interface ColumnHeadProps {
  title: string
  className?: string | undefined
  isHidden?: boolean
  isDown?: true | undefined
  /** The word for the order by this column. Without it, the column cannot be chosen. */
  name?: string
  order?: string | undefined
  onOrder?: (order: string | undefined) => void
}

/** The heading of a column. Where rows can be sorted by it, a button: one order, the reverse, the usual one. */
export function ColumnHead({ title, className, isHidden = false, isDown, name, order, onOrder }: ColumnHeadProps) {
  const shown = isHidden ? <span className="visually-hidden">{title}</span> : title
  if (name === undefined || !onOrder)
    return (
      <span role="columnheader" className={className}>
        {shown}
      </span>
    )
  const direction = order === name ? 'ascending' : order === `-${name}` ? 'descending' : undefined
  const [first, second] = isDown ? [`-${name}`, name] : [name, `-${name}`]
  const next = order === first ? second : order === second ? undefined : first
  return (
    <span role="columnheader" className={className} aria-sort={direction}>
      <button type="button" className="sort" data-direction={direction} onClick={() => onOrder(next)}>
        {shown}
        <ArrowUpIcon />
      </button>
    </span>
  )
}

function titleIn(order: string): string {
  return order.replace(/^-/, '')
}

function sorted<Row>(rows: readonly Row[], valueOf: (row: Row) => string | number | null, isDown: boolean): Row[] {
  return rows.toSorted((a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)]
    if (left === right) return 0
    if (left === null || right === null) return left === null ? 1 : -1
    return left < right === isDown ? 1 : -1
  })
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
