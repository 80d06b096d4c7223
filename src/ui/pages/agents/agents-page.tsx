import { getRouteApi, Link } from '@tanstack/react-router'
import { agentFilterOf } from '../../app/list/filters.ts'
import { Tabs } from '../../app/list/list-filters.tsx'
import { ListPage, NoRows, PageFoot, useChangeSearch, useList } from '../../app/list/list-page.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { Ago, useMoments } from '../../app/moments.tsx'
import { SlotMeter } from '../../charts/meter.tsx'
import { Button } from '../../design/controls.tsx'
import { HeldIcon, RunningIcon } from '../../design/icons.tsx'
import type { Column } from '../../design/table.tsx'
import { count, counted } from '../../words/numbers.ts'
import { type AgentAct, AgentStatusMark, useAgentActions } from './agent-actions.tsx'
import { type UiAgentRowFragment, UiAgentsDocument, type UiAgentsQuery } from './agents.generated.ts'
import '../../design/panel.css'
import './agents.css'

const route = getRouteApi('/frame/agents')

const EVERY_MS = 5_000
const PAGE_ROWS = 100

/** The agents with their use, by resource group. */
export function AgentsPage() {
  const search = route.useSearch()
  const { status, group } = search
  const change = useChangeSearch<'agents'>()
  const variables = { filter: agentFilterOf(search), group, first: PAGE_ROWS }
  const list = useList(UiAgentsDocument, variables, ({ agents }) => agents, EVERY_MS)
  const { actsOn, dialog } = useAgentActions(list.again)
  const { data } = list
  const showsGroup = group === undefined && (data?.resourceGroups.length ?? 0) > 1
  return (
    <ListPage
      title="Agents"
      className="agents-page"
      dropped={search.dropped}
      list={list}
      rowClass="agent-row"
      rowProps={(agent) => ({ 'data-status': agent.status })}
      columns={columnsOf(showsGroup, (agent) => actsOn(agent)[0])}
      empty={
        <NoRows title="No agent fits" filters={{ status, group }} onChange={change}>
          <h2>No agents yet</h2>
          <p>A server runs kernels itself if it has the role agent. Other machines join with an agent of their own:</p>
          <pre className="empty-command">
            <code>npx reprise agent --server {location.origin} --token-file FILE</code>
          </pre>
        </NoRows>
      }
      foot={
        <>
          <PageFoot noun="agent" list={list} />
          {dialog}
        </>
      }
    >
      {data && <GroupCards groups={data.resourceGroups} search={search} />}
      <Tabs
        label="By status"
        tabs={[
          { tab: undefined, name: 'All', counted: data?.present },
          { tab: 'alive', name: 'Alive', counted: data?.alive },
          { tab: 'suspect', name: 'Suspect', counted: data?.suspect },
          { tab: 'lost', name: 'Lost', counted: data?.lost },
          { tab: 'draining', name: 'Draining', counted: data?.draining },
          { tab: 'removed', name: 'Removed', counted: data?.removed },
        ]}
        chosen={status}
        onChoose={(chosen) => change({ status: chosen })}
      />
    </ListPage>
  )
}

type Group = UiAgentsQuery['resourceGroups'][number]

/**
 * The resource groups with their use. Choosing one filters the list of agents; choosing it again removes the filter.
 */
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
        <p className="group-none">Nothing runs here: none of its agents is alive.</p>
      ) : (
        slots.map((each) => <SlotMeter key={each.slot} {...each} />)
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

/** More meters are on the agent's page. */
const METERS_MAX = 3

function columnsOf(
  showsGroup: boolean,
  changeOf: (agent: UiAgentRowFragment) => AgentAct | undefined,
): readonly Column<UiAgentRowFragment>[] {
  return [
    {
      title: 'Agent',
      className: 'agent-name named',
      value: ({ name }) => name,
      cell: ({ agentId, name, resourceGroup }) => (
        <>
          <Link to="/agents/$agentId" params={{ agentId }} className="table-link" title={name}>
            {name}
          </Link>
          {showsGroup && <span className="table-tag">{resourceGroup.name}</span>}
        </>
      ),
    },
    {
      title: 'Status',
      className: 'agent-state',
      value: ({ status }) => status,
      cell: ({ status, drainReason }) => (
        <>
          <AgentStatusMark status={status} />
          {drainReason !== null && (
            <span className="agent-why" title={drainReason}>
              {drainReason}
            </span>
          )}
        </>
      ),
    },
    {
      title: 'In use',
      className: 'agent-meters',
      value: ({ slots }) => Math.max(0, ...slots.map(({ utilisation }) => utilisation ?? 0)),
      isDown: true,
      cell: ({ slots }) => slots.slice(0, METERS_MAX).map((each) => <SlotMeter key={each.slot} small {...each} />),
    },
    {
      title: 'Kernels',
      headClass: 'number',
      className: 'agent-kernels number',
      value: ({ kernels }) => kernels.totalCount,
      isDown: true,
      cell: ({ kernels }) => count(kernels.totalCount),
    },
    {
      title: 'Heard',
      className: 'agent-heard',
      value: ({ lastHeardAt }) => lastHeardAt,
      isDown: true,
      cell: ({ lastHeardAt }) => <Ago at={lastHeardAt} said="heard" />,
    },
    {
      title: 'Actions',
      isHidden: true,
      className: 'row-actions',
      cell: (agent) => {
        const change = changeOf(agent)
        return change && <ChangeButton agent={agent.name} change={change} />
      },
    },
  ]
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
