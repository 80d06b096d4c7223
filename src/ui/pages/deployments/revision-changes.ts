import type { UpdateDeploymentInput } from '../../../client/schema-types.generated.ts'
import { amountWords } from '../../words/amount.ts'
import { mountWords } from '../../words/mount.ts'
import type { UiRevisionFragment } from './deployments.generated.ts'

type Revision = UiRevisionFragment

/** Each of its fields in words, by name: for comparing. */
function fieldsOf(revision: Revision): Record<string, string> {
  const { healthCheck: check } = revision
  const pairs = (given: readonly { key: string; value: string }[]) =>
    given.map(({ key, value }) => `${key}=${value}`).join(', ')
  return {
    command: revision.command.join(' '),
    image: revision.image ?? '',
    group: revision.resourceGroup,
    resources: revision.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', '),
    priority: String(revision.priority),
    labels: pairs(revision.labels),
    'agent labels': pairs(revision.agentLabels),
    volumes: revision.mounts.map(mountWords).join('; '),
    'port variable': revision.portVariable,
    'start timeout': `${revision.startTimeout} s`,
    'evict after': `${revision.evictAfter} s`,
    drain: `${revision.drain} s`,
    'health check': `${check.path}, every ${check.interval} s within ${check.timeout} s, ${check.healthyThreshold} to be healthy, ${check.unhealthyThreshold} to be not, after ${check.initialDelay} s, for ${check.staleAfter} s`,
    'secret variables': revision.secretEnviron.join(', '),
    ...Object.fromEntries(revision.environ.map(({ name, value }) => [name, value ?? 'hidden'])),
  }
}

/** What a revision has that the one before has not: `LR = 0.1`, `resources: cpu 1 to cpu 2`. */
export function revisionChanges(before: Revision, after: Revision): string[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((name) => {
    const [from = '', to = ''] = [old[name], now[name]]
    if (from === to) return []
    if (from === '') return [`${name} = ${to}`]
    return [to === '' ? `without ${name}` : `${name}: ${from} to ${to}`]
  })
}

/** All of an earlier revision but its secret variables, whose values nobody can read: they stay as they are. */
export function rollBackInput(deploymentId: string, revision: Revision): UpdateDeploymentInput {
  const { command, image, environ, resourceSlots, resourceGroup, priority, labels, agentLabels, mounts } = revision
  const { portVariable, startTimeout, evictAfter, drain, healthCheck } = revision
  return {
    deploymentId,
    command,
    image,
    environ: environ.map(({ name, value }) => ({ name, value: value ?? '' })),
    resourceSlots,
    resourceGroup,
    priority,
    labels,
    agentLabels,
    mounts,
    portVariable,
    startTimeout,
    evictAfter,
    drain,
    healthCheck,
  }
}
