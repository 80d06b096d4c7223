import { type SubmitEvent, useState } from 'react'
import { useQuery } from 'urql'
import { CAUSES, namesOfCauses } from '../../app/causes.ts'
import { Tabs } from '../../app/list/list-filters.tsx'
import {
  DEFAULT_ORDER,
  type OrderWord,
  type SearchOf,
  type SinceWord,
  STATE_TABS,
  type StateTab,
} from '../../app/list/search.ts'
import { useMoments } from '../../app/moments.tsx'
import { Button, Choice, typed } from '../../design/controls.tsx'
import { CrossIcon } from '../../design/icons.tsx'
import { counted } from '../../words/numbers.ts'
import type { Moments } from '../../words/time.ts'
import { useChangeSearch } from './chain-list.ts'
import { UiGroupNameDocument } from './chains.generated.ts'
import type { Counts } from './read-chains.ts'
import { ColumnsMenu, ViewsMenu } from './views.tsx'

const TAB_NAMES: Record<StateTab, string> = {
  queued: 'Queued',
  impossible: 'Impossible',
  running: 'Running',
  waiting: 'Waiting',
  held: 'Held',
  failed: 'Failed',
  succeeded: 'Succeeded',
  cancelled: 'Cancelled',
}

export function StateTabs({ state, counts }: { state: StateTab | undefined; counts: Counts | null }) {
  const change = useChangeSearch()
  const byState = new Map(
    counts?.map(({ state: of, count, isExact }) => [of, { totalCount: count, totalCountIsExact: isExact }]),
  )
  const total = counts && {
    totalCount: counts.reduce((sum, each) => sum + each.count, 0),
    totalCountIsExact: counts.every(({ isExact }) => isExact),
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

/** Replicas of deployments are shown only if they are asked for. */
const TYPE_NAMES = { batch: 'batch', interactive: 'interactive', inference: 'replicas' }

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

/** The filters of the list, each of which can be removed, and its order. */
export function Filters({ search }: { search: SearchOf<'chains'> }) {
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
        label="Type"
        value={search.type ?? ''}
        any="All but replicas"
        names={TYPE_NAMES}
        onChange={(type) => change({ type })}
      />
      <Choice
        label="Time"
        value={search.since ?? ''}
        any="Any time"
        names={SINCE_NAMES}
        onChange={(since) => change({ since, from: undefined, to: undefined })}
      />
      <LabelFilter key={search.label} label={search.label} />
      {search.group !== undefined && <GroupFilter key={search.group} id={search.group} />}
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

/** Moves the start of the list to chains that were active on a day. */
function GoToDate() {
  const change = useChangeSearch()
  const [isOpen, setOpen] = useState(false)
  if (!isOpen) {
    return (
      <Button kind="quiet" onClick={() => setOpen(true)}>
        Go to a date
      </Button>
    )
  }
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const [year, month, day] = typed(event.currentTarget, 'day').split('-').map(Number)
    if (year !== undefined && month !== undefined && day !== undefined && year > 0) {
      // Up to the end of that day in local time.
      change({ to: new Date(year, month - 1, day + 1).toISOString(), since: undefined, order: undefined })
    }
    setOpen(false)
  }
  return (
    <form className="label-form date-form" onSubmit={submit}>
      <input
        name="day"
        type="date"
        aria-label="Day to go to"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears after a click
        autoFocus
        onKeyDown={(event) => {
          if (event.key === 'Escape') setOpen(false)
        }}
      />
      <Button type="submit">Go</Button>
    </form>
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
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears after a click
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

/** The group whose members are listed. */
function GroupFilter({ id }: { id: string }) {
  const change = useChangeSearch()
  const [{ data }] = useQuery({ query: UiGroupNameDocument, variables: { id } })
  const words = `in group ${data?.sessionGroup?.name ?? id.slice(0, 8)}`
  return (
    <Button className="chip" title={words} aria-label={`Remove ${words}`} onClick={() => change({ group: undefined })}>
      <span>{words}</span>
      <CrossIcon />
    </Button>
  )
}

/** Filters that were set on other pages; each can be removed. */
function FilterChips({ search }: { search: SearchOf<'chains'> }) {
  const change = useChangeSearch()
  const moments = useMoments()
  return chipsOf(search, moments).map(({ words, without }) => (
    <Button key={words} className="chip" title={words} aria-label={`Remove ${words}`} onClick={() => change(without)}>
      <span>{words}</span>
      <CrossIcon />
    </Button>
  ))
}

interface Chip {
  words: string
  /** The change of the address that removes it. */
  without: Partial<SearchOf<'chains'>>
}

function chipsOf({ q, name, failed, exit, agent, attempts, from, to }: SearchOf<'chains'>, moments: Moments): Chip[] {
  return [
    ...(q === undefined ? [] : [{ words: `search: ${q}`, without: { q: undefined } }]),
    ...(name === undefined ? [] : [{ words: `named ${name}`, without: { name: undefined } }]),
    ...(failed === undefined
      ? []
      : [
          {
            words: failed === 'any' ? 'an attempt failed' : `an attempt failed: ${CAUSE_NAMES[failed]}`,
            without: { failed: undefined },
          },
        ]),
    ...(exit === undefined ? [] : [{ words: `failed with exit code ${exit}`, without: { exit: undefined } }]),
    ...(agent === undefined ? [] : [{ words: `failed on agent ${agent.slice(0, 8)}`, without: { agent: undefined } }]),
    ...(attempts === undefined
      ? []
      : [{ words: `${counted(attempts, 'attempt')} or more`, without: { attempts: undefined } }]),
    ...(from === undefined && to === undefined
      ? []
      : [{ words: timeWords(from, to, moments), without: { from: undefined, to: undefined } }]),
  ]
}

function timeWords(from: string | undefined, to: string | undefined, moments: Moments): string {
  const words = (at: string) => `${moments.day(Date.parse(at))}, ${moments.minute(Date.parse(at))}`
  if (from === undefined) return `before ${words(to!)}`
  if (to === undefined) return `since ${words(from)}`
  const isOneDay = moments.day(Date.parse(from)) === moments.day(Date.parse(to))
  return `${words(from)} to ${isOneDay ? moments.minute(Date.parse(to)) : words(to)}`
}
