import { CAUSES, namesOfCauses } from '../../app/causes.ts'
import { Choice } from '../../design/choice.tsx'
import { Tabs } from '../../app/list/tabs.tsx'
import type { Counts } from './read-chains.ts'
import {
  DEFAULT_ORDER,
  STATE_TABS,
  type ChainsSearch,
  type OrderWord,
  type SinceWord,
  type StateTab,
} from './chains-search.ts'
import { ColumnsMenu } from './columns.tsx'
import { FilterChips } from './filter-chips.tsx'
import { GoToDate, LabelFilter } from './typed-filters.tsx'
import { useChangeSearch } from './use-change-search.ts'
import { ViewsMenu } from './views.tsx'

const TAB_NAMES: Record<StateTab, string> = {
  running: 'Running',
  waiting: 'Waiting',
  held: 'Held',
  failed: 'Failed',
  succeeded: 'Succeeded',
  cancelled: 'Cancelled',
}

export function StateTabs({ state, counts }: { state: StateTab | undefined; counts: Counts | null }) {
  const change = useChangeSearch()
  const byState = new Map(counts?.map((each) => [each.state, each]))
  const total = counts && {
    count: counts.reduce((sum, each) => sum + each.count, 0),
    isExact: counts.every(({ isExact }) => isExact),
  }
  const tabs = [
    { tab: undefined, name: 'All', counted: total },
    ...Object.entries(STATE_TABS).map(([tab, value]) => ({
      tab: tab as StateTab,
      name: TAB_NAMES[tab as StateTab],
      counted: byState.get(value) ?? null,
    })),
  ]
  return <Tabs label="By state" tabs={tabs} chosen={state} onChoose={(tab) => change({ state: tab })} />
}

const CAUSE_NAMES = namesOfCauses(CAUSES)

const SINCE_NAMES = {
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
  '30d': 'last 30 days',
  '31d': 'last 31 days',
} satisfies Record<SinceWord, string>

const ORDER_NAMES = {
  '-latest': 'latest activity first',
  latest: 'oldest activity first',
  name: 'by name',
  '-name': 'by name, backwards',
  '-attempts': 'most attempts first',
  attempts: 'fewest attempts first',
  '-total': 'longest first',
  total: 'shortest first',
  '-created': 'newest first',
  created: 'oldest first',
  due: 'next retry first',
} satisfies Record<OrderWord, string>

/** What narrows the list, each to be taken away by itself; and its order. */
export function Filters({ search }: { search: ChainsSearch }) {
  const change = useChangeSearch()
  return (
    <div className="filters">
      <Choice
        label="Cause"
        value={search.cause ?? ''}
        any="Any cause"
        names={CAUSE_NAMES}
        onChange={(cause) => change({ cause })}
      />
      <Choice
        label="Time"
        value={search.since ?? ''}
        any="Any time"
        names={SINCE_NAMES}
        onChange={(since) => change({ since, from: undefined, to: undefined })}
      />
      <LabelFilter key={search.label} label={search.label} />
      <FilterChips search={search} />
      <GoToDate />
      <span className="filters-order">
        <ViewsMenu search={search} />
        <ColumnsMenu />
        <Choice
          label="Order"
          value={search.order ?? DEFAULT_ORDER}
          names={ORDER_NAMES}
          onChange={(order) => change({ order: order === DEFAULT_ORDER ? undefined : order })}
        />
      </span>
    </div>
  )
}
