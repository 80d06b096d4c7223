import { getRouteApi, Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useClient } from 'urql'
import { useKeys } from '../../app/keys.ts'
import { ProblemPanel } from '../../app/problem-panel.tsx'
import { toast } from '../../app/toasts.tsx'
import { problemOf } from '../../api/problem.ts'
import { Button, Keys } from '../../design/button.tsx'
import { Choice } from '../../design/choice.tsx'
import { HOLDS } from '../../design/holds.ts'
import { Skeleton } from '../../design/skeleton.tsx'
import { Tabs } from '../../app/tabs.tsx'
import { count, counted } from '../../words/count.ts'
import { UiCancelRetryDocument, UiRetryNowDocument } from './retries.generated.ts'
import { REASONS, type CauseWord, type PhaseWord, type ReasonWord, type RetriesSearch } from './retries-search.ts'
import { RetryRow } from './retry-row.tsx'
import { Switches } from './switches.tsx'
import { useRetries, type Queue, type Retries, type Retry } from './use-retries.ts'
import '../../design/empty.css'
import './retries-page.css'

const Dialog = lazy(async () => ({ default: (await import('../../design/dialog.tsx')).Dialog }))

const route = getRouteApi('/frame/retries')

/** The queue of retries: what is due when, what is held and why, and what can be done about it. */
export function RetriesPage() {
  const search = route.useSearch()
  const queue = useRetries(search)
  const { data, error, rows } = queue
  const { busy, retryNow, cancel } = useActions(queue)
  const [asked, setAsked] = useState<Retry | null>(null)
  useRowKeys(rows, retryNow)
  const showsProject = search.project === undefined && new Set(rows.map(({ session }) => session.project.id)).size > 1
  return (
    <div className="retries-page">
      <h1 tabIndex={-1}>Retries</h1>
      {data && <Switches queue={data} project={search.project} />}
      <PhaseTabs search={search} data={data} />
      <Filters search={search} />
      {search.dropped && (
        <p className="dropped" role="status">
          Not understood in the address, and left out: {search.dropped.join(', ')}
        </p>
      )}
      {error && data && (
        <p className="dropped" role="status">
          This is no longer up to date: {problemOf(error).message}
        </p>
      )}
      <div className="retries-panel">
        {!data && error ? (
          <ProblemPanel error={error} onAgain={queue.again} />
        ) : !data ? (
          <Skeleton />
        ) : rows.length === 0 ? (
          <Empty search={search} head={queue.head} />
        ) : (
          <div
            role="table"
            aria-label="Retries"
            aria-rowcount={queue.next ? -1 : queue.offset + rows.length + 1}
            className="retries-table"
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is scrolled by keys
            tabIndex={0}
          >
            <div role="rowgroup" className="retries-columns">
              <div role="row" aria-rowindex={1} className="retry-row head">
                <span role="columnheader">Due</span>
                <span role="columnheader">Chain</span>
                <span role="columnheader">Next attempt</span>
                <span role="columnheader">Failed by</span>
                <span role="columnheader">Waits</span>
                <span role="columnheader">
                  <span className="visually-hidden">Actions</span>
                </span>
              </div>
            </div>
            <div role="rowgroup" onPointerEnter={queue.hold} onPointerLeave={queue.release}>
              {rows.map((retry, index) => (
                <RetryRow
                  key={retry.id}
                  retry={retry}
                  rowIndex={queue.offset + index + 2}
                  showsProject={showsProject}
                  isBusy={busy.has(retry.id)}
                  onRetryNow={(each) => void retryNow(each)}
                  onCancel={setAsked}
                />
              ))}
            </div>
          </div>
        )}
      </div>
      <Foot search={search} queue={queue} />
      <Suspense>
        {asked !== null && (
          <Dialog title="Cancel 1 retry?" onClose={() => setAsked(null)}>
            <p>
              {asked.session.name} ends with its attempt {asked.session.retryState.attempt}, and no retry follows.
            </p>
            <div className="retries-dialog">
              <Button onClick={() => setAsked(null)}>Keep it</Button>
              <Button
                kind="primary"
                onClick={() => {
                  setAsked(null)
                  void cancel(asked)
                }}
              >
                Cancel the retry
              </Button>
            </div>
          </Dialog>
        )}
      </Suspense>
    </div>
  )
}

/** Changes the address: what is undefined is left out of it. */
function useChangeSearch(): (change: Partial<RetriesSearch>) => void {
  const navigate = route.useNavigate()
  return (change) =>
    void navigate({ search: (before) => ({ ...before, dropped: undefined, ...change }), replace: true })
}

