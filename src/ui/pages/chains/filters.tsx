import { useNavigate } from '@tanstack/react-router'
import { useState, type SubmitEvent } from 'react'
import { Button } from '../../design/button.tsx'
import { Choice } from '../../design/choice.tsx'
import { CrossIcon } from '../../design/icons.tsx'
import { Tabs } from '../../app/tabs.tsx'
import { typed } from '../../design/typed.ts'
import type { Counts } from './chain-list.ts'
import {
  DEFAULT_ORDER,
  STATE_TABS,
  type CauseWord,
  type ChainsSearch,
  type OrderWord,
  type SinceWord,
  type StateTab,
} from './chains-search.ts'

/** Changes the address: what is undefined is left out of it. */
export function useChangeSearch(): (change: Partial<ChainsSearch>) => void {
  const navigate = useNavigate()
  return (change) =>
    void navigate({ to: '/chains', search: (before) => ({ ...before, dropped: undefined, ...change }), replace: true })
}

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
      counted: byState.get(value),
    })),
  ]
  return <Tabs label="By state" tabs={tabs} chosen={state} onChoose={(tab) => change({ state: tab })} />
}

const CAUSE_NAMES = {
  exit: 'exit code',
  oom: 'out of memory',
  agent: 'agent lost',
  image: 'image not pulled',
  scheduler: 'scheduler timeout',
  unknown: 'unknown cause',
  cancelled: 'terminated',
} satisfies Record<CauseWord, string>

const SINCE_NAMES = {
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
  '30d': 'last 30 days',
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
        onChange={(since) => change({ since })}
      />
      <LabelFilter key={search.label} label={search.label} />
      {search.q !== undefined && (
        <Button
          className="chip"
          aria-label={`Remove the search for ${search.q}`}
          onClick={() => change({ q: undefined })}
        >
          <span>“{search.q}”</span>
          <CrossIcon />
        </Button>
      )}
      <span className="filters-order">
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

function LabelFilter({ label }: { label: string | undefined }) {
  const change = useChangeSearch()
  const [isOpen, setOpen] = useState(false)
  if (label !== undefined) {
    return (
      <Button className="chip" aria-label={`Remove the label ${label}`} onClick={() => change({ label: undefined })}>
        <span>{label.replace(':', '=')}</span>
        <CrossIcon />
      </Button>
    )
  }
  if (!isOpen) {
    return (
      <Button kind="quiet" onClick={() => setOpen(true)}>
        + Label
      </Button>
    )
  }
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const [key, ...rest] = typed(event.currentTarget, 'label').split('=')
    if (key!.trim() !== '') change({ label: `${key!.trim()}:${rest.join('=').trim()}` })
    setOpen(false)
  }
  return (
    <form className="label-form" onSubmit={submit}>
      <input
        name="label"
        aria-label="Label, as key=value"
        placeholder="team=cms"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears where it was asked for
        autoFocus
        autoComplete="off"
        spellCheck="false"
        maxLength={200}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setOpen(false)
        }}
      />
    </form>
  )
}
