import { serverNow, useServerNow } from '../../api/clock.ts'
import {
  CancelledIcon,
  FailedIcon,
  HeldIcon,
  QueuedIcon,
  RunningIcon,
  SucceededIcon,
  WaitingIcon,
} from '../../design/icons.tsx'
import { useMoments } from '../moments.ts'
import { shortDuration } from '../../words/duration.ts'
import type { UiChainRowFragment as Row } from './chain-row.generated.ts'
import { outlookOf } from './outlook.ts'
import '../app.css'

const STATES = {
  LIVE: { icon: RunningIcon, name: 'running', tone: 'running' },
  WAITING_RETRY: { icon: WaitingIcon, name: 'waiting for a retry', tone: 'queued' },
  HELD: { icon: HeldIcon, name: 'held', tone: 'held' },
  SUCCEEDED: { icon: SucceededIcon, name: 'succeeded', tone: 'succeeded' },
  FAILED: { icon: FailedIcon, name: 'failed', tone: 'exit' },
  CANCELLED: { icon: CancelledIcon, name: 'cancelled', tone: 'unknown' },
} as const

const QUEUED = { icon: QueuedIcon, name: 'queued', tone: 'queued' } as const

export function StateIcon({ chain: { state, newestAttempt } }: { chain: Row }) {
  const { icon: Icon, name, tone } = state === 'LIVE' && newestAttempt.status === 'PENDING' ? QUEUED : STATES[state]
  return <Icon label={name} className={`tone-${tone}`} />
}

/** What it is at and what comes next, ticking where that counts down. */
export function Outlook({ chain }: { chain: Row }) {
  const { ticks } = outlookOf(chain, serverNow())
  const now = useServerNow(ticks)
  const { words, why } = outlookOf(chain, now)
  return (
    <>
      <span className="outlook-words">{words}</span>
      {why !== null && (
        <span className="outlook-why" title={why}>
          {why}
        </span>
      )}
    </>
  )
}

const MINUTE_MS = 60_000

/** When something last happened to it. */
export function Latest({ at }: { at: string }) {
  const then = Date.parse(at)
  const moments = useMoments()
  const now = useServerNow(serverNow() - then < 60 * MINUTE_MS)
  const seconds = (now - then) / 1000
  return (
    <time dateTime={at} title={moments.absolute(then)}>
      {seconds < 5 ? 'now' : shortDuration(Math.floor(seconds))}
    </time>
  )
}