interface Counted {
  totalCount: number
  totalCountIsExact: boolean
}

function PhaseTabs({ search: { phase, reason }, data }: { search: RetriesSearch; data: Queue | undefined }) {
  const change = useChangeSearch()
  const counts = ({ totalCount, totalCountIsExact }: Counted) => ({ count: totalCount, isExact: totalCountIsExact })
  const [waiting, held] = data ? [counts(data.waiting), counts(data.held)] : []
  const all = waiting && held && { count: waiting.count + held.count, isExact: waiting.isExact && held.isExact }
  const tabs = [
    { tab: undefined, name: 'All', counted: reason === undefined ? all : null },
    { tab: 'waiting' as const, name: 'Waiting', counted: waiting },
    { tab: 'held' as const, name: 'Held', counted: held },
  ]
  const choose = (tab: PhaseWord | undefined) => change({ phase: tab, ...(tab !== 'held' && { reason: undefined }) })
  return (
    <Tabs<PhaseWord>
      label="By phase"
      tabs={tabs}
      chosen={phase ?? (reason === undefined ? undefined : 'held')}
      onChoose={choose}
    />
  )
}

const REASON_NAMES = Object.fromEntries(
  Object.entries(REASONS).map(([word, reason]) => [word, HOLDS[reason]]),
) as Record<ReasonWord, string>

const CAUSE_NAMES = {
  exit: 'exit code',
  oom: 'out of memory',
  agent: 'agent lost',
  image: 'image not pulled',
  scheduler: 'scheduler timeout',
  unknown: 'unknown cause',
} satisfies Record<CauseWord, string>

function Filters({ search }: { search: RetriesSearch }) {
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
function Empty({ search, head }: { search: RetriesSearch; head: Retries['head'] }) {
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

function Foot({ search, queue: { data, rows, offset, next, head } }: { search: RetriesSearch; queue: Retries }) {
  if (!data || rows.length === 0) return <footer className="retries-foot" />
  const isHeld = search.phase === 'held' || search.reason !== undefined
  const shown = isHeld ? [data.held] : search.phase === 'waiting' ? [data.waiting] : [data.waiting, data.held]
  const total = shown.reduce((sum, { totalCount }) => sum + totalCount, 0)
  const isExact = shown.every(({ totalCountIsExact }) => totalCountIsExact)
  return (
    <footer className="retries-foot">
      <span>
        {isExact ? counted(total, 'retry', 'retries') : `${count(total)}+ retries`}
        {(next || head) && ` · ${count(offset + 1)} to ${count(offset + rows.length)}`}
      </span>
      {head && <Button onClick={head}>To the head</Button>}
      {next && <Button onClick={next}>Later ones</Button>}
      <span className="retries-foot-keys" aria-hidden="true">
        <Keys keys="j k" /> move <Keys keys="enter" /> open <Keys keys="r" /> retry now <Keys keys="?" /> keys
      </span>
    </footer>
  )
}

function useActions({ again }: Retries) {
  const client = useClient()
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set())
  const during = async (id: string, act: () => Promise<void>) => {
    setBusy((before) => new Set([...before, id]))
    await act()
    setBusy((before) => new Set([...before].filter((each) => each !== id)))
    again()
  }
  const say = (name: string, result: Refusable | undefined, error: Error | undefined, done: string) => {
    const refusal = result === undefined ? (error ? problemOf(error).message : 'no answer') : result.message
    if (refusal === undefined) toast('done', done)
    else toast('refused', `${name}: ${refusal}`)
  }
  const retryNow = ({ id, sessionId, session: { name } }: Retry) =>
    during(id, async () => {
      const { data, error } = await client.mutation(UiRetryNowDocument, { sessionId }).toPromise()
      say(name, data?.retryNow, error, `${name} is retried now.`)
    })
  const cancel = ({ id, sessionId, session: { name } }: Retry) =>
    during(id, async () => {
      const { data, error } = await client.mutation(UiCancelRetryDocument, { sessionId }).toPromise()
      say(name, data?.cancelRetry, error, `${name} is not retried any more.`)
    })
  return { busy, retryNow, cancel }
}

/** A payload has no message. */
interface Refusable {
  __typename: string
  message?: string
}

/** The focused row is the one that the keys are about. */
function useRowKeys(rows: readonly Retry[], retryNow: (retry: Retry) => Promise<void>): void {
  const links = () => [...document.querySelectorAll<HTMLElement>('.retry-link')]
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
