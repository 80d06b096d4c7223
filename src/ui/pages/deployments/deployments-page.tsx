import { getRouteApi, Link } from '@tanstack/react-router'
import { useFirstCursor, useLive } from '../../api/live.ts'
import { usePolled } from '../../api/poll.ts'
import { deploymentFilterOf } from '../../app/list/filters.ts'
import { NameFilter, Tabs } from '../../app/list/list-filters.tsx'
import { Dropped, EmptyUnderFilters, ListPanel, PageFoot, usePlace } from '../../app/list/list-panel.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { Ago } from '../../app/moments.tsx'
import { DeploymentStatusMark, Replicas } from './deployment-looks.tsx'
import {
  type UiDeploymentRowFragment,
  UiDeploymentsDocument,
  type UiDeploymentsQuery,
} from './deployments.generated.ts'
import '../../design/controls.css'
import './deployments.css'

const route = getRouteApi('/frame/deployments')

const PAGE_ROWS = 50

/** The deployments with their replicas, kept up to date. */
export function DeploymentsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const change = (part: Partial<SearchOf<'deployments'>>) =>
    void navigate({ search: (before) => ({ ...before, dropped: undefined, ...part }), replace: true })
  const { data, error, again, rows, offset, first, next } = useDeployments(search)
  const showsProject = search.project === undefined && new Set(rows.map(({ project }) => project.id)).size > 1
  return (
    <div className="list-page">
      <h1 tabIndex={-1}>Deployments</h1>
      <StatusTabs search={search} data={data} onChange={change} />
      <div className="filters">
        <NameFilter value={search.q} onChange={(q) => change({ q })} />
      </div>
      <Dropped names={search.dropped} />
      <ListPanel
        label="Deployments"
        rowClass="deployment-row"
        columns={['Deployment', 'Replicas', 'Status', 'Revision', 'Since', 'Created']}
        read={{ data, error, again }}
        rows={rows}
        offset={offset}
        hasMore={next !== null}
        empty={<Empty search={search} onChange={change} />}
      >
        {(deployment, rowIndex) => (
          <Row key={deployment.id} deployment={deployment} rowIndex={rowIndex} showsProject={showsProject} />
        )}
      </ListPanel>
      <PageFoot noun="deployment" rows={rows.length} offset={offset} first={first} next={next} />
    </div>
  )
}

function Row(props: { deployment: UiDeploymentRowFragment; rowIndex: number; showsProject: boolean }) {
  const { deployment, rowIndex, showsProject } = props
  const { deploymentId, name, project, status, statusReason, statusChangedAt, createdAt, revision } = deployment
  return (
    <div role="row" aria-rowindex={rowIndex} className="table-row deployment-row">
      <span role="cell" className="named">
        <Link to="/deployments/$deploymentId" params={{ deploymentId }} className="table-link" title={name}>
          {name}
        </Link>
        {showsProject && <span className="table-tag">{project.name}</span>}
      </span>
      <span role="cell" className="deployment-replicas">
        <Replicas wanted={deployment.replicas} healthy={deployment.healthyReplicas} counts={deployment.routeCounts} />
      </span>
      <span role="cell" className="deployment-status">
        <DeploymentStatusMark status={status} />
        {statusReason !== null && (
          <span className="deployment-why" title={statusReason}>
            {statusReason}
          </span>
        )}
      </span>
      <span role="cell" className="deployment-revision">
        {revision.number}
      </span>
      <span role="cell" className="deployment-since">
        <Ago at={statusChangedAt} said="since" />
      </span>
      <span role="cell" className="deployment-created">
        <Ago at={createdAt} said="created" />
      </span>
    </div>
  )
}

/** A page of them, the newest first, read again when one of them or of their replicas has changed. */
function useDeployments(search: SearchOf<'deployments'>) {
  const filter = deploymentFilterOf(search)
  const key = JSON.stringify(filter)
  const { after, offset, first, onward } = usePlace(key)
  const { data, error, again } = usePolled(UiDeploymentsDocument, {
    filter,
    project: search.project,
    first: PAGE_ROWS,
    after,
  })
  useLive({
    cursor: useFirstCursor(key, data?.eventCursor),
    project: search.project,
    concerns: ({ deploymentIds }) => deploymentIds.length > 0,
    onChanges: async () => again(),
    onMissed: again,
  })
  const rows = data?.deployments.edges.map(({ node }) => node) ?? []
  const next = onward(data?.deployments)
  return { data, error, again, rows, offset, first, next }
}

function StatusTabs(props: {
  search: SearchOf<'deployments'>
  data: UiDeploymentsQuery | undefined
  onChange: (part: Partial<SearchOf<'deployments'>>) => void
}) {
  const { search, data, onChange } = props
  const counts = (of: { totalCount: number } | undefined) => of && { count: of.totalCount, isExact: true }
  return (
    <Tabs<NonNullable<SearchOf<'deployments'>['status']>>
      label="By status"
      tabs={[
        { tab: undefined, name: 'All', counted: counts(data?.present) },
        { tab: 'ready', name: 'Ready', counted: counts(data?.ready) },
        { tab: 'moving', name: 'Moving', counted: counts(data?.moving) },
        { tab: 'ending', name: 'Ending', counted: counts(data?.ending) },
        { tab: 'destroyed', name: 'Destroyed', counted: counts(data?.destroyed) },
      ]}
      chosen={search.status}
      onChoose={(status) => onChange({ status })}
    />
  )
}

/** Why there is none, and what next. */
function Empty({
  search,
  onChange,
}: {
  search: SearchOf<'deployments'>
  onChange: (part: Partial<SearchOf<'deployments'>>) => void
}) {
  const { status, q, project } = search
  if (status === undefined && q === undefined && project === undefined) {
    return (
      <div className="empty">
        <h2>No deployment is there</h2>
        <p>A deployment keeps a number of replicas of a program that serves HTTP, and replaces those that fail:</p>
        <pre className="empty-command">
          <code>npx reprise deployments create web --replicas 2 --wait -- node server.js</code>
        </pre>
      </div>
    )
  }
  return (
    <EmptyUnderFilters
      title="No deployment fits"
      filters={{ status, q, project }}
      onRemove={(name) => onChange({ [name]: undefined })}
    />
  )
}
