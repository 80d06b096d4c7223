import { getRouteApi } from '@tanstack/react-router'
import { useFirstCursor, useLive } from '../../api/live.ts'
import { usePolled } from '../../api/poll.ts'
import { Dropped } from '../../app/list/dropped.tsx'
import { EmptyUnderFilters } from '../../app/list/empty-list.tsx'
import { PageFoot } from '../../app/list/page-foot.tsx'
import { usePlace } from '../../app/list/place.ts'
import { useSteadyRows } from '../../app/list/steady-rows.ts'
import { ListPanel } from '../../app/list/list-panel.tsx'
import { Tabs } from '../../app/list/tabs.tsx'
import { Filters } from './filters.tsx'
import { SessionRow } from './session-row.tsx'
import { UiSessionsDocument } from './sessions.generated.ts'
import { sessionFilterOf, type SessionsSearch, type TypeWord } from './sessions-search.ts'
import './sessions.css'

const route = getRouteApi('/frame/sessions')

const PAGE_ROWS = 50

/** Every attempt of every chain by itself, and with them what is never retried: interactive and inference sessions. */
export function SessionsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const change = (part: Partial<SessionsSearch>) =>
    void navigate({ search: (before) => ({ ...before, dropped: undefined, ...part }), replace: true })
  const { data, error, again, rows, offset, first, next, hold, release } = useSessions(search)
  const showsProject = search.project === undefined && new Set(rows.map(({ project }) => project.id)).size > 1
  return (
    <div className="list-page">
      <h1 tabIndex={-1}>Sessions</h1>
      <Tabs<TypeWord>
        label="By type"
        tabs={[
          { tab: undefined, name: 'All', counted: undefined },
          { tab: 'batch', name: 'Batch', counted: undefined },
          { tab: 'interactive', name: 'Interactive', counted: undefined },
          { tab: 'inference', name: 'Inference', counted: undefined },
        ]}
        chosen={search.type}
        onChoose={(type) => change({ type })}
      />
      <Filters search={search} onChange={change} />
      <Dropped names={search.dropped} />
      <ListPanel
        label="Sessions"
        rowClass="session-row"
        columns={['Session', 'Type', 'Attempt', 'Status', 'Group', 'Since', 'Created']}
        read={{ data, error, again }}
        rows={rows}
        offset={offset}
        hasMore={next !== null}
        empty={<Empty search={search} onChange={change} />}
        hold={hold}
        release={release}
      >
        {(session, rowIndex) => (
          <SessionRow key={session.id} session={session} rowIndex={rowIndex} showsProject={showsProject} />
        )}
      </ListPanel>
      <PageFoot noun="session" rows={rows.length} offset={offset} first={first} next={next} />
    </div>
  )
}

/** A page of them, the newest first, read again when something has changed. */
function useSessions(search: SessionsSearch) {
  const filter = sessionFilterOf(search)
  const key = JSON.stringify(filter)
  const { after, offset, first, onward } = usePlace(key)
  const { data, error, again } = usePolled(UiSessionsDocument, { filter, first: PAGE_ROWS, after })
  useLive({
    cursor: useFirstCursor(key, data?.eventCursor),
    project: search.project,
    onChanges: async () => again(),
    onMissed: again,
  })
  const rows = data?.sessions.edges.map(({ node }) => node) ?? []
  const steady = useSteadyRows(`${key} ${after}`, rows)
  const next = onward(data?.sessions)
  return { data, error, again, ...steady, offset, first, next }
}

/** Why there is none, and what next. */
function Empty({ search, onChange }: { search: SessionsSearch; onChange: (part: Partial<SessionsSearch>) => void }) {
  const { type, status, q, agent, group, project } = search
  const filters = { type, status, q, agent, group, project }
  if (Object.values(filters).every((value) => value === undefined)) {
    return (
      <div className="empty">
        <h2>No sessions yet</h2>
        <p>One is made for each attempt of a chain, for each replica of a deployment, and for whoever works in one.</p>
        <pre className="empty-command">
          <code>npx reprise run -- sh -c 'echo hello'</code>
        </pre>
      </div>
    )
  }
  return (
    <EmptyUnderFilters title="No session fits" filters={filters} onRemove={(name) => onChange({ [name]: undefined })} />
  )
}
