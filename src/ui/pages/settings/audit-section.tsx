import { getRouteApi, Link } from '@tanstack/react-router'
import { wordOfCause } from '../../app/causes.ts'
import { useChangeSearch, useList } from '../../app/list/list-page.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { lookOfCause } from '../../design/causes.ts'
import { Button, Choice, typedOrNull } from '../../design/controls.tsx'
import { CrossIcon } from '../../design/icons.tsx'
import type { Column } from '../../design/table.tsx'
import { At, Foot, Part, Rows, Section, useNames } from './section.tsx'
import { UiAuditDocument, type UiAuditQuery } from './settings.generated.ts'

type Entry = NonNullable<UiAuditQuery['auditLog']>['edges'][number]['node']

const EVERY_MS = 5_000
const ROWS = 100
const route = getRouteApi('/frame/settings/audit')

/** The audit log: changes with their authors, and refusals. */
export function AuditSection() {
  const search = route.useSearch()
  const { projectNames } = useNames()
  const filter = filterOf(search)
  const list = useList(UiAuditDocument, { first: ROWS, filter }, ({ auditLog }) => auditLog, EVERY_MS)
  const columns = columnsWith(projectNames)
  return (
    <Section
      says="Who changed what, and what was refused, newest first. Values of environments and secrets are never in it."
      dropped={search.dropped}
    >
      <AuditFilters search={search} />
      <Part read={list}>
        {() => (
          <Rows
            label="Audit log"
            className="settings-audit"
            columns={columns}
            rows={list.rows}
            empty={
              <>
                <h2>No entry fits</h2>
                <p>Entries are kept for a limited time.</p>
              </>
            }
          />
        )}
      </Part>
      <Foot list={list} />
    </Section>
  )
}

function filterOf({ project, action, actor, outcome, by }: SearchOf<'audit'>) {
  return {
    ...(project !== undefined && { project }),
    ...(action !== undefined && { actionContains: action }),
    ...(actor !== undefined && { actorContains: actor }),
    ...(by !== undefined && { automatic: by === 'server' }),
    ...(outcome !== undefined && { refused: outcome === 'refused' }),
  }
}

const OUTCOMES = { done: 'done', refused: 'refused' } as const
const AUTHORS = { people: 'without the scheduler', server: 'by the scheduler itself' } as const

function AuditFilters({ search }: { search: SearchOf<'audit'> }) {
  const change = useChangeSearch<'audit'>()
  const field = (name: 'action' | 'actor', words: string) => (
    <form
      key={`${name} ${search[name] ?? ''}`}
      className="settings-filter"
      onSubmit={(event) => {
        event.preventDefault()
        change({ [name]: typedOrNull(event.currentTarget, name) ?? undefined })
      }}
    >
      <input
        name={name}
        aria-label={words}
        placeholder={words}
        defaultValue={search[name]}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
      />
    </form>
  )
  const set = (['project', 'action', 'actor'] as const).filter((name) => search[name] !== undefined)
  return (
    <div className="filters settings-filters">
      {field('action', 'Part of an action, like token')}
      {field('actor', 'By, part of a name')}
      <Choice
        label="Outcome"
        value={search.outcome ?? ''}
        any="Done and refused"
        names={OUTCOMES}
        onChange={(outcome) => change({ outcome })}
      />
      <Choice
        label="Done by"
        value={search.by ?? ''}
        any="Done by anybody"
        names={AUTHORS}
        onChange={(by) => change({ by })}
      />
      {set.map((name) => (
        <Button key={name} className="chip" onClick={() => change({ [name]: undefined })}>
          <span>
            {name} {search[name]}
          </span>
          <CrossIcon />
        </Button>
      ))}
    </div>
  )
}

function columnsWith(projectNames: ReadonlyMap<string, string>): readonly Column<Entry>[] {
  return [
    { title: 'When', cell: ({ at }) => <At at={at} /> },
    {
      title: 'By',
      cell: ({ actor, address }) => (
        <>
          {actor}
          {address !== null && <span className="settings-aside">{address}</span>}
        </>
      ),
    },
    {
      title: 'Action',
      cell: ({ action }) => <span className={action === 'refused' ? 'settings-bad' : undefined}>{action}</span>,
    },
    {
      title: 'Project',
      isNamed: true,
      cell: ({ projectId }) => (projectId === null ? null : (projectNames.get(projectId) ?? projectId.slice(0, 8))),
    },
    {
      title: 'Details',
      cell: (entry) => <Details entry={entry} />,
    },
  ]
}

/** The details of an entry: a line, and everything when it is opened. */
function Details({ entry: { data, sessionId, requestId } }: { entry: Entry }) {
  const given = data as Record<string, unknown>
  const refusal = typeof given['message'] === 'string' ? given['message'] : null
  return (
    <details className="settings-details">
      <summary>{refusal ?? lineOf(given)}</summary>
      <pre>{JSON.stringify(given, null, 2)}</pre>
      {sessionId !== null && (
        <p className="settings-aside">
          <Link to="/chains" search={{ q: sessionId }}>
            session {sessionId}
          </Link>
        </p>
      )}
      {requestId !== null && <p className="settings-aside">request {requestId}</p>}
    </details>
  )
}

/** The most telling part: names and numbers, without earlier values. */
function lineOf(given: Record<string, unknown>): string {
  const after = given['after']
  const shown = typeof after === 'object' && after !== null ? { ...given, before: null, after: null, ...after } : given
  const words = Object.entries(shown)
    .filter(([name, value]) => !isNothing(value) && !name.endsWith('Id'))
    .map(([name, value]) => `${wordsOf(name)} ${typeof value === 'string' ? readable(value) : JSON.stringify(value)}`)
  return words.join(', ') || 'no details'
}

function isNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === null || value === '' || value === false
}

/** `includeSucceeded` → `include succeeded` */
function wordsOf(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** A value of the API in words: `OOM_KILLED` → `out of memory`, `NOT_ELIGIBLE` → `not eligible`. */
function readable(value: string): string {
  if (wordOfCause(value) !== undefined) return lookOfCause(value).words
  return /^[A-Z]+(_[A-Z]+)+$/.test(value) ? value.toLowerCase().replaceAll('_', ' ') : value
}
