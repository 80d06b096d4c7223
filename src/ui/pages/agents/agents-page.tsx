import { getRouteApi } from '@tanstack/react-router'
import { usePolled } from '../../api/poll.ts'
import { Dropped } from '../../app/list/dropped.tsx'
import { EmptyUnderFilters } from '../../app/list/empty-list.tsx'
import { PageFoot } from '../../app/list/page-foot.tsx'
import { usePlace } from '../../app/list/place.ts'
import { ListPanel } from '../../app/list/list-panel.tsx'
import { Tabs } from '../../app/list/tabs.tsx'
import { AgentRow } from './agent-row.tsx'
import { UiAgentsDocument, type UiAgentsQuery } from './agents.generated.ts'
import { agentFilterOf, type AgentsSearch, type StatusWord } from './agents-search.ts'
import { GroupCards } from './group-cards.tsx'
import { useAgentActions } from './use-agent-actions.tsx'
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
function useAgentPage(search: AgentsSearch) {
  const filter = agentFilterOf(search)
  const { after, offset, first, onward } = usePlace(JSON.stringify(filter))
  const read = usePolled(UiAgentsDocument, { filter, group: search.group, first: PAGE_ROWS, after }, EVERY_MS)
  return { ...read, offset, first, next: onward(read.data?.agents) }
}

function StatusTabs({ search, data }: { search: AgentsSearch; data: UiAgentsQuery | undefined }) {
  const navigate = route.useNavigate()
  const counts = (of: { totalCount: number } | undefined) => of && { count: of.totalCount, isExact: true }
  return (
    <Tabs<StatusWord>
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
function Empty({ search: { status, group } }: { search: AgentsSearch }) {
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
