import { Link } from '@tanstack/react-router'
import { Ago } from '../../app/moments.tsx'
import { Button } from '../../design/controls.tsx'
import { count, counted } from '../../words/numbers.ts'
import { type DeploymentActions, revisionChanges } from './deployment-actions.tsx'
import { RouteStatusMark } from './deployment-looks.tsx'
import type { UiDeploymentQuery, UiRevisionFragment, UiRouteFragment } from './deployments.generated.ts'

type Routes = NonNullable<UiDeploymentQuery['deployment']>['live']

/** Its replicas, each with the session that runs it and what its last check found; below them the newest that ended. */
export function RoutesCard({ live, ended }: { live: Routes; ended: Routes }) {
  const routes = [...live.edges, ...ended.edges].map(({ node }) => node)
  return (
    <section className="card flush" aria-label="Replicas">
      <h2>
        Replicas <span className="card-count">{counted(live.totalCount, 'route')}</span>
      </h2>
      {routes.length === 0 ? (
        <p className="card-none">None has been started.</p>
      ) : (
        <div role="table" aria-label="Routes">
          <div role="rowgroup" className="table-columns">
            <div role="row" className="table-row route-row head">
              <span role="columnheader">Serves at</span>
              <span role="columnheader">Status</span>
              <span role="columnheader">Revision</span>
              <span role="columnheader">Session</span>
              <span role="columnheader">Checked</span>
              <span role="columnheader">Since</span>
            </div>
          </div>
          <div role="rowgroup">
            {routes.map((route) => (
              <RouteRow key={route.id} route={route} />
            ))}
          </div>
        </div>
      )}
      {(live.totalCount > live.edges.length || ended.totalCount > ended.edges.length) && (
        <p className="card-foot">
          {live.totalCount > live.edges.length && `${count(live.totalCount - live.edges.length)} more are there. `}
          {ended.totalCount > ended.edges.length && `${count(ended.totalCount - ended.edges.length)} more have ended.`}
        </p>
      )}
    </section>
  )
}

function RouteRow({ route }: { route: UiRouteFragment }) {
  const { status, statusReason, statusChangedAt, host, port, lastCheckAt, lastCheckFault, revision, session } = route
  const isOver = status === 'TERMINATED' || status === 'FAILED_TO_START'
  const why = lastCheckFault ?? statusReason
  return (
    <div role="row" className="table-row route-row" data-over={isOver || undefined}>
      <span role="cell" className="route-address">
        {host === null || port === null ? 'nowhere yet' : `${host}:${port}`}
      </span>
      <span role="cell" className="route-status">
        <RouteStatusMark status={status} />
        {why !== null && status !== 'HEALTHY' && (
          <span className="deployment-why" title={why}>
            {why}
          </span>
        )}
      </span>
      <span role="cell" className="route-revision">
        {revision.number}
      </span>
      <span role="cell" className="named">
        <Link
          to="/chains/$chainId"
          params={{ chainId: session.chainId }}
          search={{ attempt: session.attempt }}
          className="table-link"
          title={session.name}
        >
          {session.name}
        </Link>
      </span>
      <span role="cell" className="route-check">
        {lastCheckAt === null ? 'never' : <Ago at={lastCheckAt} said="checked" />}
      </span>
      <span role="cell" className="route-since">
        <Ago at={statusChangedAt} said="since" />
      </span>
    </div>
  )
}

/** The deployment's revisions, the newest first, each with its changes and the way back to it. */
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
      {hasMore && <p className="card-foot">These are its first hundred.</p>}
    </section>
  )
}

function changesOf(before: UiRevisionFragment, after: UiRevisionFragment): string[] {
  const changes = revisionChanges(before, after)
  // They are stored sealed: that one of them has another value cannot be seen.
  return changes.length > 0 ? changes : ['other values of secret variables']
}
