import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { UiCancelRetryDocument, UiRetryNowDocument } from '../../api/act.generated.ts'
import { useAct } from '../../app/act.ts'
import { namesOfCauses, RETRIED_CAUSES } from '../../app/causes.ts'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { Tabs } from '../../app/list/list-filters.tsx'
import { ListPage, NoRows, showsProjects, useChangeSearch, useRowKeys } from '../../app/list/list-page.tsx'
import { HOLD_REASONS, type SearchOf } from '../../app/list/search.ts'
import { SwitchButton, Switches } from '../../app/retry/switches.tsx'
import { HOLDS } from '../../design/causes.ts'
import { Button, Choice, Keys } from '../../design/controls.tsx'
import { count, counted } from '../../words/numbers.ts'
import { columnsOf, type Queue, type Retries, type Retry, useRetries } from './retry-row.tsx'
import '../../design/panel.css'
import './retries.css'

const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')

const route = getRouteApi('/frame/retries')

/** The queue of retries: due times, holds with their reasons, and actions. */
export function RetriesPage() {
  const search = route.useSearch()
  const queue = useRetries(search)
  const { data, rows } = queue
  const { busy, retryNow, cancel } = useActions(queue)
  const [asked, setAsked] = useState<Retry | null>(null)
  useRowKeys([
    {
      keys: 'r',
      does: 'retry the row now',
      run: () => {
        const focused = document.activeElement?.getAttribute('data-retry')
        const row = rows.find(({ id, isGone }) => id === focused && isGone === undefined)
        if (row) void retryNow(row)
      },
    },
  ])
  const showsProject = showsProjects(
    search.project,
    rows.map(({ session }) => session),
  )
  return (
    <ListPage
      title="Retries"
      acts={
        <SwitchButton retries="off" onDone={queue.again}>
          Switch off…
        </SwitchButton>
      }
      dropped={search.dropped}
      list={queue}
      rowClass="retry-row"
      rowProps={({ phase, isGone }) => ({ 'data-gone': isGone, 'data-held': phase === 'HELD' })}
      columns={columnsOf({
        showsProject,
        busy,
        onRetryNow: (retry) => void retryNow(retry),
        onCancel: setAsked,
        switches: data?.retrySwitches ?? [],
      })}
      empty={<Empty search={search} head={queue.first} />}
      foot={<Foot search={search} queue={queue} />}
    >
      {data && <Switches queue={data} project={search.project} onDone={queue.again} />}
      <PhaseTabs search={search} data={data} />
      <Filters search={search} />
      <>
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
            {asked.session.name} ends with its attempt {asked.session.attempt}, and no retry follows.
          </Confirm>
        )}
      </>
    </ListPage>
  )
}

function PhaseTabs({ search: { phase, reason }, data }: { search: SearchOf<'retries'>; data: Queue | undefined }) {
  const change = useChangeSearch<'retries'>()
  return (
    <Tabs
      label="By phase"
      tabs={[
        { tab: undefined, name: 'All', counted: data && reason === undefined ? sumOf(data.waiting, data.held) : null },
        { tab: 'waiting', name: 'Waiting', counted: data?.waiting ?? null },
        { tab: 'held', name: 'Held', counted: data?.held ?? null },
      ]}
      chosen={phase ?? (reason === undefined ? undefined : 'held')}
      onChoose={(tab) => change({ phase: tab, ...(tab !== 'held' && { reason: undefined }) })}
    />
  )
}

function sumOf(...counts: Queue['held'][]): Queue['held'] {
  return {
    totalCount: counts.reduce((sum, { totalCount }) => sum + totalCount, 0),
    totalCountIsExact: counts.every(({ totalCountIsExact }) => totalCountIsExact),
  }
}

const REASON_NAMES = Object.fromEntries(
  Object.entries(HOLD_REASONS).map(([word, reason]) => [word, HOLDS[reason]]),
) as Record<keyof typeof HOLD_REASONS, string>

const CAUSE_NAMES = namesOfCauses(RETRIED_CAUSES)

function Filters({ search }: { search: SearchOf<'retries'> }) {
  const change = useChangeSearch<'retries'>()
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

/** Shown where there are no retries: how to see others, or what a retry is. */
function Empty({ search, head }: { search: SearchOf<'retries'>; head: Retries['first'] }) {
  const change = useChangeSearch<'retries'>()
  const { phase, reason, cause, project } = search
  if (head) {
    return (
      <div className="empty">
        <h2>The queue is shorter now</h2>
        <Button onClick={head}>To its head</Button>
      </div>
    )
  }
  return (
    <NoRows title="No retry fits" filters={{ phase, reason, cause, project }} onChange={change}>
      <h2>No retry waits</h2>
      <p>When an attempt fails and its policy has another one, it waits here until it is due.</p>
      <Link to="/chains" className="button">
        To the chains
      </Link>
    </NoRows>
  )
}

function Foot({ search, queue }: { search: SearchOf<'retries'>; queue: Retries }) {
  const { data, rows, offset, next, first } = queue
  if (!data || rows.length === 0) return <footer className="table-foot" />
  const isHeld = search.phase === 'held' || search.reason !== undefined
  const { totalCount, totalCountIsExact } = sumOf(
    ...(search.phase === 'waiting' && !isHeld ? [] : [data.held]),
    ...(isHeld ? [] : [data.waiting]),
  )
  return (
    <footer className="table-foot">
      <span>
        {totalCountIsExact ? counted(totalCount, 'retry', 'retries') : `${count(totalCount)}+ retries`}
        {(next || first) && ` · ${count(offset + 1)} to ${count(offset + rows.length)}`}
      </span>
      {first && <Button onClick={first}>To the head</Button>}
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
