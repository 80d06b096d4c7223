import type { TypedDocumentNode } from '@urql/core'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { usePolled } from '../../api/poll.ts'
import { Button } from '../../design/controls.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { Table, type TableProps } from '../../design/table.tsx'
import { count, counted } from '../../words/numbers.ts'
import { type KeyBinding, useKeys } from '../keys.ts'
import { Outdated, ProblemPanel, useTitle } from '../page.tsx'
import { useBefore, useSaved } from '../places.tsx'
import type { SearchOf, SearchPage } from './search.ts'
import '../../design/table.css'
import '../../design/panel.css'

interface ListPageProps<Row> extends Omit<TableProps<Row>, 'rows' | 'part' | 'label' | 'title'> {
  title: string
  /** Beside the title. */
  acts?: ReactNode
  list: List<Row>
  /** Query parameters that could not be parsed. */
  dropped: readonly string[] | undefined
  /** Shown where there are no rows. */
  empty: ReactNode
  /** Below the rows: their range, and buttons to other pages. */
  foot: ReactNode
  /** Between the title and the rows: tabs and filters. */
  children?: ReactNode
}

/** The page of a list. */
export function ListPage<Row extends { id: string }>(props: ListPageProps<Row>) {
  const { title, acts, list, dropped, empty, foot, className = '', children, ...table } = props
  const heading = <h1 tabIndex={-1}>{title}</h1>
  useTitle(title)
  return (
    <div className={`list-page ${className}`}>
      {acts === undefined ? (
        heading
      ) : (
        <div className="list-head">
          {heading}
          {acts}
        </div>
      )}
      {children}
      <IgnoredParameters names={dropped} />
      <ListTable label={title} list={list} empty={empty} {...table} />
      {foot}
    </div>
  )
}

type ListTableProps<Row> = Omit<TableProps<Row>, 'rows' | 'part'> & {
  list: Omit<List<Row>, 'first'>
  empty: ReactNode
  /** Class of the panel around the table. */
  panelClass?: string
}

/** A list in each of its states: read, out of date, not readable, not read yet, without rows. */
export function ListTable<Row extends { id: string }>({ list, empty, panelClass = '', ...table }: ListTableProps<Row>) {
  const { data, error, again, rows, offset, next, hold, release } = list
  return (
    <>
      {data !== undefined && <Outdated error={error} />}
      <div className={`table-panel ${panelClass}`}>
        {data === undefined && error ? (
          <ProblemPanel error={error} onAgain={again} />
        ) : data === undefined ? (
          <Skeleton />
        ) : rows.length === 0 ? (
          empty
        ) : (
          <Table
            {...table}
            className="list-table"
            isScrolled
            rows={rows}
            part={{ offset, count: next === null ? offset + rows.length : -1 }}
            body={{ onPointerEnter: hold, onPointerLeave: release }}
          />
        )}
      </div>
    </>
  )
}

interface NoRowsProps {
  /** The heading where filters leave no rows: `No agent fits`. */
  title: string
  filters: Readonly<Record<string, string | undefined>>
  onChange: (part: Record<string, undefined>) => void
  /** Shown where no filter is set. */
  children: ReactNode
}

/** Shown where there are no rows: the filters that can be removed, or how to create the first one. */
export function NoRows({ title, filters, onChange, children }: NoRowsProps) {
  const set = Object.entries(filters).filter(([, value]) => value !== undefined)
  if (set.length === 0) return <div className="empty">{children}</div>
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>Take away what leaves out too much:</p>
      <div className="empty-filters">
        {set.map(([name, value]) => (
          <Button key={name} className="chip" onClick={() => onChange({ [name]: undefined })}>
            <span>
              {name} {value}
            </span>
          </Button>
        ))}
      </div>
    </div>
  )
}

/** Below a list: the range of its rows, and buttons to other pages. `noun`: `agent` */
export function PageFoot({ noun, list: { rows, offset, first, next } }: { noun: string; list: List<unknown> }) {
  const isPart = next !== null || offset > 0
  const { length } = rows
  return (
    <footer className="table-foot">
      {length > 0 && (
        <span>{isPart ? `${count(offset + 1)} to ${count(offset + length)}` : counted(length, noun)}</span>
      )}
      {first && <Button onClick={first}>First ones</Button>}
      {next && <Button onClick={next}>More</Button>}
    </footer>
  )
}

