import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { usePolled } from '../../api/poll.ts'
import { scheduleFilterOf } from '../../app/list/filters.ts'
import { NameFilter, Tabs } from '../../app/list/list-filters.tsx'
import { Dropped, EmptyUnderFilters, ListPanel, PageFoot, usePlace } from '../../app/list/list-panel.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { Ago } from '../../app/moments.tsx'
import { LastRuns, Timing, Until } from './schedule-parts.tsx'
import { type UiScheduleRowFragment, UiSchedulesDocument, type UiSchedulesQuery } from './schedules.generated.ts'
import '../../design/controls.css'
import './schedules.css'

const route = getRouteApi('/frame/schedules')

const PAGE_ROWS = 50
/** Their runs are not among what is told of changes. */
const EVERY_MS = 5_000

/** The list of schedules, each with its next run and the outcomes of the last ones. */
export function SchedulesPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  useEffect(() => {
    document.title = 'Schedules · Reprise'
  }, [])
  const change = (part: Partial<SearchOf<'schedules'>>) =>
    void navigate({ search: (before) => ({ ...before, dropped: undefined, ...part }), replace: true })
  const filter = scheduleFilterOf(search)
  const { after, offset, first, onward } = usePlace(JSON.stringify(filter))
  const { data, error, again } = usePolled(
    UiSchedulesDocument,
    { filter, project: search.project, first: PAGE_ROWS, after },
    EVERY_MS,
  )
  const rows = data?.schedules.edges.map(({ node }) => node) ?? []
  const next = onward(data?.schedules)
  const showsProject = search.project === undefined && new Set(rows.map(({ project }) => project.id)).size > 1
  return (
    <div className="list-page">
      <div className="schedules-head">
        <h1 tabIndex={-1}>Schedules</h1>
        <Link to="/schedules/new" search={kept(search)} className="button">
          New schedule
        </Link>
      </div>
      <StatusTabs search={search} data={data} onChange={change} />
      <div className="filters">
        <NameFilter value={search.q} onChange={(q) => change({ q })} />
      </div>
      <Dropped names={search.dropped} />
      <ListPanel
        label="Schedules"
        rowClass="schedule-row"
        columns={['Schedule', 'Runs at', 'Next run', 'Last runs', 'Created']}
        read={{ data, error, again }}
        rows={rows}
        offset={offset}
        hasMore={next !== null}
        empty={<Empty search={search} onChange={change} />}
      >
        {(schedule, rowIndex) => (
          <Row key={schedule.id} schedule={schedule} rowIndex={rowIndex} showsProject={showsProject} />
        )}
      </ListPanel>
      <PageFoot noun="schedule" rows={rows.length} offset={offset} first={first} next={next} />
    </div>
  )
}

function kept({ project }: SearchOf<'schedules'>) {
  return project === undefined ? {} : { project }
}

function Row(props: { schedule: UiScheduleRowFragment; rowIndex: number; showsProject: boolean }) {
  const { schedule, rowIndex, showsProject } = props
  const { scheduleId, name, project, paused, nextRunAt, statusReason, lastRuns, createdAt } = schedule
  return (
    <div role="row" aria-rowindex={rowIndex} className="table-row schedule-row" data-paused={paused || undefined}>
      <span role="cell" className="named">
        <Link to="/schedules/$scheduleId" params={{ scheduleId }} className="table-link" title={name}>
          {name}
        </Link>
        {showsProject && <span className="table-tag">{project.name}</span>}
      </span>
      <span role="cell" className="schedule-when">
        <Timing schedule={schedule} />
      </span>
      <span role="cell" className="schedule-next" title={statusReason ?? undefined}>
        {paused ? 'paused' : nextRunAt === null ? 'none' : <Until at={nextRunAt} />}
      </span>
      <span role="cell" className="schedule-runs">
        <LastRuns runs={lastRuns} />
      </span>
      <span role="cell" className="schedule-created">
        <Ago at={createdAt} said="created" />
      </span>
    </div>
  )
}

function StatusTabs(props: {
  search: SearchOf<'schedules'>
  data: UiSchedulesQuery | undefined
  onChange: (part: Partial<SearchOf<'schedules'>>) => void
}) {
  const { search, data, onChange } = props
  const counts = (of: { totalCount: number } | undefined) => of && { count: of.totalCount, isExact: true }
  return (
    <Tabs<NonNullable<SearchOf<'schedules'>['status']>>
      label="By status"
      tabs={[
        { tab: undefined, name: 'All', counted: counts(data?.all) },
        { tab: 'active', name: 'Active', counted: counts(data?.active) },
        { tab: 'paused', name: 'Paused', counted: counts(data?.paused) },
      ]}
      chosen={search.status}
      onChoose={(status) => onChange({ status })}
    />
  )
}

/** Why there is none, and what next. */
function Empty(props: { search: SearchOf<'schedules'>; onChange: (part: Partial<SearchOf<'schedules'>>) => void }) {
  const { status, q, project } = props.search
  if (status === undefined && q === undefined && project === undefined) {
    return (
      <div className="empty">
        <h2>There is no schedule</h2>
        <p>A schedule creates a session again and again, at the times of a cron expression or at an interval:</p>
        <pre className="empty-command">
          <code>npx reprise schedules create nightly --cron &apos;30 2 * * *&apos; --retries 3 -- ./report.sh</code>
        </pre>
      </div>
    )
  }
  return (
    <EmptyUnderFilters
      title="No schedule fits"
      filters={{ status, q, project }}
      onRemove={(name) => props.onChange({ [name]: undefined })}
    />
  )
}
