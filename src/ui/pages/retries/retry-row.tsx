import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { serverNow, useServerNow } from '../../api/clock.ts'
import { usePolled } from '../../api/poll.ts'
import { retryFiltersOf } from '../../app/list/filters.ts'
import { type Steady, useSteadyRows } from '../../app/list/list-panel.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { useMoments } from '../../app/moments.tsx'
import { causeInWords, HOLDS, lookOfCause } from '../../design/causes.ts'
import { Button } from '../../design/controls.tsx'
import { CrossIcon, HeldIcon, RetryIcon, WaitingIcon } from '../../design/icons.tsx'
import { CauseMark } from '../../design/panel.tsx'
import { countdown, duration, shortDuration } from '../../words/time.ts'
import { UiRetriesDocument, type UiRetriesQuery, type UiRetryRowFragment } from './retries.generated.ts'

interface Props {
  retry: Retry
  rowIndex: number
  showsProject: boolean
  isBusy: boolean
  onRetryNow: (retry: Retry) => void
  onCancel: (retry: Retry) => void
}

export function RetryRow({ retry, rowIndex, showsProject, isBusy, onRetryNow, onCancel }: Props) {
  const { session, cause, chainId, isGone } = retry
  const { attempt, maxAttempts } = session.retryState
  const look = lookOfCause(cause)
  const why = causeInWords(cause, session.exitCode)
  return (
    <div
      role="row"
      aria-rowindex={rowIndex}
      className="table-row retry-row"
      data-gone={isGone}
      data-held={retry.phase === 'HELD'}
    >
      <span role="cell" className="retry-due">
        {isGone ? <span className="retry-left">left the queue</span> : <Due retry={retry} />}
      </span>
      <span role="cell" className="retry-name">
        <Link
          to="/chains/$chainId"
          params={{ chainId }}
          className="table-link"
          data-retry={retry.id}
          title={session.name}
        >
          {session.name}
        </Link>
        {showsProject && <span className="table-tag">{session.project.name}</span>}
      </span>
      <span role="cell" className="retry-attempt">
        {attempt + 1} <span className="retry-of">of {maxAttempts}</span>
      </span>
      <span role="cell" className="retry-cause" title={retry.explanation}>
        <CauseMark {...look} />
        <span className="retry-why">{why}</span>
      </span>
      <span role="cell" className="retry-wait">
        <Wait retry={retry} />
      </span>
      <span role="cell" className="retry-actions">
        {!isGone && (
          <>
            <Act retry={retry} action="RETRY_NOW" isBusy={isBusy} onAct={onRetryNow} />
            <Act retry={retry} action="CANCEL_RETRY" isBusy={isBusy} onAct={onCancel} />
          </>
        )}
      </span>
    </div>
  )
}

/** Actions that the viewer may not use have no button; a disabled button says why. */
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

function Due({ retry: { phase, dueAt, heldSince } }: { retry: Retry }) {
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
      <WaitingIcon label="waiting" className="tone-queued" />
      <time className="retry-countdown" dateTime={dueAt!} title={moments.absolute(at)}>
        {seconds > 0 ? countdown(seconds) : 'due'}
      </time>
    </>
  )
}

/** The delay; or why it is held, and since when. */
function Wait({ retry: { phase, holdReason, heldSince, delaySeconds } }: { retry: Retry }) {
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
  return delaySeconds === null ? null : <>after {duration(delaySeconds)}</>
}

/** `isGone`: it is no longer in the queue. */
export type Retry = Steady<UiRetryRowFragment>
export type Queue = UiRetriesQuery

const PAGE_ROWS = 50
const EVERY_MS = 1_000

export interface Retries {
  data: Queue | undefined
  error: Error | undefined
  rows: readonly Retry[]
  again: () => void
  /** Rows before those that are shown. */
  offset: number
  next: (() => void) | null
  /** To the head of the queue. */
  head: (() => void) | null
  /** As long as somebody points at the rows, none of them moves. */
  hold: () => void
  release: () => void
}

/** The queue of retries, a page of it, read each second. */
export function useRetries(search: SearchOf<'retries'>): Retries {
  const filters = retryFiltersOf(search)
  const key = JSON.stringify(filters)
  const [place, setPlace] = useState<{ key: string; after: string | null; offset: number }>()
  // Under another filter it begins at its head.
  const { after, offset } = place?.key === key ? place : { after: null, offset: 0 }
  const { data, error, again } = usePolled(UiRetriesDocument, { ...filters, first: PAGE_ROWS, after }, EVERY_MS)
  const fresh = data?.retryDecisions.edges.map(({ node }) => node) ?? []
  const { rows, hold, release } = useSteadyRows(`${key} ${after}`, fresh)
  const endCursor = data?.retryDecisions.pageInfo.hasNextPage ? data.retryDecisions.pageInfo.endCursor : null
  const go = (to: string | null, before: number) => {
    release()
    setPlace({ key, after: to, offset: before })
  }
  return {
    data,
    error,
    rows,
    again,
    offset,
    next: endCursor === null ? null : () => go(endCursor, offset + fresh.length),
    head: after === null ? null : () => go(null, 0),
    hold,
    release,
  }
}
