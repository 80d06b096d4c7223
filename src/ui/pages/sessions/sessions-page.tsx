import { getRouteApi, Link } from '@tanstack/react-router'
import { useQuery } from 'urql'
import { useFirstCursor, useLive } from '../../api/live.ts'
import { startNote, whyImpossible } from '../../app/chain-parts.tsx'
import { sessionFilterOf } from '../../app/list/filters.ts'
import { NameFilter, Tabs } from '../../app/list/list-filters.tsx'
import {
  ListPage,
  NoRows,
  PageFoot,
  showsProjects,
  type Steady,
  useChangeSearch,
  useList,
  useSteadyRows,
} from '../../app/list/list-page.tsx'
import { AttemptLink } from '../../app/list/row-link.tsx'
import { NEWEST_FIRST, type SearchOf, SESSION_ORDERS } from '../../app/list/search.ts'
import { Ago } from '../../app/moments.tsx'
import { causeInWords, kindOf, lookOfCause } from '../../design/causes.ts'
import { Button, Choice } from '../../design/controls.tsx'
import {
  CancelledIcon,
  CrossIcon,
  HeldIcon,
  QueuedIcon,
  RunningIcon,
  SucceededIcon,
  WaitingIcon,
} from '../../design/icons.tsx'
import { CauseMark } from '../../design/panel.tsx'
import type { Column } from '../../design/table.tsx'
import { limitInWords } from '../../words/time.ts'
import { UiFailureTitleDocument, type UiSessionRowFragment, UiSessionsDocument } from './sessions.generated.ts'
import './sessions.css'

const route = getRouteApi('/frame/sessions')

const PAGE_ROWS = 50

/** Each attempt on its own, and sessions that are never retried: interactive and inference sessions. */
export function SessionsPage() {
  const search = route.useSearch()
  const { type, status, q, agent, failure, group, project, order } = search
  const change = useChangeSearch<'sessions'>()
  const list = useSessions(search)
  return (
    <ListPage
      title="Sessions"
      dropped={search.dropped}
      list={list}
      rowClass="session-row"
      rowProps={({ isGone }) => ({ 'data-gone': isGone })}
      columns={columnsOf(showsProjects(project, list.rows))}
      order={order ?? NEWEST_FIRST}
      onOrder={(chosen) => change({ order: chosen === NEWEST_FIRST ? undefined : (chosen as typeof order) })}
      empty={
        <NoRows title="No session fits" filters={{ type, status, q, agent, failure, group, project }} onChange={change}>
          <h2>No sessions yet</h2>
          <p>
            One is made for each attempt of a chain, for each replica of a deployment, and for whoever works in one.
          </p>
          <pre className="empty-command">
            <code>npx reprise run -- sh -c 'echo hello'</code>
          </pre>
        </NoRows>
      }
      foot={<PageFoot noun="session" list={list} />}
    >
      <Tabs
        label="By type"
        tabs={[
          { tab: undefined, name: agent === undefined ? 'All but replicas' : 'All' },
          { tab: 'batch', name: 'Batch' },
          { tab: 'interactive', name: 'Interactive' },
          { tab: 'inference', name: 'Replicas' },
        ]}
        chosen={type}
        onChoose={(chosen) => change({ type: chosen })}
      />
      <Filters search={search} onChange={change} />
    </ListPage>
  )
}

/** The newest sessions first, read again when something has changed. */
function useSessions(search: SearchOf<'sessions'>) {
  const orderBy = SESSION_ORDERS[search.order ?? NEWEST_FIRST]
  const variables = { filter: sessionFilterOf(search), orderBy, first: PAGE_ROWS }
  const list = useList(UiSessionsDocument, variables, ({ sessions }) => sessions)
  useLive({
    cursor: useFirstCursor(list.key, list.data?.eventCursor),
    project: search.project,
    onChanges: async () => list.again(),
    onMissed: list.again,
  })
  return { ...list, ...useSteadyRows(list.page, list.rows) }
}

const STATUS_NAMES = {
  waiting: 'queued',
  starting: 'starting',
  running: 'running',
  ending: 'ending',
  succeeded: 'succeeded',
  failed: 'failed',
  terminated: 'terminated',
} satisfies Record<NonNullable<SearchOf<'sessions'>['status']>, string>

interface FiltersProps {
  search: SearchOf<'sessions'>
  onChange: (part: Partial<SearchOf<'sessions'>>) => void
}

