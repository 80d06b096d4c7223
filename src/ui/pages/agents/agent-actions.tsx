import { type ReactNode, useState } from 'react'
import type { AgentStatus } from '../../../client/schema-types.generated.ts'
import { useAct } from '../../app/act.ts'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { useViewer } from '../../app/viewer.ts'
import { CancelledIcon, FailedIcon, HeldIcon, SucceededIcon, WaitingIcon } from '../../design/icons.tsx'
import { type UiAgentRowFragment, UiRemoveAgentDocument, UiResumeAgentDocument } from './agents.generated.ts'
import './agents.css'

const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')
const DrainDialog = lazyDialog(() => import('./agent-dialogs.tsx'), 'DrainDialog')

type Agent = UiAgentRowFragment

/** An action on an agent, and the reason if it is not allowed. */
export interface AgentAct {
  name: 'Drain' | 'Resume' | 'Remove'
  whyNot: string | null
  run: () => void
}

/** The actions of the cluster's administrators on an agent, and the dialog that asks for confirmation. */
export function useAgentActions(onDone: () => void): { actsOn: (agent: Agent) => AgentAct[]; dialog: ReactNode } {
  const act = useAct()
  const { can, project } = useViewer()
  const [asked, setAsked] = useState<{ what: 'drain' | 'remove'; agent: Agent } | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const forbidden = can.administer && project === null ? null : 'For administrators of the cluster'

  const during = async (send: () => Promise<object | null>) => {
    setIsBusy(true)
    if (await send()) setAsked(null)
    setIsBusy(false)
    onDone()
  }
  const resume = ({ agentId, name }: Agent) =>
    during(() => act(UiResumeAgentDocument, { agentId }, { about: name, done: `${name} takes new work again.` }))
  const remove = ({ agentId, name }: Agent) =>
    during(() => act(UiRemoveAgentDocument, { agentId }, { about: name, done: `${name} is removed.` }))

  const actsOn = (agent: Agent): AgentAct[] => {
    const { status, drainedAt } = agent
    if (status === 'TERMINATED') return []
    const change: AgentAct =
      drainedAt === null
        ? { name: 'Drain', whyNot: forbidden, run: () => setAsked({ what: 'drain', agent }) }
        : { name: 'Resume', whyNot: forbidden, run: () => void resume(agent) }
    return [
      change,
      { name: 'Remove', whyNot: forbidden ?? whyNotRemoved(agent), run: () => setAsked({ what: 'remove', agent }) },
    ]
  }
  const close = () => setAsked(null)
  return {
    actsOn,
    dialog: (
      <>
        {asked?.what === 'drain' && (
          <DrainDialog
            agent={asked.agent}
            onDone={() => {
              close()
              onDone()
            }}
            onClose={close}
          />
        )}
        {asked?.what === 'remove' && (
          <Confirm
            title="Remove 1 agent?"
            act="Remove the agent"
            isBusy={isBusy}
            onAct={() => void remove(asked.agent)}
            onClose={close}
          >
            {asked.agent.name} will no longer be listed among the agents. It comes back when its program is started
            again.
          </Confirm>
        )}
      </>
    ),
  }
}

/** The reason for which the server would refuse it. */
function whyNotRemoved({ status, kernels }: Agent): string | null {
  if (status !== 'LOST' && status !== 'DRAINING') return 'It must be lost or drained before it is removed'
  return kernels.totalCount > 0 ? 'It still has kernels that may run' : null
}

const LOOKS = {
  ALIVE: { icon: SucceededIcon, tone: 'succeeded', name: 'alive' },
  SUSPECT: { icon: WaitingIcon, tone: 'held', name: 'suspect' },
  LOST: { icon: FailedIcon, tone: 'exit', name: 'lost' },
  DRAINING: { icon: HeldIcon, tone: 'held', name: 'draining' },
  TERMINATED: { icon: CancelledIcon, tone: 'unknown', name: 'removed' },
} as const satisfies Record<AgentStatus, object>

/** The status as an icon and a word. */
export function AgentStatusMark({ status }: { status: AgentStatus }) {
  const { icon: Icon, tone, name } = LOOKS[status]
  return (
    <span className="agent-status">
      <Icon className={`tone-${tone}`} />
      {name}
    </span>
  )
}
