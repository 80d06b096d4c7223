import { type ReactNode, useState } from 'react'
import type { UpdateDeploymentInput } from '../../../client/schema-types.generated.ts'
import { useAct } from '../../app/act.ts'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { useViewer } from '../../app/viewer.ts'
import { mountWords } from '../../words/mount.ts'
import { amountWords, counted, gpuWords } from '../../words/numbers.ts'
import {
  type UiDeploymentRowFragment,
  UiDestroyDeploymentDocument,
  type UiRevisionFragment,
  UiUpdateDeploymentDocument,
} from './deployments.generated.ts'

const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')
const ScaleDialog = lazyDialog(() => import('./scale-dialog.tsx'), 'ScaleDialog')

type Asked = { what: 'scale' | 'destroy' } | { what: 'rollBack'; revision: UiRevisionFragment }

export interface DeploymentActions {
  /** The reason why it cannot be changed; null if it can. */
  whyNotChanged: string | null
  whyNotDestroyed: string | null
  ask: (what: Asked) => void
  dialog: ReactNode
}

/** The actions on a deployment, with their dialogs. */
export function useDeploymentActions(deployment: UiDeploymentRowFragment, onDone: () => void): DeploymentActions {
  const act = useAct()
  const { can } = useViewer()
  const [asked, setAsked] = useState<Asked | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const { deploymentId, name, status, replicas } = deployment
  const gone = status === 'DESTROYING' || status === 'DESTROYED' ? 'It is being destroyed, or has been' : null

  const during = async (send: () => Promise<object | null>) => {
    setIsBusy(true)
    if (await send()) setAsked(null)
    setIsBusy(false)
    onDone()
  }
  const rollBack = (revision: UiRevisionFragment) =>
    during(() =>
      act(
        UiUpdateDeploymentDocument,
        { input: rollBackInput(deploymentId, revision) },
        { about: name, done: `${name} goes back to revision ${revision.number}.` },
      ),
    )
  const destroy = () =>
    during(() =>
      act(UiDestroyDeploymentDocument, { deploymentId }, { about: name, done: `${name} ends with all its replicas.` }),
    )
  const close = () => setAsked(null)
  return {
    whyNotChanged: gone ?? (can.createSessions ? null : 'Your role does not allow it'),
    whyNotDestroyed: gone ?? (can.terminate ? null : 'Your role does not allow it'),
    ask: setAsked,
    dialog: (
      <>
        {asked?.what === 'scale' && (
          <ScaleDialog
            deployment={deployment}
            onDone={() => {
              close()
              onDone()
            }}
            onClose={close}
          />
        )}
        {asked?.what === 'rollBack' && (
          <Confirm
            title={`Go back to revision ${asked.revision.number}?`}
            act="Go back"
            keep="Stay"
            isBusy={isBusy}
            onAct={() => void rollBack(asked.revision)}
            onClose={close}
          >
            {name} gets a new revision equal to revision {asked.revision.number}, and its replicas are replaced one
            after the other. Secret variables stay as they are now.
          </Confirm>
        )}
        {asked?.what === 'destroy' && (
          <Confirm
            title={`Destroy 1 deployment with ${counted(replicas, 'replica')}?`}
            act="Destroy it"
            isBusy={isBusy}
            onAct={() => void destroy()}
            onClose={close}
          >
            Clients are sent to {name} no more, and its replicas end after their drain. This cannot be undone.
          </Confirm>
        )}
      </>
    ),
  }
}

type Revision = UiRevisionFragment

/** The fields of a revision in words, by name, for comparing. */
function fieldsOf(revision: Revision): Record<string, string> {
  const { healthCheck: check } = revision
  const pairs = (given: readonly { key: string; value: string }[]) =>
    given.map(({ key, value }) => `${key}=${value}`).join(', ')
  return {
    command: revision.command.join(' '),
    image: revision.image ?? '',
    group: revision.resourceGroup,
    resources: revision.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', '),
    GPUs: revision.requiredGpus ? gpuWords(revision.requiredGpus) : '',
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

/** The differences of a revision from the one before: `LR = 0.1`, `resources: cpu 1 to cpu 2`. */
export function revisionChanges(before: Revision, after: Revision): string[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((name) => {
    const [from = '', to = ''] = [old[name], now[name]]
    if (from === to) return []
    if (from === '') return [`${name} = ${to}`]
    return [to === '' ? `without ${name}` : `${name}: ${from} to ${to}`]
  })
}

/**
 * The input that restores an earlier revision. Secret variables stay as they are, as nobody can read their values.
 */
function rollBackInput(deploymentId: string, revision: Revision): UpdateDeploymentInput {
  const { command, image, environ, resourceSlots, resourceGroup, priority, labels, agentLabels, mounts } = revision
  const { model = null, memoryBytes = null } = revision.requiredGpus ?? {}
  const memory = memoryBytes === null ? null : String(memoryBytes)
  const { portVariable, startTimeout, evictAfter, drain, healthCheck } = revision
  return {
    deploymentId,
    command,
    image,
    environ: environ.map(({ name, value }) => ({ name, value: value ?? '' })),
    resourceSlots,
    gpus: { model, memory },
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