/** The filters of the list; each can be removed. */
function Filters({ search, onChange }: FiltersProps) {
  const { status, q, agent, failure, group } = search
  return (
    <div className="filters">
      <Choice
        label="Status"
        value={status ?? ''}
        any="Any status"
        names={STATUS_NAMES}
        onChange={(chosen) => onChange({ status: chosen })}
      />
      <NameFilter value={q} onChange={(words) => onChange({ q: words })} />
      {group !== undefined && <Chip name="group" value={group} onRemove={() => onChange({ group: undefined })} />}
      {agent !== undefined && (
        <Chip name="agent" value={`${agent.slice(0, 8)}…`} onRemove={() => onChange({ agent: undefined })} />
      )}
      {failure !== undefined && (
        <FailureChip key={failure} id={failure} onRemove={() => onChange({ failure: undefined })} />
      )}
    </div>
  )
}

/** The group of failures whose attempts are listed. */
function FailureChip({ id, onRemove }: { id: string; onRemove: () => void }) {
  const [{ data }] = useQuery({ query: UiFailureTitleDocument, variables: { id } })
  return <Chip name="failure" value={data?.failureGroup?.title ?? `${id.slice(0, 8)}…`} onRemove={onRemove} />
}

function Chip({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <Button className="chip" aria-label={`Remove the ${name} ${value}`} onClick={onRemove}>
      <span>
        {name} {value}
      </span>
      <CrossIcon />
    </Button>
  )
}

type Session = Steady<UiSessionRowFragment>

function columnsOf(showsProject: boolean): readonly Column<Session>[] {
  return [
    {
      title: 'Session',
      className: 'session-name named',
      order: 'name',
      cell: (session) => (
        <>
          <AttemptLink session={session} />
          {showsProject && <span className="table-tag">{session.project.name}</span>}
        </>
      ),
    },
    { title: 'Type', className: 'session-type', cell: ({ sessionType }) => sessionType.toLowerCase() },
    {
      title: 'Attempt',
      className: 'session-attempt',
      order: 'attempt',
      isDown: true,
      cell: ({ attempt }) => (
        <>
          <span className="session-word">attempt </span>
          {attempt}
        </>
      ),
    },
    { title: 'Status', className: 'session-status', cell: (session) => <Status session={session} /> },
    {
      title: 'Group',
      className: 'session-group',
      hint: ({ resourceGroup }) => resourceGroup.name,
      cell: ({ resourceGroup }) => resourceGroup.name,
    },
    {
      title: 'Since',
      className: 'session-since',
      order: 'since',
      isDown: true,
      cell: ({ statusChangedAt }) => <Ago at={statusChangedAt} said="since" />,
    },
    {
      title: 'Created',
      className: 'session-created',
      order: 'created',
      isDown: true,
      cell: ({ createdAt }) => <Ago at={createdAt} said="created" />,
    },
  ]
}

/** The status as an icon and words, with its reason if there is one. */
function Status({ session }: { session: Session }) {
  const { status, result, exitCode, batchTimeout, pendingReason, impossible, statusReason, failureGroup } = session
  if (status === 'ERROR') {
    const cause = causeInWords(kindOf(session), exitCode, limitInWords(batchTimeout))
    return (
      <>
        <CauseMark {...lookOfCause(kindOf(session), exitCode)} />
        <span className="cut" title={statusReason ?? undefined}>
          {cause}
        </span>
        {failureGroup && failureGroup.title !== cause && (
          <Link
            to="/failures/$failureGroupId"
            params={{ failureGroupId: failureGroup.failureGroupId }}
            className="session-says"
            title={`says: ${failureGroup.title}`}
          >
            {failureGroup.title}
          </Link>
        )}
      </>
    )
  }
  const [Icon, tone, words] = impossible ? ([HeldIcon, 'held', 'impossible'] as const) : lookOfStatus(status, result)
  const reason = impossible ? whyImpossible(pendingReason) : pendingReason
  const why = reason ?? startNote({ status, statusReason }) ?? (status === 'RUNNING' ? session.progress : null)
  return (
    <>
      <Icon className={`tone-${tone}`} />
      <span>{words}</span>
      {why !== null && (
        <span className="session-why" title={why}>
          {why}
        </span>
      )}
    </>
  )
}

function lookOfStatus(status: UiSessionRowFragment['status'], result: UiSessionRowFragment['result']) {
  if (status === 'PENDING') return [QueuedIcon, 'queued', 'queued'] as const
  if (status === 'RUNNING') return [RunningIcon, 'running', 'running'] as const
  if (status === 'TERMINATING') return [RunningIcon, 'queued', 'ending'] as const
  if (status === 'CANCELLED') return [CancelledIcon, 'unknown', 'terminated'] as const
  if (status !== 'TERMINATED') return [WaitingIcon, 'running', 'starting'] as const
  return result === 'SUCCESS'
    ? ([SucceededIcon, 'succeeded', 'succeeded'] as const)
    : ([CancelledIcon, 'unknown', 'terminated'] as const)
}
