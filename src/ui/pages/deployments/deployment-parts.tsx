import { AttemptLink } from '../../app/list/row-link.tsx'
import { Ago } from '../../app/moments.tsx'
import { Button } from '../../design/controls.tsx'
import { type Column, TableCard } from '../../design/table.tsx'
import { count, counted } from '../../words/numbers.ts'
import { type DeploymentActions, revisionChanges } from './deployment-actions.tsx'
import { RouteStatusMark } from './deployment-looks.tsx'
import type { UiDeploymentQuery, UiRevisionFragment, UiRouteFragment } from './deployments.generated.ts'

type Routes = NonNullable<UiDeploymentQuery['deployment']>['live']

/** The routes of a deployment, each with its session and last check; below them the newest that ended. */
export function RoutesCard({ live, ended }: { live: Routes; ended: Routes }) {
  const moreLive = live.totalCount - live.edges.length
  const moreEnded = ended.totalCount - ended.edges.length
  return (
    <TableCard
      title="Replicas"
      count={counted(live.totalCount, 'route')}
      none="None has been started."
      label="Routes"
      rowClass="route-row"
      columns={ROUTE_COLUMNS}
      rows={[...live.edges, ...ended.edges].map(({ node }) => node)}
      rowProps={({ status }) => ({
        'data-over': status === 'TERMINATED' || status === 'FAILED_TO_START' || undefined,
      })}
      foot={
        (moreLive > 0 || moreEnded > 0) && (
          <>
            {moreLive > 0 && `${count(moreLive)} more are there. `}
            {moreEnded > 0 && `${count(moreEnded)} more have ended.`}
          </>
        )
      }
    />
  )
}

const ROUTE_COLUMNS: readonly Column<UiRouteFragment>[] = [
  {
    title: 'Serves at',
    className: 'route-address',
    cell: ({ host, port }) => (host === null || port === null ? 'no address yet' : `${host}:${port}`),
  },
  {
    title: 'Status',
    className: 'route-status',
    cell: ({ status, statusReason, lastCheckFault }) => {
      const why = lastCheckFault ?? statusReason
      return (
        <>
          <RouteStatusMark status={status} />
          {why !== null && status !== 'HEALTHY' && (
            <span className="deployment-why" title={why}>
              {why}
            </span>
          )}
        </>
      )
    },
  },
  { title: 'Revision', className: 'route-revision', cell: ({ revision }) => revision.number },
  { title: 'Session', className: 'named', cell: ({ session }) => <AttemptLink session={session} /> },
  {
    title: 'Checked',
    className: 'route-check',
    cell: ({ lastCheckAt }) => (lastCheckAt === null ? 'never' : <Ago at={lastCheckAt} said="checked" />),
  },
  {
    title: 'Since',
    className: 'route-since',
    cell: ({ statusChangedAt }) => <Ago at={statusChangedAt} said="since" />,
  },
]

/** The deployment's revisions, the newest first, each with its changes and a button to go back to it. */
export function RevisionsCard(props: {
  revisions: readonly UiRevisionFragment[]
  current: number
  hasMore: boolean
  actions: DeploymentActions
}) {
  const { revisions, current, hasMore, actions } = props
  return (
    <section className="card flush" aria-label="Revisions">
      <h2>
        Revisions <span className="card-count">{counted(revisions.length, 'revision')}</span>
      </h2>
      <ol className="revisions" reversed>
        {revisions
          .map((revision, index) => ({ revision, before: revisions[index - 1] }))
          .toReversed()
          .map(({ revision, before }) => (
            <li key={revision.id} className="revision">
              <span className="revision-number">{revision.number}</span>
              <div className="revision-words">
                <p>
                  {revision.number === current && <span className="revision-current">in use</span>}
                  {revision.createdBy !== null && `by ${revision.createdBy}, `}
                  <Ago at={revision.createdAt} />
                </p>
                {before === undefined ? (
                  <code className="revision-command">{revision.command.join(' ')}</code>
                ) : (
                  <ul className="revision-changes">
                    {changesOf(before, revision).map((each) => (
                      <li key={each}>{each}</li>
                    ))}
                  </ul>
                )}
              </div>
              {revision.number !== current && (
                <Button
                  aria-label={`Go back to revision ${revision.number}`}
                  aria-disabled={actions.whyNotChanged !== null || undefined}
                  title={actions.whyNotChanged ?? undefined}
                  onClick={() => actions.whyNotChanged === null && actions.ask({ what: 'rollBack', revision })}
                >
                  Go back…
                </Button>
              )}
            </li>
          ))}
      </ol>
      {hasMore && <p className="card-foot">Only the first hundred are shown.</p>}
    </section>
  )
}

function changesOf(before: UiRevisionFragment, after: UiRevisionFragment): string[] {
  const changes = revisionChanges(before, after)
  // Secret variables are stored sealed, so changed values cannot be listed.
  return changes.length > 0 ? changes : ['other values of secret variables']
}
