import { Link } from '@tanstack/react-router'
import { serverNow, useServerNow } from '../../api/clock.ts'
import { CauseMark } from '../../design/cause-mark.tsx'
import { useMoments } from '../../app/moments.ts'
import { Button } from '../../design/button.tsx'
import { causeInWords, lookOfCause } from '../../design/causes.ts'
import { HOLDS } from '../../design/holds.ts'
import { CrossIcon, HeldIcon, RetryIcon, WaitingIcon } from '../../design/icons.tsx'
import { countdown, duration, shortDuration } from '../../words/duration.ts'
import type { Retry } from './use-retries.ts'

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

/** What the viewer may not do has no button; what cannot be done now says why. */
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
