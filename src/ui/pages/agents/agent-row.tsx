import { Link } from '@tanstack/react-router'
import { Ago } from '../../app/ago.tsx'
import { Meter } from '../../charts/meter.tsx'
import { Button } from '../../design/button.tsx'
import { HeldIcon, RunningIcon } from '../../design/icons.tsx'
import { roughAmount } from '../../words/amount.ts'
import { count } from '../../words/count.ts'
import { AgentStatusMark } from './agent-status.tsx'
import type { UiAgentRowFragment } from './agents.generated.ts'
import type { AgentAct } from './use-agent-actions.tsx'

/** Further ones are on the agent's own page. */
const METERS_MAX = 3

interface Props {
  agent: UiAgentRowFragment
  rowIndex: number
  showsGroup: boolean
  /** To drain or to resume it. */
  change: AgentAct | undefined
}

export function AgentRow({ agent, rowIndex, showsGroup, change }: Props) {
  const { agentId, name, status, drainReason, resourceGroup, slots, kernels, lastHeardAt } = agent
  return (
    <div role="row" aria-rowindex={rowIndex} className="table-row agent-row" data-status={status}>
      <span role="cell" className="agent-name named">
        <Link to="/agents/$agentId" params={{ agentId }} className="table-link" title={name}>
          {name}
        </Link>
        {showsGroup && <span className="table-tag">{resourceGroup.name}</span>}
      </span>
      <span role="cell" className="agent-state">
        <AgentStatusMark status={status} />
        {drainReason !== null && (
          <span className="agent-why" title={drainReason}>
            {drainReason}
          </span>
        )}
      </span>
      <span role="cell" className="agent-meters">
        {slots.slice(0, METERS_MAX).map(({ slot, used, capacity, utilisation }) => (
          <Meter
            key={slot}
            small
            name={slot}
            share={utilisation}
            words={`${roughAmount(slot, used)} of ${roughAmount(slot, capacity)}`}
          />
        ))}
      </span>
      <span role="cell" className="agent-kernels number">
        {count(kernels.totalCount)}
      </span>
      <span role="cell" className="agent-heard">
        <Ago at={lastHeardAt} said="heard" />
      </span>
      <span role="cell" className="row-actions">
        {change && <ChangeButton agent={name} change={change} />}
      </span>
    </div>
  )
}

function ChangeButton({ agent, change: { name, whyNot, run } }: { agent: string; change: AgentAct }) {
  const Icon = name === 'Resume' ? RunningIcon : HeldIcon
  return (
    <Button
      kind="quiet"
      icon
      aria-label={`${name}: ${agent}`}
      aria-disabled={whyNot !== null || undefined}
      title={whyNot ?? name}
      onClick={() => whyNot === null && run()}
    >
      <Icon />
    </Button>
  )
}
