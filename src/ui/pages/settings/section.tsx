import { type ReactNode, useId } from 'react'
import { useQuery } from 'urql'
import { serverNow } from '../../api/clock.ts'
import { problemOf } from '../../api/problem.ts'
import { IgnoredParameters, type List } from '../../app/list/list-page.tsx'
import { useMoments } from '../../app/moments.tsx'
import { Outdated, ProblemPanel } from '../../app/page.tsx'
import { Button, Field } from '../../design/controls.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { Table, type TableProps } from '../../design/table.tsx'
import { relativeMoment } from '../../words/time.ts'
import { UiNamesDocument } from './settings.generated.ts'

interface SectionProps {
  /** A sentence about what is set here. */
  says: string
  dropped?: readonly string[] | undefined
  /** The actions of the section. */
  acts?: ReactNode
  children: ReactNode
}

/** A section of the settings: its purpose, its actions, and its content. */
export function Section({ says, dropped, acts, children }: SectionProps) {
  return (
    <>
      <div className="settings-head">
        <p>{says}</p>
        {acts !== undefined && <div className="settings-acts">{acts}</div>}
      </div>
      <IgnoredParameters names={dropped} />
      {children}
    </>
  )
}

interface PartProps<Data> {
  read: { data: Data | undefined; error: Error | undefined; again: () => void }
  children: (data: Data) => ReactNode
}

/** A panel with the data, or with the reason why it could not be read. */
export function Part<Data>({ read: { data, error, again }, children }: PartProps<Data>) {
  const problem = error && problemOf(error)
  return (
    <>
      {data !== undefined && <Outdated error={error} />}
      <div className="table-panel">
        {data !== undefined ? (
          children(data)
        ) : problem?.code === 'FORBIDDEN' ? (
          <div className="empty" role="alert">
            <h2>Your token may not see this</h2>
            <p>{problem.message}</p>
          </div>
        ) : error ? (
          <ProblemPanel error={error} onAgain={again} />
        ) : (
          <Skeleton />
        )}
      </div>
    </>
  )
}

interface RowsProps<Row> extends Omit<TableProps<Row>, 'part' | 'isPart'> {
  /** The list that the rows are from, if it has several pages. */
  list?: List<unknown>
  /** The actions on a row. */
  renderActs?: (row: Row) => ReactNode
  empty: ReactNode
}

/** A list of records; on a narrow screen each is a few lines. `className` sets the widths of the columns. */
export function Rows<Row extends { id: string }>(props: RowsProps<Row>) {
  const { className, columns, renderActs, empty, list, ...table } = props
  if (table.rows.length === 0) return <div className="empty">{empty}</div>
  const acts = renderActs && {
    title: 'Actions',
    isHidden: true,
    className: 'settings-row-acts',
    cell: renderActs,
  }
  return (
    <Table
      {...table}
      className={`list-table settings-table ${className}`}
      isScrolled
      isPart={list !== undefined && (list.offset > 0 || list.next !== null)}
      columns={acts ? [...columns, acts] : columns}
    />
  )
}

/** Attributes of a row that is no longer in force. */
export function over(isOver: boolean) {
  return { 'data-over': isOver || undefined }
}

/** Buttons to other pages of a list. */
export function Foot({ list: { first, next }, children }: { list: List<unknown>; children?: ReactNode }) {
  return (
    <footer className="table-foot">
      {children}
      {first && <Button onClick={first}>Newest</Button>}
      {next && <Button onClick={next}>Older</Button>}
    </footer>
  )
}

/** The names that the user can see, as suggestions for fields. */
export function useNames() {
  const [{ data }] = useQuery({ query: UiNamesDocument, requestPolicy: 'cache-and-network' })
  const namesOf = (edges: readonly { node: { name: string } }[] = []) => edges.map(({ node }) => node.name)
  return {
    projects: namesOf(data?.projects.edges),
    users: namesOf(data?.users.edges),
    domains: namesOf(data?.domains.edges),
    resourceGroups: (data?.resourceGroups ?? []).map(({ name }) => name),
    /** The names of projects by id. */
    projectNames: new Map(data?.projects.edges.map(({ node }) => [node.projectId, node.name])),
  }
}

interface UseNamesProps {
  label: string
  name: string
  names: readonly string[]
  first?: string | undefined
  hint?: string
  fault: string | undefined
  wide?: boolean
}

/** A text field with suggestions. */
export function NameField({ label, name, names, first = '', hint, fault, wide = false }: UseNamesProps) {
  const list = useId()
  return (
    <Field label={label} hint={hint} fault={fault} wide={wide}>
      {(control) => (
        <>
          <input {...control} name={name} defaultValue={first} list={list} autoComplete="off" spellCheck={false} />
          <datalist id={list}>
            {names.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}

/** `3 d ago`, `in 2 h`; its tooltip has the exact time. */
export function When({ at }: { at: string }) {
  const { absolute } = useMoments()
  return (
    <time dateTime={at} title={absolute(Date.parse(at))}>
      {relativeMoment(Date.parse(at), serverNow())}
    </time>
  )
}

/** `23 Nov, 12:04:31`; in another year `2040-01-31 12:00:00 UTC`. */
export function At({ at }: { at: string }) {
  const { absolute, day, clock } = useMoments()
  const time = Date.parse(at)
  const exactly = absolute(time)
  const isThisYear = exactly.slice(0, 4) === absolute(serverNow()).slice(0, 4)
  return (
    <time dateTime={at} title={exactly}>
      {isThisYear ? `${day(time)}, ${clock(time)}` : exactly}
    </time>
  )
}
