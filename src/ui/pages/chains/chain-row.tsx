import { Link } from '@tanstack/react-router'
import { memo, type CSSProperties } from 'react'
import { serverNow, useServerNow } from '../../api/clock.ts'
import { AttemptStrip, STRIP_ATTEMPTS_MAX } from '../../charts/attempt-strip.tsx'
import { CancelledIcon, FailedIcon, HeldIcon, RunningIcon, SucceededIcon, WaitingIcon } from '../../design/icons.tsx'
import { shortDuration } from '../../words/duration.ts'
import { momentsIn } from '../../words/moment.ts'
import type { ChainRow as Row } from './chain-list.ts'
import { marksOf, outlookOf } from './outlook.ts'

const STATES = {
  LIVE: { icon: RunningIcon, name: 'running', tone: 'running' },
  WAITING_RETRY: { icon: WaitingIcon, name: 'waiting for a retry', tone: 'queued' },
  HELD: { icon: HeldIcon, name: 'held', tone: 'held' },
  SUCCEEDED: { icon: SucceededIcon, name: 'succeeded', tone: 'succeeded' },
  FAILED: { icon: FailedIcon, name: 'failed', tone: 'exit' },
  CANCELLED: { icon: CancelledIcon, name: 'cancelled', tone: 'unknown' },
} as const

const moments = momentsIn(Intl.DateTimeFormat().resolvedOptions().timeZone)

interface ChainRowProps {
  chain: Row
  /** Among all rows, from 1. */
  rowIndex: number
  isChosen: boolean
  isCurrent: boolean
  showsProject: boolean
  style: CSSProperties
  onChoose: (chainId: string) => void
  onFocus: (chainId: string) => void
}

export const ChainRow = memo(function ChainRow(props: ChainRowProps) {
  const { chain, rowIndex, isChosen, isCurrent, showsProject, style, onChoose, onFocus } = props
  const { chainId, name, state, attempts, labels, newestAttempt } = chain
  const { icon: Icon, name: stateName, tone } = STATES[state]
  const { attempt, maxAttempts } = newestAttempt.retryState
  const marks = marksOf(chain)
  return (
    <div
      role="row"
      aria-rowindex={rowIndex}
      aria-selected={isChosen}
      className="chain-row"
      data-current={isCurrent || undefined}
      style={style}
    >
      <span role="cell" className="chain-choice">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${name}`}
          checked={isChosen}
          onChange={() => onChoose(chainId)}
        />
      </span>
      <span role="cell" className="chain-name">
        <Icon label={stateName} className={`tone-${tone}`} />
        <Link
          to="/chains/$chainId"
          params={{ chainId }}
          className="chain-link"
          data-chain={chainId}
          tabIndex={isCurrent ? 0 : -1}
          title={name}
          onFocus={() => onFocus(chainId)}
        >
          {name}
        </Link>
        <span className="chain-labels">
          {showsProject && <span className="chain-project">{chain.project.name}</span>}
          {labels.slice(0, 3).map(({ key, value }) => (
            <span key={key} className="chain-label" title={`${key}=${value}`}>
              {key}={value}
            </span>
          ))}
        </span>
      </span>
      <span role="cell" className="chain-attempts">
        {attempts > 1 || state === 'WAITING_RETRY' || state === 'HELD' ? (
          <>
            <AttemptStrip marks={marks} hasMore={attempts > STRIP_ATTEMPTS_MAX} />
            <span className="chain-of">
              {attempt} of {maxAttempts}
            </span>
          </>
        ) : (
          <span className="chain-of quiet">{maxAttempts > 1 ? `1 of ${maxAttempts}` : ''}</span>
        )}
      </span>
      <span role="cell" className="chain-outlook">
        <Outlook chain={chain} />
      </span>
      <span role="cell" className="chain-ran">
        {chain.runningSeconds > 0 ? shortDuration(chain.runningSeconds) : '–'}
      </span>
      <span role="cell" className="chain-latest">
        <Latest at={chain.newestActivityAt} />
      </span>
    </div>
  )
})

function Outlook({ chain }: { chain: Row }) {
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

function Latest({ at }: { at: string }) {
  const then = Date.parse(at)
  const now = useServerNow(serverNow() - then < 60 * MINUTE_MS)
  const seconds = (now - then) / 1000
  return (
    <time dateTime={at} title={moments.absolute(then)}>
      {seconds < 5 ? 'now' : shortDuration(Math.floor(seconds))}
    </time>
  )
}
