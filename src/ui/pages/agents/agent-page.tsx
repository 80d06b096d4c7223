import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { globalId } from '../../api/connection.ts'
import { usePolled } from '../../api/poll.ts'
import { DetailHead, type Fact, FactsCard, Missing } from '../../app/detail.tsx'
import { HistoryCard } from '../../app/history.tsx'
import { Ago } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { SlotMeter } from '../../charts/meter.tsx'
import { Button } from '../../design/controls.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { type AgentAct, AgentStatusMark, useAgentActions } from './agent-actions.tsx'
import { type Agent, AgentFailures, AgentKernels } from './agent-parts.tsx'
import { UiAgentDocument } from './agents.generated.ts'
import '../../design/table.css'
import { AgentGpus } from './agent-gpus.tsx'
import './agents.css'

const route = getRouteApi('/frame/agents/$agentId')

const EVERY_MS = 5_000
/** The number of kernels that are read at first, and the most that the server returns. */
const KERNELS = 20
const KERNELS_MAX = 100

/** One agent: its use, its kernels, failed sessions, and its history. */
export function AgentPage() {
  const { agentId } = route.useParams()
  const [kernels, setKernels] = useState(KERNELS)
  const { data, error, again } = usePolled(
    UiAgentDocument,
    { id: globalId('Agent', agentId), agentId, kernels },
    EVERY_MS,
  )
  const agent = data?.node?.__typename === 'Agent' ? data.node : null
  useTitle(agent?.name ?? 'Agent')
  if (!agent && error) return <ProblemPanel error={error} onAgain={again} />
  if (!data) return <Skeleton />
  if (!agent)
    return <Missing noun="agent" list="/agents" why="No agent has this id, or it was removed from the records." />
  return (
    <div className="detail-page">
      <Outdated error={error} />
      <Head agent={agent} again={again} />
      <div className="detail-columns">
        <section className="card" aria-label="In use">
          <h2>In use</h2>
          {agent.slots.length === 0 && <p className="card-none">It has reported no resources.</p>}
          {agent.slots.map((each) => (
            <SlotMeter key={each.slot} {...each} />
          ))}
        </section>
        <FactsCard title="About it" facts={factsOf(agent)} />
      </div>
      <AgentGpus agent={agent} again={again} />
      <AgentKernels
        agent={agent}
        onMore={kernels < KERNELS_MAX && agent.running.pageInfo.hasNextPage ? () => setKernels(KERNELS_MAX) : null}
      />
      <AgentFailures failed={data.failed} agentId={agentId} />
      <HistoryCard id={agent.id} state={`${agent.status} ${agent.drainedAt}`} />
    </div>
  )
}

function Head({ agent, again }: { agent: Agent; again: () => void }) {
  const { actsOn, dialog } = useAgentActions(again)
  return (
    <DetailHead
      list="/agents"
      name={agent.name}
      mark={<AgentStatusMark status={agent.status} />}
      acts={actsOn(agent).map((each) => (
        <ActButton key={each.name} {...each} />
      ))}
    >
      {agent.drainedAt !== null && (
        <p className="page-note">
          Drained <Ago at={agent.drainedAt} />
          {agent.drainReason !== null && `: ${agent.drainReason}`}
        </p>
      )}
      {dialog}
    </DetailHead>
  )
}

function ActButton({ name, whyNot, run }: AgentAct) {
  return (
    <Button
      aria-disabled={whyNot !== null || undefined}
      title={whyNot ?? undefined}
      onClick={() => whyNot === null && run()}
    >
      {name === 'Resume' ? name : `${name}…`}
    </Button>
  )
}

function factsOf(agent: Agent): Fact[] {
  const { resourceGroup, version, isolation, refuses, warnings, embedded } = agent
  const { registeredAt, lastHeardAt, labels, agentId } = agent
  return [
    [
      'group',
      <Link key="group" to="/agents" search={{ group: resourceGroup.name }} className="text-link">
        {resourceGroup.name}
      </Link>,
    ],
    ['heard', <Ago key="heard" at={lastHeardAt} />],
    ['registered', <Ago key="registered" at={registeredAt} />],
    ['version', `${version}${embedded ? ', in the process of a server' : ''}`],
    ['isolation', isolation ?? 'not reported'],
    ...(refuses === null ? [] : [['refuses', `new kernels: ${refuses}`] as const]),
    ...(warnings.length === 0 ? [] : [['warns', warnings.join('; ')] as const]),
    [
      'labels',
      labels.length === 0
        ? 'none'
        : labels.map(({ key, value }) => (
            <span key={key} className="label-chip" title={`${key}=${value}`}>
              {key}={value}
            </span>
          )),
    ],
    ['id', <code key="id">{agentId}</code>],
  ]
}
