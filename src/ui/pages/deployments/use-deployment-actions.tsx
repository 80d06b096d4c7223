import { lazy, Suspense, useState, type ReactNode } from 'react'
import { useAct } from '../../app/act/act.ts'
import { useViewer } from '../../app/viewer.ts'
import { counted } from '../../words/count.ts'
import {
  UiDestroyDeploymentDocument,
  UiScaleDeploymentDocument,
  UiUpdateDeploymentDocument,
  type UiDeploymentRowFragment,
  type UiRevisionFragment,
} from './deployments.generated.ts'
import { rollBackInput } from './revision-changes.ts'

const Confirm = lazy(async () => ({ default: (await import('../../app/act/confirm.tsx')).Confirm }))
const ScaleDialog = lazy(async () => ({ default: (await import('./scale-dialog.tsx')).ScaleDialog }))

type Asked = { what: 'scale' | 'destroy' } | { what: 'rollBack'; revision: UiRevisionFragment }

export interface DeploymentActions {
  /** Why it cannot be changed; null if it can. */
  whyNotChanged: string | null
  whyNotDestroyed: string | null
  ask: (what: Asked) => void
  dialog: ReactNode
}

/** What can be done with a deployment, and the dialogs that ask for it. */
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
  const scale = (to: number) =>
    during(() =>
      act(
        UiScaleDeploymentDocument,
        { deploymentId, replicas: to },
        { about: name, done: `${name} gets ${counted(to, 'replica')}.` },
      ),
    )
  const rollBack = (revision: UiRevisionFragment) =>
    during(() =>
      act(
        UiUpdateDeploymentDocument,
        { input: rollBackInput(deploymentId, revision) },
        { about: name, done: `${name} goes back to what revision ${revision.number} was.` },
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
      <Suspense>
        {asked?.what === 'scale' && (
          <ScaleDialog
            name={name}
            replicas={replicas}
            isBusy={isBusy}
            onScale={(to) => void scale(to)}
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
            {name} gets a new revision that is what revision {asked.revision.number} was, and its replicas are replaced
            one after the other. Secret variables stay as they are now.
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
      </Suspense>
    ),
  }
}
