import { getRouteApi, Link } from '@tanstack/react-router'
import { usePolled } from '../../api/poll.ts'
import { agentFilterOf } from '../../app/list/filters.ts'
import { Tabs } from '../../app/list/list-filters.tsx'
import { Dropped, EmptyUnderFilters, ListPanel, PageFoot, usePlace } from '../../app/list/list-panel.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { Ago, useMoments } from '../../app/moments.tsx'
import { Meter } from '../../charts/meter.tsx'
import { Button } from '../../design/controls.tsx'
import { HeldIcon, RunningIcon } from '../../design/icons.tsx'
import { count, counted, roughAmount } from '../../words/numbers.ts'
import { type AgentAct, AgentStatusMark, useAgentActions } from './agent-actions.tsx'
import { type UiAgentRowFragment, UiAgentsDocument, type UiAgentsQuery } from './agents.generated.ts'
import '../../design/panel.css'
import './agents.css'

const route = getRouteApi('/frame/agents')

const EVERY_MS = 5_000
const PAGE_ROWS = 100

/** The agents with what is used of them, by resource group. */
export function AgentsPage() {
  const search = route.useSearch()
  const page = useAgentPage(search)
  const { data, error, again } = page
  const { actsOn, dialog } = useAgentActions(again)
  const rows = data?.agents.edges.map(({ node }) => node) ?? []
  const showsGroup = search.group === undefined && (data?.resourceGroups.length ?? 0) > 1
  return (
    <div className="list-page agents-page">
      <h1 tabIndex={-1}>Agents</h1>
      <Dropped names={search.dropped} />
      {data && <GroupCards groups={data.resourceGroups} search={search} />}
      <StatusTabs search={search} data={data} />
      <ListPanel
        label="Agents"
        rowClass="agent-row"
        columns={[
          'Agent',
          'Status',
          'In use',
          { title: 'Kernels', className: 'number' },
          'Heard',
          { title: 'Actions', isHidden: true },
        ]}
        read={{ data, error, again }}
        rows={rows}
        offset={page.offset}
        hasMore={page.next !== null}
        empty={<Empty search={search} />}
      >
        {(agent, rowIndex) => (
          <AgentRow
            key={agent.id}
            agent={agent}
            rowIndex={rowIndex}
            showsGroup={showsGroup}
            change={actsOn(agent)[0]}
          />
        )}
      </ListPanel>
      <PageFoot noun="agent" rows={rows.length} offset={page.offset} first={page.first} next={page.next} />
      {dialog}
    </div>
  )
}

/** A page of the list, read every five seconds. */
function useAgentPage(search: SearchOf<'agents'>) {
  const filter = agentFilterOf(search)
  const { after, offset, first, onward } = usePlace(JSON.stringify(filter))
  const read = usePolled(UiAgentsDocument, { filter, group: search.group, first: PAGE_ROWS, after }, EVERY_MS)
  return { ...read, offset, first, next: onward(read.data?.agents) }
}

function StatusTabs({ search, data }: { search: SearchOf<'agents'>; data: UiAgentsQuery | undefined }) {
  const navigate = route.useNavigate()
  const counts = (of: { totalCount: number } | undefined) => of && { count: of.totalCount, isExact: true }
  return (
    <Tabs<NonNullable<SearchOf<'agents'>['status']>>
      label="By status"
      tabs={[
        { tab: undefined, name: 'All', counted: counts(data?.present) },
        { tab: 'alive', name: 'Alive', counted: counts(data?.alive) },
        { tab: 'suspect', name: 'Suspect', counted: counts(data?.suspect) },
        { tab: 'lost', name: 'Lost', counted: counts(data?.lost) },
        { tab: 'draining', name: 'Draining', counted: counts(data?.draining) },
        { tab: 'removed', name: 'Removed', counted: counts(data?.removed) },
      ]}
      chosen={search.status}
      onChoose={(status) =>
        void navigate({ search: (before) => ({ ...before, dropped: undefined, status }), replace: true })
      }
    />
  )
}

/** Why there is none, and what next. */
function Empty({ search: { status, group } }: { search: SearchOf<'agents'> }) {
  const navigate = route.useNavigate()
  if (status === undefined && group === undefined) {
    return (
      <div className="empty">
        <h2>No agent is there</h2>
        <p>A server runs kernels itself if it has the role agent. Other machines join with an agent of their own:</p>
        <pre className="empty-command">
          <code>npx reprise agent --server {location.origin} --token-file FILE</code>
        </pre>
      </div>
    )
  }
  return (
    <EmptyUnderFilters
      title="No agent fits"
      filters={{ status, group }}
      onRemove={(name) =>
        void navigate({ search: (before) => ({ ...before, dropped: undefined, [name]: undefined }), replace: true })
      }
    />
  )
}

type Group = UiAgentsQuery['resourceGroups'][number]

/** The resource groups with what is used of them. One that is chosen narrows the list of agents, and back. */
function GroupCards({ groups, search }: { groups: readonly Group[]; search: SearchOf<'agents'> }) {
  return (
    <ul className="group-cards" aria-label="Resource groups">
      {groups.map((group) => (
        <GroupCard key={group.id} group={group} search={search} />
      ))}
    </ul>
  )
}

function GroupCard({ group, search }: { group: Group; search: SearchOf<'agents'> }) {
  const { name, slots, agents, pendingSessions: pending } = group
  const isChosen = search.group === name
  return (
    <li className="group-card" data-chosen={isChosen || undefined}>
      <div className="group-head">
        <h2>
          <Link
            to="/agents"
            search={{ ...search, dropped: undefined, group: isChosen ? undefined : name }}
            replace
            className="group-link"
            aria-current={isChosen ? 'true' : undefined}
            title={isChosen ? 'Show the agents of all groups' : `Show the agents of ${name} only`}
          >
            {name}
          </Link>
        </h2>
        <span className="group-counts">
          {counted(agents.totalCount, 'agent')}
          {pending.totalCount > 0 && (
            <Link to="/sessions" search={{ status: 'waiting', group: name }} className="group-waiting">
              {count(pending.totalCount)}
              {pending.totalCountIsExact ? '' : '+'} waiting
            </Link>
          )}
        </span>
      </div>
      {group.draining && <Draining group={group} />}
      {slots.length === 0 ? (
        <p className="group-none">Nothing runs here: none of its agents is there.</p>
      ) : (
        slots.map(({ slot, used, capacity, utilisation }) => (
          <Meter
            key={slot}
            name={slot}
            share={utilisation}
            words={`${roughAmount(slot, used)} of ${roughAmount(slot, capacity)}`}
          />
        ))
      )}
    </li>
  )
}

function Draining({ group: { drainedAt, drainReason } }: { group: Group }) {
  const { minute, absolute } = useMoments()
  const at = drainedAt === null ? null : Date.parse(drainedAt)
  return (
    <p className="group-draining">
      <HeldIcon className="tone-held" />
      <span>
        drained
        {at !== null && (
          <>
            {' since '}
            <time dateTime={drainedAt!} title={absolute(at)}>
              {minute(at)}
            </time>
          </>
        )}
        {drainReason !== null && `: ${drainReason}`}
      </span>
    </p>
  )
}

/** Further ones are on the agent's own page. */
const METERS_MAX = 3

interface Props {
  agent: UiAgentRowFragment
  rowIndex: number
  showsGroup: boolean
  /** To drain or to resume it. */
  change: AgentAct | undefined
}

function AgentRow({ agent, rowIndex, showsGroup, change }: Props) {
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
