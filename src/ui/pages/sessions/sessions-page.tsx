import { getRouteApi, Link } from '@tanstack/react-router'
import { useFirstCursor, useLive } from '../../api/live.ts'
import { usePolled } from '../../api/poll.ts'
import { startNote } from '../../app/chain-parts.tsx'
import { sessionFilterOf } from '../../app/list/filters.ts'
import { NameFilter, Tabs } from '../../app/list/list-filters.tsx'
import {
  Dropped,
  EmptyUnderFilters,
  ListPanel,
  PageFoot,
  type Steady,
  usePlace,
  useSteadyRows,
} from '../../app/list/list-panel.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { Ago } from '../../app/moments.tsx'
import { causeInWords, lookOfCause } from '../../design/causes.ts'
import { Button, Choice } from '../../design/controls.tsx'
import { CancelledIcon, CrossIcon, RunningIcon, SucceededIcon, WaitingIcon } from '../../design/icons.tsx'
import { CauseMark } from '../../design/panel.tsx'
import { type UiSessionRowFragment, UiSessionsDocument } from './sessions.generated.ts'
import './sessions.css'

const route = getRouteApi('/frame/sessions')

const PAGE_ROWS = 50

/** Every attempt of every chain by itself, and with them what is never retried: interactive and inference sessions. */
export function SessionsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const change = (part: Partial<SearchOf<'sessions'>>) =>
    void navigate({ search: (before) => ({ ...before, dropped: undefined, ...part }), replace: true })
  const { data, error, again, rows, offset, first, next, hold, release } = useSessions(search)
  const showsProject = search.project === undefined && new Set(rows.map(({ project }) => project.id)).size > 1
  return (
    <div className="list-page">
      <h1 tabIndex={-1}>Sessions</h1>
      <Tabs<NonNullable<SearchOf<'sessions'>['type']>>
        label="By type"
        tabs={[
          { tab: undefined, name: 'All', counted: undefined },
          { tab: 'batch', name: 'Batch', counted: undefined },
          { tab: 'interactive', name: 'Interactive', counted: undefined },
          { tab: 'inference', name: 'Inference', counted: undefined },
        ]}
        chosen={search.type}
        onChoose={(type) => change({ type })}
      />
      <Filters search={search} onChange={change} />
      <Dropped names={search.dropped} />
      <ListPanel
        label="Sessions"
        rowClass="session-row"
        columns={['Session', 'Type', 'Attempt', 'Status', 'Group', 'Since', 'Created']}
        read={{ data, error, again }}
        rows={rows}
        offset={offset}
        hasMore={next !== null}
        empty={<Empty search={search} onChange={change} />}
        hold={hold}
        release={release}
      >
        {(session, rowIndex) => (
          <SessionRow key={session.id} session={session} rowIndex={rowIndex} showsProject={showsProject} />
        )}
      </ListPanel>
      <PageFoot noun="session" rows={rows.length} offset={offset} first={first} next={next} />
    </div>
  )
}

/** A page of them, the newest first, read again when something has changed. */
function useSessions(search: SearchOf<'sessions'>) {
  const filter = sessionFilterOf(search)
  const key = JSON.stringify(filter)
  const { after, offset, first, onward } = usePlace(key)
  const { data, error, again } = usePolled(UiSessionsDocument, { filter, first: PAGE_ROWS, after })
  useLive({
    cursor: useFirstCursor(key, data?.eventCursor),
    project: search.project,
    onChanges: async () => again(),
    onMissed: again,
  })
  const rows = data?.sessions.edges.map(({ node }) => node) ?? []
  const steady = useSteadyRows(`${key} ${after}`, rows)
  const next = onward(data?.sessions)
  return { data, error, again, ...steady, offset, first, next }
}

/** Why there is none, and what next. */
function Empty({
  search,
  onChange,
}: {
  search: SearchOf<'sessions'>
  onChange: (part: Partial<SearchOf<'sessions'>>) => void
}) {
  const { type, status, q, agent, group, project } = search
  const filters = { type, status, q, agent, group, project }
  if (Object.values(filters).every((value) => value === undefined)) {
    return (
      <div className="empty">
        <h2>No sessions yet</h2>
        <p>One is made for each attempt of a chain, for each replica of a deployment, and for whoever works in one.</p>
        <pre className="empty-command">
          <code>npx reprise run -- sh -c 'echo hello'</code>
        </pre>
      </div>
    )
  }
  return (
    <EmptyUnderFilters title="No session fits" filters={filters} onRemove={(name) => onChange({ [name]: undefined })} />
  )
}

const STATUS_NAMES = {
  waiting: 'waiting',
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
export function Filters({ search, onChange }: FiltersProps) {
  const { status, q, agent, group } = search
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
    </div>
  )
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

interface SessionRowProps {
  session: Steady<UiSessionRowFragment>
  rowIndex: number
  showsProject: boolean
}

export function SessionRow({ session, rowIndex, showsProject }: SessionRowProps) {
  const { chainId, attempt, name, sessionType, project, resourceGroup, statusChangedAt, createdAt, isGone } = session
  return (
    <div role="row" aria-rowindex={rowIndex} className="table-row session-row" data-gone={isGone}>
      <span role="cell" className="session-name named">
        <Link to="/chains/$chainId" params={{ chainId }} search={{ attempt }} className="table-link" title={name}>
          {name}
        </Link>
        {showsProject && <span className="table-tag">{project.name}</span>}
      </span>
      <span role="cell" className="session-type">
        {sessionType.toLowerCase()}
      </span>
      <span role="cell" className="session-attempt">
        <span className="session-word">attempt </span>
        {attempt}
      </span>
      <span role="cell" className="session-status">
        <Status session={session} />
      </span>
      <span role="cell" className="session-group" title={resourceGroup.name}>
        {resourceGroup.name}
      </span>
      <span role="cell" className="session-since">
        <Ago at={statusChangedAt} said="since" />
      </span>
      <span role="cell" className="session-created">
        <Ago at={createdAt} said="created" />
      </span>
    </div>
  )
}

/** The status as an icon and words, with its reason if there is one. */
function Status({
  session: { status, result, failureCause, exitCode, pendingReason, statusReason },
}: Pick<SessionRowProps, 'session'>) {
  if (status === 'ERROR') {
    return (
      <>
        <CauseMark {...lookOfCause(failureCause, exitCode)} />
        <span className="cut" title={statusReason ?? undefined}>
          {causeInWords(failureCause, exitCode)}
        </span>
      </>
    )
  }
  const [Icon, tone, words] = lookOfStatus(status, result)
  const why = pendingReason ?? startNote({ status, statusReason })
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
  if (status === 'PENDING') return [WaitingIcon, 'queued', 'waiting'] as const
  if (status === 'RUNNING') return [RunningIcon, 'running', 'running'] as const
  if (status === 'TERMINATING') return [RunningIcon, 'queued', 'ending'] as const
  if (status === 'CANCELLED') return [CancelledIcon, 'unknown', 'terminated'] as const
  if (status !== 'TERMINATED') return [WaitingIcon, 'running', 'starting'] as const
  return result === 'SUCCESS'
    ? ([SucceededIcon, 'succeeded', 'succeeded'] as const)
    : ([CancelledIcon, 'unknown', 'terminated'] as const)
}
