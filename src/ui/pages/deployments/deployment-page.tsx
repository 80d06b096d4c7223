import { getRouteApi, Link } from '@tanstack/react-router'
import { useServerNow } from '../../api/clock.ts'
import { useFirstCursor, useLive } from '../../api/live.ts'
import { usePolled } from '../../api/poll.ts'
import { DetailHead, type Fact, FactsCard, Missing } from '../../app/detail.tsx'
import { HistoryCard } from '../../app/history.tsx'
import { Ago } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { Button } from '../../design/controls.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { mountWords } from '../../words/mount.ts'
import { amountWords, counted, gpuWords } from '../../words/numbers.ts'
import { countdown } from '../../words/time.ts'
import { type DeploymentActions, useDeploymentActions } from './deployment-actions.tsx'
import { DeploymentStatusMark, Replicas } from './deployment-looks.tsx'
import { RevisionsCard, RoutesCard } from './deployment-parts.tsx'
import { UiDeploymentDocument, type UiDeploymentQuery } from './deployments.generated.ts'
import '../../design/table.css'
import './deployments.css'

const route = getRouteApi('/frame/deployments/$deploymentId')

type Deployment = NonNullable<UiDeploymentQuery['deployment']>

/** One deployment: its replicas, endpoints, revisions and history. Kept up to date. */
export function DeploymentPage() {
  const { deploymentId } = route.useParams()
  const { data, error, again } = usePolled(UiDeploymentDocument, { id: deploymentId })
  useLive({
    cursor: useFirstCursor(deploymentId, data?.eventCursor),
    concerns: ({ deploymentIds }) => deploymentIds.includes(deploymentId),
    onChanges: async () => again(),
    onMissed: again,
  })
  useTitle(data?.deployment?.name ?? 'Deployment')
  if (!data?.deployment && error) return <ProblemPanel error={error} onAgain={again} />
  if (!data) return <Skeleton />
  if (!data.deployment) return <Missing noun="deployment" list="/deployments" />
  return <Loaded deployment={data.deployment} error={error} again={again} />
}

function Loaded(props: { deployment: Deployment; error: Error | undefined; again: () => void }) {
  const { deployment, error, again } = props
  const actions = useDeploymentActions(deployment, again)
  const { id, status, statusReason, statusChangedAt, revision, revisions, live, ended } = deployment
  return (
    <div className="detail-page">
      <Outdated error={error} />
      <Head deployment={deployment} actions={actions} />
      <div className="detail-columns">
        <Serves deployment={deployment} />
        <FactsCard title="About it" facts={factsOf(deployment)} />
      </div>
      <RoutesCard live={live} ended={ended} />
      <RevisionsCard
        revisions={revisions.edges.map(({ node }) => node)}
        current={revision.number}
        hasMore={revisions.pageInfo.hasNextPage}
        actions={actions}
      />
      <HistoryCard id={id} state={`${status} ${statusReason} ${statusChangedAt}`} />
      {actions.dialog}
    </div>
  )
}

function Head({ deployment, actions }: { deployment: Deployment; actions: DeploymentActions }) {
  const { name, status, statusReason, failures, nextRouteAt } = deployment
  const { whyNotChanged, whyNotDestroyed, ask } = actions
  return (
    <DetailHead
      list="/deployments"
      name={name}
      mark={<DeploymentStatusMark status={status} />}
      acts={
        <>
          <Button
            aria-disabled={whyNotChanged !== null || undefined}
            title={whyNotChanged ?? undefined}
            onClick={() => whyNotChanged === null && ask({ what: 'scale' })}
          >
            Scale…
          </Button>
          <Button
            aria-disabled={whyNotDestroyed !== null || undefined}
            title={whyNotDestroyed ?? undefined}
            onClick={() => whyNotDestroyed === null && ask({ what: 'destroy' })}
          >
            Destroy…
          </Button>
        </>
      }
    >
      {statusReason !== null && (
        <p className="page-note">
          {statusReason}
          {failures > 0 && nextRouteAt !== null && <NextRoute at={nextRouteAt} />}
        </p>
      )}
    </DetailHead>
  )
}

function NextRoute({ at }: { at: string }) {
  const seconds = (Date.parse(at) - useServerNow()) / 1000
  return seconds > 0 ? <>; the next one is started in {countdown(seconds)}</> : null
}

function Serves({ deployment }: { deployment: Deployment }) {
  const { replicas, healthyReplicas, routeCounts, minHealthy, maxSurge, endpoints } = deployment
  return (
    <section className="card" aria-label="Serves">
      <h2>Serves</h2>
      <p className="serves-figure">
        <Replicas wanted={replicas} healthy={healthyReplicas} counts={routeCounts} />
      </p>
      <p className="card-none">
        {`During an update at least ${counted(minHealthy, 'replica')} stay healthy, and up to ${maxSurge} extra ones may run.`}
      </p>
      <ul className="endpoints" aria-label="Endpoints">
        {endpoints.map(({ url, since }) => (
          <li key={url}>
            <code>{url}</code>
            <span>
              since <Ago at={since} />
            </span>
          </li>
        ))}
      </ul>
      {endpoints.length === 0 && <p className="card-none">It has no endpoints at present.</p>}
    </section>
  )
}

function factsOf(deployment: Deployment): Fact[] {
  const { project, revision, createdAt, createdBy, destroyedAt, destroyedBy, deploymentId } = deployment
  const { healthCheck: check, mounts } = revision
  return [
    ['project', project.name],
    [
      'group',
      <Link key="group" to="/agents" search={{ group: revision.resourceGroup }} className="text-link">
        {revision.resourceGroup}
      </Link>,
    ],
    ['program', <code key="program">{revision.command.join(' ')}</code>],
    ['each takes', revision.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', ')],
    ...(revision.requiredGpus === null ? [] : [['GPUs', gpuWords(revision.requiredGpus)] as const]),
    ['checked', `${check.path} every ${check.interval} s, within ${check.timeout} s`],
    ['created', <AgoBy key="created" at={createdAt} by={createdBy} />],
    ['id', <code key="id">{deploymentId}</code>],
    ...(mounts.length === 0 ? [] : [['volumes', mounts.map(mountWords).join('; ')] as const]),
    ...(destroyedAt === null
      ? []
      : [['destroyed', <AgoBy key="destroyed" at={destroyedAt} by={destroyedBy} />] as const]),
  ]
}

function AgoBy({ at, by }: { at: string; by: string | null }) {
  return (
    <>
      <Ago at={at} />
      {by !== null && ` by ${by}`}
    </>
  )
}
