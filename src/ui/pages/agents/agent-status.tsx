import { CancelledIcon, FailedIcon, HeldIcon, SucceededIcon, WaitingIcon } from '../../design/icons.tsx'
import type { AgentStatus } from '../../../client/schema-types.generated.ts'
import './agents.css'

const LOOKS = {
  ALIVE: { icon: SucceededIcon, tone: 'succeeded', name: 'alive' },
  SUSPECT: { icon: WaitingIcon, tone: 'held', name: 'suspect' },
  LOST: { icon: FailedIcon, tone: 'exit', name: 'lost' },
  DRAINING: { icon: HeldIcon, tone: 'held', name: 'draining' },
  TERMINATED: { icon: CancelledIcon, tone: 'unknown', name: 'removed' },
} as const satisfies Record<AgentStatus, object>

/** As an icon and a word. */
export function AgentStatusMark({ status }: { status: AgentStatus }) {
  const { icon: Icon, tone, name } = LOOKS[status]
  return (
    <span className="agent-status">
      <Icon className={`tone-${tone}`} />
      {name}
    </span>
  )
}
