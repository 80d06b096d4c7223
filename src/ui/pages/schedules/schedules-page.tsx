import { getRouteApi, Link } from '@tanstack/react-router'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { scheduleFilterOf } from '../../app/list/filters.ts'
import { NameFilter, Tabs } from '../../app/list/list-filters.tsx'
import { ListPage, NoRows, PageFoot, showsProjects, useChangeSearch, useList } from '../../app/list/list-page.tsx'
import { Ago } from '../../app/moments.tsx'
import { useViewer } from '../../app/viewer.ts'
import type { Column } from '../../design/table.tsx'
import { LastRuns, Timing, Until } from './schedule-parts.tsx'
import { type UiScheduleRowFragment, UiSchedulesDocument } from './schedules.generated.ts'
import '../../design/controls.css'
import './schedules.css'

const route = getRouteApi('/frame/schedules')

const PAGE_ROWS = 50
/** Interval of polling, because the server does not report changes of the schedules' runs. */
const EVERY_MS = 5_000

/** The list of schedules, each with its next run and the outcomes of the last ones. */
export function SchedulesPage() {
  const search = route.useSearch()
  const { status, q, project } = search
  const { can, role } = useViewer()
  const change = useChangeSearch<'schedules'>()
  const variables = { filter: scheduleFilterOf(search), project, first: PAGE_ROWS }
  const list = useList(UiSchedulesDocument, variables, ({ schedules }) => schedules, EVERY_MS)
  const { data, rows } = list
  return (
    <ListPage
      title="Schedules"
      acts={
        can.createSessions ? (
          <Link to="/schedules/new" search={project === undefined ? {} : { project }} className="button">
            New schedule
          </Link>
        ) : (
          <GuardedButton refusal={`Your token has the role ${role}, which may not create schedules.`}>
            New schedule
          </GuardedButton>
        )
      }
      dropped={search.dropped}
      list={list}
      rowClass="schedule-row"
      rowProps={({ paused }) => ({ 'data-paused': paused || undefined })}
      columns={columnsOf(showsProjects(project, rows))}
      empty={
        <NoRows title="No schedule fits" filters={{ status, q, project }} onChange={change}>
          <h2>No schedules yet</h2>
          <p>A schedule creates a session again and again, at the times of a cron expression or at an interval:</p>
          <pre className="empty-command">
            <code>npx reprise schedules create nightly --cron &apos;30 2 * * *&apos; --retries 3 -- ./report.sh</code>
          </pre>
        </NoRows>
      }
      foot={<PageFoot noun="schedule" list={list} />}
    >
      <Tabs
        label="By status"
        tabs={[
          { tab: undefined, name: 'All', counted: data?.all },
          { tab: 'active', name: 'Active', counted: data?.active },
          { tab: 'paused', name: 'Paused', counted: data?.paused },
        ]}
        chosen={status}
        onChoose={(chosen) => change({ status: chosen })}
      />
      <div className="filters">
        <NameFilter value={q} onChange={(words) => change({ q: words })} />
      </div>
    </ListPage>
  )
}

function columnsOf(showsProject: boolean): readonly Column<UiScheduleRowFragment>[] {
  return [
    {
      title: 'Schedule',
      className: 'named',
      value: ({ name }) => name,
      cell: ({ scheduleId, name, project }) => (
        <>
          <Link to="/schedules/$scheduleId" params={{ scheduleId }} className="table-link" title={name}>
            {name}
          </Link>
          {showsProject && <span className="table-tag">{project.name}</span>}
        </>
      ),
    },
    { title: 'Runs at', className: 'schedule-when', cell: (schedule) => <Timing schedule={schedule} /> },
    {
      title: 'Next run',
      className: 'schedule-next',
      value: ({ paused, nextRunAt }) => (paused ? null : nextRunAt),
      hint: ({ statusReason }) => statusReason,
      cell: ({ paused, nextRunAt }) => (paused ? 'paused' : nextRunAt === null ? 'none' : <Until at={nextRunAt} />),
    },
    { title: 'Last runs', className: 'schedule-runs', cell: ({ lastRuns }) => <LastRuns runs={lastRuns} /> },
    {
      title: 'Created',
      className: 'schedule-created',
      value: ({ createdAt }) => createdAt,
      isDown: true,
      cell: ({ createdAt }) => <Ago at={createdAt} said="created" />,
    },
  ]
}
