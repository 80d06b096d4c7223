import { getRouteApi, Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { UiCancelRetryDocument, UiRetryNowDocument } from '../../api/act.generated.ts'
import { useAct } from '../../app/act.ts'
import { namesOfCauses, RETRIED_CAUSES } from '../../app/causes.ts'
import { useKeys } from '../../app/keys.ts'
import { Tabs } from '../../app/list/list-filters.tsx'
import { Dropped, ListPanel } from '../../app/list/list-panel.tsx'
import { HOLD_REASONS, type SearchOf } from '../../app/list/search.ts'
import { SwitchButton, Switches } from '../../app/retry/switches.tsx'
import { HOLDS } from '../../design/causes.ts'
import { Button, Choice, Keys } from '../../design/controls.tsx'
import { count, counted } from '../../words/numbers.ts'
import { type Queue, type Retries, type Retry, RetryRow, useRetries } from './retry-row.tsx'
import '../../design/panel.css'
import './retries.css'

const Confirm = lazy(async () => ({ default: (await import('../../app/confirm.tsx')).Confirm }))

const route = getRouteApi('/frame/retries')

/** The queue of retries: what is due when, what is held and why, and what can be done about it. */
export function RetriesPage() {
  const search = route.useSearch()
  const queue = useRetries(search)
  const { data, rows } = queue
  const { busy, retryNow, cancel } = useActions(queue)
  const [asked, setAsked] = useState<Retry | null>(null)
  useRowKeys(rows, retryNow)
  const showsProject = search.project === undefined && new Set(rows.map(({ session }) => session.project.id)).size > 1
  return (
    <div className="list-page">
      <div className="retries-head">
        <h1 tabIndex={-1}>Retries</h1>
        <SwitchButton retries="off" onDone={queue.again}>
          Switch off…
        </SwitchButton>
      </div>
      {data && <Switches queue={data} project={search.project} onDone={queue.again} />}
      <PhaseTabs search={search} data={data} />
      <Filters search={search} />
      <Dropped names={search.dropped} />
      <ListPanel
        label="Retries"
        rowClass="retry-row"
        columns={['Due', 'Chain', 'Next attempt', 'Failed by', 'Waits', { title: 'Actions', isHidden: true }]}
        read={queue}
        rows={rows}
        offset={queue.offset}
        hasMore={queue.next !== null}
        empty={<Empty search={search} head={queue.head} />}
        hold={queue.hold}
        release={queue.release}
      >
        {(retry, rowIndex) => (
          <RetryRow
            key={retry.id}
            retry={retry}
            rowIndex={rowIndex}
            showsProject={showsProject}
            isBusy={busy.has(retry.id)}
            onRetryNow={(each) => void retryNow(each)}
            onCancel={setAsked}
          />
        )}
      </ListPanel>
      <Foot search={search} queue={queue} />
      <Suspense>
        {asked !== null && (
          <Confirm
            title="Cancel 1 retry?"
            act="Cancel the retry"
            onClose={() => setAsked(null)}
            onAct={() => {
              setAsked(null)
              void cancel(asked)
            }}
          >
            {asked.session.name} ends with its attempt {asked.session.retryState.attempt}, and no retry follows.
          </Confirm>
        )}
      </Suspense>
    </div>
  )
}

/** Changes the address: what is undefined is left out of it. */
function useChangeSearch(): (change: Partial<SearchOf<'retries'>>) => void {
  const navigate = route.useNavigate()
  return (change) =>
    void navigate({ search: (before) => ({ ...before, dropped: undefined, ...change }), replace: true })
}

interface Counted {
  totalCount: number
  totalCountIsExact: boolean
}

function PhaseTabs({ search: { phase, reason }, data }: { search: SearchOf<'retries'>; data: Queue | undefined }) {
  const change = useChangeSearch()
  const counts = ({ totalCount, totalCountIsExact }: Counted) => ({ count: totalCount, isExact: totalCountIsExact })
  const [waiting, held] = data ? [counts(data.waiting), counts(data.held)] : [null, null]
  const all = waiting && held && { count: waiting.count + held.count, isExact: waiting.isExact && held.isExact }
  const tabs = [
    { tab: undefined, name: 'All', counted: reason === undefined ? all : null },
    { tab: 'waiting' as const, name: 'Waiting', counted: waiting },
    { tab: 'held' as const, name: 'Held', counted: held },
  ]
  const choose = (tab: NonNullable<SearchOf<'retries'>['phase']> | undefined) =>
    change({ phase: tab, ...(tab !== 'held' && { reason: undefined }) })
  return (
    <Tabs<NonNullable<SearchOf<'retries'>['phase']>>
      label="By phase"
      tabs={tabs}
      chosen={phase ?? (reason === undefined ? undefined : 'held')}
      onChoose={choose}
    />
  )
}

const REASON_NAMES = Object.fromEntries(
  Object.entries(HOLD_REASONS).map(([word, reason]) => [word, HOLDS[reason]]),
) as Record<keyof typeof HOLD_REASONS, string>

const CAUSE_NAMES = namesOfCauses(RETRIED_CAUSES)

function Filters({ search }: { search: SearchOf<'retries'> }) {
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
        label="Held by"
        value={search.reason ?? ''}
        any="Held by anything"
        names={REASON_NAMES}
        onChange={(reason) => change({ reason, ...(reason && { phase: 'held' }) })}
      />
    </div>
  )
}

