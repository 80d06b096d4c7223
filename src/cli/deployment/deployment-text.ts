import type { Deployment, DeploymentEvent, DeploymentSummary } from '../../client/node/index.ts'
import { formatFields, formatTable } from '../output/table.ts'
import { duration, gpuNeed, instant, mountText, relative, shortId, slotList, timeOfDay } from '../output/format.ts'
import { statusStyle, type Terminal } from '../output/terminal.ts'

/**
 * Returns `web: READY, 3 of 3 healthy, revision 1`, or the reason why it is not ready; that reason has its own numbers.
 */
export function deploymentLine(deployment: DeploymentSummary): string {
  const { name, status, healthyReplicas, replicas, revision, statusReason, settled } = deployment
  if (statusReason !== null) return `${name}: ${status}: ${statusReason}`
  return `${name}: ${status}, ${healthyReplicas} of ${replicas} healthy, ${settled ? '' : 'moving to '}revision ${revision.number}`
}

export async function describeDeployment(deployment: Deployment, terminal: Terminal): Promise<string> {
  const { status, revision } = deployment
  const { healthCheck: check } = revision
  const style = statusStyle(status)
  const list = (entries: readonly string[]) => entries.join(', ')
  const fields = formatFields(
    [
      ['deployment', deployment.deploymentId],
      ['name', deployment.name],
      ['project', deployment.project.name],
      ['status', style ? terminal.style(style, status) : status],
      ['reason', deployment.statusReason],
      ['healthy', `${deployment.healthyReplicas} of ${deployment.replicas}`],
      ['updates', `at least ${deployment.minHealthy} healthy, at most ${deployment.maxSurge} more`],
      ['failures', deployment.failures === 0 ? null : failuresOf(deployment)],
      ['revision', `${revision.number}, ${relative(revision.createdAt)}`],
      ['command', revision.command.join(' ')],
      ['image', revision.image],
      ['variables', list(revision.environ.map(({ name, value }) => `${name}=${value}`))],
      ['secrets', list(revision.secretEnviron)],
      ['port in', revision.portVariable],
      ['slots', slotList(revision.resourceSlots)],
      ['gpus', revision.requiredGpus && gpuNeed(revision.requiredGpus)],
      ['labels', list(revision.labels.map(({ key, value }) => `${key}=${value}`))],
      ['volumes', list(revision.mounts.map(mountText))],
      ['group', revision.resourceGroup],
      ['check', `GET ${check.path} every ${duration(check.interval)}, within ${duration(check.timeout)}`],
      ['created', `${instant(deployment.createdAt)} (${relative(deployment.createdAt)})`],
    ],
    terminal,
  )
  const routes = deployment.routes.edges.map(({ node }) => node)
  if (routes.length === 0) return fields
  const table = await formatTable(
    routes,
    [
      { title: 'ROUTE', value: ({ routeId }) => routeId, id: true },
      { title: 'STATUS', value: (row) => row.status, style: (row) => statusStyle(row.status), kept: true },
      { title: 'REVISION', value: (row) => row.revision.number, align: 'right' },
      { title: 'ENDPOINT', value: ({ host, port }) => (host === null ? null : `${host}:${port}`) },
      { title: 'SINCE', value: ({ statusChangedAt }) => relative(statusChangedAt), align: 'right' },
      { title: 'SESSION', value: ({ session }) => session.sessionId, id: true },
      {
        title: 'WHY',
        value: (row) => row.lastCheckFault ?? row.statusReason ?? row.session.pendingReason,
        flexible: true,
      },
    ],
    terminal,
  )
  return `${fields}\n\n${table}`
}

function failuresOf({ failures, nextRouteAt }: Deployment): string {
  return nextRouteAt === null ? `${failures} in a row` : `${failures} in a row; the next route ${relative(nextRouteAt)}`
}

export function deploymentEventLine(event: DeploymentEvent, terminal: Terminal): string {
  const { type, toStatus, fromStatus, toReplicas, fromReplicas, revision, fromRevision } = event
  const style = toStatus === null ? undefined : statusStyle(toStatus)
  const moves = [
    toStatus && `${fromStatus ?? ''} → ${style ? terminal.style(style, toStatus) : toStatus}`.trim(),
    type === 'SCALED' && `${fromReplicas} → ${toReplicas} replicas`,
    type === 'CREATED' && `${toReplicas} replicas`,
    type === 'UPDATED' && `revision ${fromRevision} → ${revision}`,
  ]
  const parts = [
    terminal.style('dim', timeOfDay(event.occurredAt)),
    event.deployment.name,
    type,
    event.routeId && shortId(event.routeId, terminal),
    ...moves,
    event.host !== null && `${event.host}:${event.port}`,
    event.reason,
  ]
  return parts.filter(Boolean).join('  ')
}