/** Query parameters that could not be parsed. */
export function IgnoredParameters({ names }: { names: readonly string[] | undefined }) {
  if (names === undefined) return null
  return (
    <p className="notice" role="status">
      Not understood in the address, and left out: {names.join(', ')}
    </p>
  )
}

/** Changes parameters of the page's address; undefined ones are left out of it. */
export function useChangeSearch<Of extends SearchPage>(): (part: Partial<SearchOf<Of>>) => void {
  const navigate = useNavigate()
  return (part) =>
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, dropped: undefined, ...part })) as never,
      replace: true,
    })
}

/** Keys that move the focus from row to row, and those of the page. */
export function useRowKeys(more: readonly KeyBinding[] = []): void {
  const move = (by: number) => {
    const all = [...document.querySelectorAll<HTMLElement>('.table-link')]
    const at = all.findIndex((link) => link === document.activeElement)
    all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]?.focus()
  }
  useKeys([
    { keys: 'j', does: 'next row', run: () => move(1) },
    { keys: 'k', does: 'row before', run: () => move(-1) },
    ...more,
  ])
}

/** A page of a list. */
export interface List<Row, Data = unknown> {
  /** Undefined until it is read. */
  data: Data | undefined
  /** The error of the last read. */
  error: Error | undefined
  /** Reads it again. */
  again: () => void
  rows: readonly Row[]
  /** The number of rows before these. */
  offset: number
  /** Goes to the first page; null on that page. */
  first: (() => void) | null
  /** Goes to the next page; null on the last one. */
  next: (() => void) | null
  /** Keeps the rows in their places while the pointer is over them. */
  hold?: () => void
  release?: () => void
}

interface Connection<Row> {
  edges: readonly { node: Row }[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

interface ListPlace {
  key: string
  after: string
  offset: number
}

/**
 * Reads a list page by page, and the present page again and again (`usePolled`). Other `variables` begin at the first
 * page. `key` names the list, `page` the page.
 */
export function useList<Data extends { now: string }, Variables extends { after?: string | null | undefined }, Row>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, 'after'>,
  listOf: (data: Data) => Connection<Row> | null | undefined,
  everyMs?: number,
): List<Row, Data> & { key: string; page: string } {
  const key = JSON.stringify(variables)
  const before = useBefore<ListPlace>(`list ${key}`)
  const [place, setPlace] = useState(before)
  useSaved(`list ${key}`, place)
  const { after, offset } = place?.key === key ? place : { after: null, offset: 0 }
  const read = usePolled(document, { ...variables, after } as Variables, everyMs)
  const list = read.data && listOf(read.data)
  const rows = list?.edges.map(({ node }) => node) ?? []
  const end = list?.pageInfo.hasNextPage ? list.pageInfo.endCursor : null
  return {
    ...read,
    key,
    page: `${key} ${after}`,
    rows,
    offset,
    first: after === null ? null : () => setPlace(undefined),
    next: end === null ? null : () => setPlace({ key, after: end, offset: offset + rows.length }),
  }
}

/** Whether the rows show their project: they belong to several. */
export function showsProjects(chosen: string | undefined, rows: readonly { project: { id: string } }[]): boolean {
  return chosen === undefined && new Set(rows.map(({ project }) => project.id)).size > 1
}

/** `isGone`: the row was in the list when the pointer came, and no longer is. */
export type Steady<Row> = Row & { isGone?: true }

/**
 * The rows of a polled list, kept in their places while the pointer is over them. `of` identifies the list and its
 * page.
 */
export function useSteadyRows<Row extends { id: string }>(of: string, fresh: readonly Row[]) {
  const [held, setHeld] = useState<{ of: string; rows: readonly Row[] }>()
  return {
    rows: held?.of === of ? steady(held.rows, fresh) : (fresh as readonly Steady<Row>[]),
    hold: () => setHeld((before) => (before?.of === of ? before : { of, rows: fresh })),
    release: () => setHeld(undefined),
  }
}

/** The earlier rows in their places, with their present values. */
function steady<Row extends { id: string }>(before: readonly Row[], now: readonly Row[]): Steady<Row>[] {
  const byId = new Map(now.map((row) => [row.id, row]))
  return before.map((row) => byId.get(row.id) ?? { ...row, isGone: true })
}