/** Why there is nothing, and what next. */
function Empty({ search, head }: { search: SearchOf<'retries'>; head: Retries['head'] }) {
  const change = useChangeSearch()
  const { phase, reason, cause, project } = search
  const filters = Object.entries({ phase, reason, cause, project }).filter(([, value]) => value !== undefined)
  if (head) {
    return (
      <div className="empty">
        <h2>The queue is shorter now</h2>
        <Button onClick={head}>To its head</Button>
      </div>
    )
  }
  if (filters.length > 0) {
    return (
      <div className="empty">
        <h2>No retry fits</h2>
        <p>Take away what leaves out too much:</p>
        <div className="empty-filters">
          {filters.map(([name, value]) => (
            <Button key={name} className="chip" onClick={() => change({ [name]: undefined })}>
              <span>
                {name} {value}
              </span>
            </Button>
          ))}
        </div>
      </div>
    )
  }
  return (
    <div className="empty">
      <h2>No retry waits</h2>
      <p>When an attempt fails and its policy has another one, it waits here until it is due.</p>
      <Link to="/chains" className="button">
        To the chains
      </Link>
    </div>
  )
}

function Foot({ search, queue: { data, rows, offset, next, head } }: { search: SearchOf<'retries'>; queue: Retries }) {
  if (!data || rows.length === 0) return <footer className="table-foot" />
  const isHeld = search.phase === 'held' || search.reason !== undefined
  const shown = isHeld ? [data.held] : search.phase === 'waiting' ? [data.waiting] : [data.waiting, data.held]
  const total = shown.reduce((sum, { totalCount }) => sum + totalCount, 0)
  const isExact = shown.every(({ totalCountIsExact }) => totalCountIsExact)
  return (
    <footer className="table-foot">
      <span>
        {isExact ? counted(total, 'retry', 'retries') : `${count(total)}+ retries`}
        {(next || head) && ` · ${count(offset + 1)} to ${count(offset + rows.length)}`}
      </span>
      {head && <Button onClick={head}>To the head</Button>}
      {next && <Button onClick={next}>Later ones</Button>}
      <span className="table-foot-keys" aria-hidden="true">
        <Keys keys="j k" /> move <Keys keys="enter" /> open <Keys keys="r" /> retry now <Keys keys="?" /> keys
      </span>
    </footer>
  )
}

function useActions({ again }: Retries) {
  const act = useAct()
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set())
  const during = async (id: string, work: () => Promise<unknown>) => {
    setBusy((before) => new Set([...before, id]))
    await work()
    setBusy((before) => new Set([...before].filter((each) => each !== id)))
    again()
  }
  const retryNow = ({ id, sessionId, session: { name } }: Retry) =>
    during(id, () => act(UiRetryNowDocument, { sessionId }, { about: name, done: `${name} is retried now.` }))
  const cancel = ({ id, sessionId, session: { name } }: Retry) =>
    during(id, () =>
      act(UiCancelRetryDocument, { sessionId }, { about: name, done: `${name} is not retried any more.` }),
    )
  return { busy, retryNow, cancel }
}

/** The focused row is the one that the keys are about. */
function useRowKeys(rows: readonly Retry[], retryNow: (retry: Retry) => Promise<void>): void {
  const links = () => [...document.querySelectorAll<HTMLElement>('.table-link')]
  const move = (by: number) => {
    const all = links()
    const at = all.findIndex((link) => link === document.activeElement)
    all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]?.focus()
  }
  const current = () => {
    const id = document.activeElement?.getAttribute('data-retry')
    return rows.find((row) => row.id === id && row.isGone === undefined)
  }
  useKeys([
    { keys: 'j', does: 'next row', run: () => move(1) },
    { keys: 'k', does: 'row before', run: () => move(-1) },
    {
      keys: 'r',
      does: 'retry the row now',
      run: () => {
        const row = current()
        if (row) void retryNow(row)
      },
    },
  ])
}
