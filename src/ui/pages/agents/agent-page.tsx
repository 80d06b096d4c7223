import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { globalId } from '../../api/connection.ts'
import { usePolled } from '../../api/poll.ts'
import { problemOf } from '../../api/problem.ts'
import { HistoryCard } from '../../app/history.tsx'
import { Ago } from '../../app/moments.tsx'
import { ProblemPanel } from '../../app/problem-panel.tsx'
import { Meter } from '../../charts/meter.tsx'
import { Button } from '../../design/controls.tsx'
import { ArrowLeftIcon } from '../../design/icons.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { roughAmount } from '../../words/numbers.ts'
import { type AgentAct, AgentStatusMark, useAgentActions } from './agent-actions.tsx'
import { type Agent, AgentFailures, AgentKernels } from './agent-parts.tsx'
import { UiAgentDocument } from './agents.generated.ts'
import '../../design/panel.css'
import '../../design/detail.css'
import '../../design/table.css'
import './agents.css'

const route = getRouteApi('/frame/agents/$agentId')

const EVERY_MS = 5_000
/** Read at first, and more each time that more are asked for, as far as the server goes. */
const KERNELS = 20
const KERNELS_MAX = 100

/** One agent: what is used of it, what runs there, what failed there, and what became of it. */
export function AgentPage() {
  const { agentId } = route.useParams()
  const [kernels, setKernels] = useState(KERNELS)
  const { data, error, again } = usePolled(
    UiAgentDocument,
    { id: globalId('Agent', agentId), agentId, kernels },
    EVERY_MS,
  )
  const agent = data?.node?.__typename === 'Agent' ? data.node : null
  useEffect(() => {
    if (agent) document.title = `${agent.name} · Reprise`
  }, [agent])
  if (!agent && error) return <ProblemPanel error={error} onAgain={again} />
  if (!data) return <Skeleton />
  if (!agent) return <NoAgent />
  return (
    <div className="detail-page">
      {error && (
        <p className="notice" role="status">
          This is no longer up to date: {problemOf(error).message}
        </p>
      )}
      <Head agent={agent} again={again} />
      <div className="detail-columns">
        <section className="card" aria-label="In use">
          <h2>In use</h2>
          {agent.slots.length === 0 && <p className="card-none">It has told of no resources.</p>}
          {agent.slots.map(({ slot, used, capacity, utilisation }) => (
            <Meter
              key={slot}
              name={slot}
              share={utilisation}
              words={`${roughAmount(slot, used)} of ${roughAmount(slot, capacity)}`}
            />
          ))}
        </section>
        <Facts agent={agent} />
      </div>
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
    <header className="page-head">
      <div className="back-place">
        <Link to="/agents" className="back-link">
          <ArrowLeftIcon /> Agents
        </Link>
      </div>
      <h1 tabIndex={-1}>{agent.name}</h1>
      <AgentStatusMark status={agent.status} />
      <div className="page-actions">
        {actsOn(agent).map((each) => (
          <ActButton key={each.name} {...each} />
        ))}
      </div>
      {agent.drainedAt !== null && (
        <p className="page-note">
          Drained <Ago at={agent.drainedAt} />
          {agent.drainReason !== null && `: ${agent.drainReason}`}
        </p>
      )}
      {dialog}
    </header>
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

function Facts({ agent }: { agent: Agent }) {
  const { resourceGroup, version, isolation, refuses, embedded, registeredAt, lastHeardAt, labels, agentId } = agent
  return (
    <section className="card" aria-label="About it">
      <h2>About it</h2>
      <dl className="facts-table">
        <dt>group</dt>
        <dd>
          <Link to="/agents" search={{ group: resourceGroup.name }} className="text-link">
            {resourceGroup.name}
          </Link>
        </dd>
        <dt>heard</dt>
        <dd>
          <Ago at={lastHeardAt} />
        </dd>
        <dt>registered</dt>
        <dd>
          <Ago at={registeredAt} />
        </dd>
        <dt>version</dt>
        <dd>
          {version}
          {embedded && ', in the process of a server'}
        </dd>
        <dt>isolation</dt>
        <dd>{isolation ?? 'not reported'}</dd>
        {refuses !== null && (
          <>
            <dt>refuses</dt>
            <dd>new kernels: {refuses}</dd>
          </>
        )}
        <dt>labels</dt>
        <dd>
          {labels.length === 0 && 'none'}
          {labels.map(({ key, value }) => (
            <span key={key} className="label-chip" title={`${key}=${value}`}>
              {key}={value}
            </span>
          ))}
        </dd>
        <dt>id</dt>
        <dd>
          <code>{agentId}</code>
        </dd>
      </dl>
    </section>
  )
}

function NoAgent() {
  return (
    <div className="empty">
      <h1 tabIndex={-1}>There is no such agent</h1>
      <p>Nothing has this id, or it has been forgotten since.</p>
      <Link to="/agents" className="button">
        To the agents
      </Link>
    </div>
  )
}
