import { Link } from '@tanstack/react-router'
import { serverNow, useServerNow } from '../../api/clock.ts'
import { retryFiltersOf } from '../../app/list/filters.ts'
import { type List, type Steady, useList, useSteadyRows } from '../../app/list/list-page.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { useMoments } from '../../app/moments.tsx'
import { SWITCHED_OFF, switchedOff, whoSwitched } from '../../app/retry/switches.tsx'
import type { UiSwitchFragment } from '../../app/retry/switches.generated.ts'
import { causeInWords, HOLDS, lookOfCause, TIMED_OUT } from '../../design/causes.ts'
import { Button } from '../../design/controls.tsx'
import { CrossIcon, HeldIcon, RetryIcon, WaitingIcon } from '../../design/icons.tsx'
import { CauseMark } from '../../design/panel.tsx'
import type { Column } from '../../design/table.tsx'
import { countdown, duration, limitInWords, shortDuration } from '../../words/time.ts'
import { UiRetriesDocument, type UiRetriesQuery, type UiRetryRowFragment } from './retries.generated.ts'

interface Options {
  showsProject: boolean
  /** Ids of the retries with an action under way. */
  busy: ReadonlySet<string>
  onRetryNow: (retry: Retry) => void
  onCancel: (retry: Retry) => void
  switches: readonly UiSwitchFragment[]
}

export function columnsOf({ showsProject, busy, onRetryNow, onCancel, switches }: Options): readonly Column<Retry>[] {
  return [
    {
      title: 'Due',
      className: 'retry-due',
      cell: (retry) =>
        retry.isGone ? (
          <span className="retry-left">left the queue</span>
        ) : (
          <Due retry={retry} off={switchedOff(switches, retry.session.project)} />
        ),
    },
    {
      title: 'Chain',
      className: 'retry-name',
      cell: ({ id, chainId, session: { name, project } }) => (
        <>
          <Link to="/chains/$chainId" params={{ chainId }} className="table-link" data-retry={id} title={name}>
            {name}
          </Link>
          {showsProject && <span className="table-tag">{project.name}</span>}
        </>
      ),
    },
    {
      title: 'Retry',
      className: 'retry-attempt',
      cell: ({ session: { retryState } }) => (
        <>
          {retryState.attempt} <span className="retry-of">of {retryState.maxAttempts - 1}</span>
        </>
      ),
    },
    {
      title: 'Failed by',
      className: 'retry-cause',
      hint: ({ explanation }) => explanation,
      cell: ({ cause, session: { exitCode, timedOut, batchTimeout } }) => (
        <>
          <CauseMark {...lookOfCause(timedOut ? TIMED_OUT : cause)} />
          <span className="retry-why">
            {causeInWords(timedOut ? TIMED_OUT : cause, exitCode, limitInWords(batchTimeout))}
          </span>
        </>
      ),
    },
    {
      title: 'Waits',
      className: 'retry-wait',
      cell: (retry) => <Wait retry={retry} off={switchedOff(switches, retry.session.project)} />,
    },
    {
      title: 'Actions',
      isHidden: true,
      className: 'retry-actions',
      cell: (retry) =>
        !retry.isGone && (
          <>
            <Act retry={retry} action="RETRY_NOW" isBusy={busy.has(retry.id)} onAct={onRetryNow} />
            <Act retry={retry} action="CANCEL_RETRY" isBusy={busy.has(retry.id)} onAct={onCancel} />
          </>
        ),
    },
  ]
}

/** The button of an action. Actions that the user may not use have none. */
function Act(props: {
  retry: Retry
  action: 'RETRY_NOW' | 'CANCEL_RETRY'
  isBusy: boolean
  onAct: (retry: Retry) => void
}) {
  const { retry, action, isBusy, onAct } = props
  const verdict = retry.session.chain.actions.find((each) => each.action === action)
  if (!verdict?.allowed) return null
  const [words, Icon] =
    action === 'RETRY_NOW' ? (['Retry now', RetryIcon] as const) : (['Cancel retry', CrossIcon] as const)
  return (
    <Button
      kind="quiet"
      icon
      className="retry-act"
      disabled={isBusy}
      title={words}
      aria-label={`${words}: ${retry.session.name}`}
      onClick={() => onAct(retry)}
    >
      <Icon />
    </Button>
  )
}

const HOUR_MS = 3_600_000

function Due({ retry, off }: { retry: Retry; off: UiSwitchFragment | undefined }) {
  const { phase, dueAt, heldSince } = retry
  const moments = useMoments()
  const at = Date.parse((phase === 'HELD' ? (heldSince ?? dueAt) : dueAt) ?? '')
  const now = useServerNow(phase !== 'HELD' || serverNow() - at < HOUR_MS)
  if (phase === 'HELD') {
    return (
      <>
        <HeldIcon label="held" className="tone-held" />
        <time dateTime={new Date(at).toISOString()} title={`held since ${moments.absolute(at)}`}>
          held {shortDuration(Math.max(0, Math.floor((now - at) / 1000)))}
        </time>
      </>
    )
  }
  const seconds = (at - now) / 1000
  return (
    <>
      {off ? (
        <HeldIcon label={`waiting, but ${SWITCHED_OFF}`} className="tone-held" />
      ) : (
        <WaitingIcon label="waiting" className="tone-queued" />
      )}
      <time className="retry-countdown" dateTime={dueAt!} title={moments.absolute(at)}>
        {seconds > 0 ? countdown(seconds) : 'due'}
      </time>
    </>
  )
}

/** The delay; for a held retry the reason and since when. */
function Wait({ retry, off }: { retry: Retry; off: UiSwitchFragment | undefined }) {
  const { phase, holdReason, heldSince, delaySeconds } = retry
  const moments = useMoments()
  if (phase === 'HELD' && holdReason !== null) {
    const since = heldSince === null ? null : Date.parse(heldSince)
    return (
      <>
        <span className="retry-hold">{HOLDS[holdReason]}</span>
        {since !== null && <span className="retry-since">since {moments.clock(since)}</span>}
      </>
    )
  }
  if (delaySeconds === null) return null
  return (
    <>
      after {duration(delaySeconds)}
      {off && (
        <span className="retry-hold tone-held" title={whoSwitched(off)}>
          {SWITCHED_OFF}
        </span>
      )}
    </>
  )
}

/** A row of the queue. `isGone`: it has left the queue. */
export type Retry = Steady<UiRetryRowFragment>
export type Queue = UiRetriesQuery

const PAGE_ROWS = 50
const EVERY_MS = 1_000

export type Retries = List<Retry, Queue> & Required<Pick<List<Retry>, 'hold' | 'release'>>

/** Reads a page of the queue each second. */
export function useRetries(search: SearchOf<'retries'>): Retries {
  const variables = { ...retryFiltersOf(search), first: PAGE_ROWS }
  const list = useList(UiRetriesDocument, variables, ({ retryDecisions }) => retryDecisions, EVERY_MS)
  const { rows, hold, release } = useSteadyRows(list.page, list.rows)
  const released = (go: (() => void) | null) =>
    go &&
    (() => {
      release()
      go()
    })
  return { ...list, rows, hold, release, first: released(list.first), next: released(list.next) }
}
