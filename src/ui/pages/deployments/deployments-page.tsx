import { getRouteApi, Link } from '@tanstack/react-router'
import { useFirstCursor, useLive } from '../../api/live.ts'
import { deploymentFilterOf } from '../../app/list/filters.ts'
import { NameFilter, Tabs } from '../../app/list/list-filters.tsx'
import { ListPage, NoRows, PageFoot, showsProjects, useChangeSearch, useList } from '../../app/list/list-page.tsx'
import { DEPLOYMENT_ORDERS, NEWEST_FIRST, type SearchOf } from '../../app/list/search.ts'
import { Ago } from '../../app/moments.tsx'
import type { Column } from '../../design/table.tsx'
import { DeploymentStatusMark, Replicas } from './deployment-looks.tsx'
import { type UiDeploymentRowFragment, UiDeploymentsDocument } from './deployments.generated.ts'
import '../../design/controls.css'
import './deployments.css'

const route = getRouteApi('/frame/deployments')

const PAGE_ROWS = 50

/** The deployments with their replicas, kept up to date. */
export function DeploymentsPage() {
  const search = route.useSearch()
  const { status, q, project, order } = search
  const change = useChangeSearch<'deployments'>()
  const list = useDeployments(search)
  const { data, rows } = list
  return (
    <ListPage
      title="Deployments"
      dropped={search.dropped}
      list={list}
      rowClass="deployment-row"
      columns={columnsOf(showsProjects(project, rows))}
      order={order ?? NEWEST_FIRST}
      onOrder={(chosen) => change({ order: chosen === NEWEST_FIRST ? undefined : (chosen as typeof order) })}
      empty={
        <NoRows title="No deployment fits" filters={{ status, q, project }} onChange={change}>
          <h2>No deployments yet</h2>
          <p>A deployment keeps a number of replicas of a program that serves HTTP, and replaces those that fail:</p>
          <pre className="empty-command">
            <code>npx reprise deployments create web --replicas 2 --wait -- node server.js</code>
          </pre>
        </NoRows>
      }
      foot={<PageFoot noun="deployment" list={list} />}
    >
      <Tabs
        label="By status"
        tabs={[
          { tab: undefined, name: 'All', counted: data?.present },
          { tab: 'ready', name: 'Ready', counted: data?.ready },
          { tab: 'moving', name: 'Moving', counted: data?.moving },
          { tab: 'ending', name: 'Ending', counted: data?.ending },
          { tab: 'destroyed', name: 'Destroyed', counted: data?.destroyed },
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

/** The newest deployments first, read again when one of them or of their replicas has changed. */
function useDeployments(search: SearchOf<'deployments'>) {
  const { project, order = NEWEST_FIRST } = search
  const orderBy = DEPLOYMENT_ORDERS[order]
  const variables = { filter: deploymentFilterOf(search), orderBy, project, first: PAGE_ROWS }
  const list = useList(UiDeploymentsDocument, variables, ({ deployments }) => deployments)
  useLive({
    cursor: useFirstCursor(list.key, list.data?.eventCursor),
    project,
    concerns: ({ deploymentIds }) => deploymentIds.length > 0,
    onChanges: async () => list.again(),
    onMissed: list.again,
  })
  return list
}

function columnsOf(showsProject: boolean): readonly Column<UiDeploymentRowFragment>[] {
  return [
    {
      title: 'Deployment',
      className: 'named',
      order: 'name',
      cell: ({ deploymentId, name, project }) => (
        <>
          <Link to="/deployments/$deploymentId" params={{ deploymentId }} className="table-link" title={name}>
            {name}
          </Link>
          {showsProject && <span className="table-tag">{project.name}</span>}
        </>
      ),
    },
    {
      title: 'Replicas',
      className: 'deployment-replicas',
      cell: ({ replicas, healthyReplicas, routeCounts }) => (
        <Replicas wanted={replicas} healthy={healthyReplicas} counts={routeCounts} />
      ),
    },
    {
      title: 'Status',
      className: 'deployment-status',
      cell: ({ status, statusReason }) => (
        <>
          <DeploymentStatusMark status={status} />
          {statusReason !== null && (
            <span className="deployment-why" title={statusReason}>
              {statusReason}
            </span>
          )}
        </>
      ),
    },
    { title: 'Revision', className: 'deployment-revision', cell: ({ revision }) => revision.number },
    {
      title: 'Since',
      className: 'deployment-since',
      order: 'since',
      isDown: true,
      cell: ({ statusChangedAt }) => <Ago at={statusChangedAt} said="since" />,
    },
    {
      title: 'Created',
      className: 'deployment-created',
      order: 'created',
      isDown: true,
      cell: ({ createdAt }) => <Ago at={createdAt} said="created" />,
    },
  ]
}
