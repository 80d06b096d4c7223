import { serverNow, useServerNow } from '../api/clock.ts'
import type { StripMark } from '../charts/attempt-strip.tsx'
import { causeInWords, HOLDS, kindOf, lookOfCause, TIMED_OUT } from '../design/causes.ts'
import {
  CancelledIcon,
  FailedIcon,
  HeldIcon,
  QueuedIcon,
  RunningIcon,
  SucceededIcon,
  WaitingIcon,
} from '../design/icons.tsx'
import type { ChainState } from '../../client/schema-types.generated.ts'
import { countdown, limitInWords, shortDuration } from '../words/time.ts'
import type { UiChainRowFragment as ChainRow } from './app.generated.ts'
import { useMoments } from './moments.tsx'
import { SWITCHED_OFF, useSwitchedOff, whoSwitched } from './retry/switches.tsx'
import './app.css'

const STATES = {
  QUEUED: { icon: QueuedIcon, name: 'queued', tone: 'queued' },
  IMPOSSIBLE: { icon: HeldIcon, name: 'impossible', tone: 'held' },
  RUNNING: { icon: RunningIcon, name: 'running', tone: 'running' },
  WAITING_RETRY: { icon: WaitingIcon, name: 'waiting for a retry', tone: 'queued' },
  HELD: { icon: HeldIcon, name: 'held', tone: 'held' },
  SUCCEEDED: { icon: SucceededIcon, name: 'succeeded', tone: 'succeeded' },
  FAILED: { icon: FailedIcon, name: 'failed', tone: 'exit' },
  CANCELLED: { icon: CancelledIcon, name: 'cancelled', tone: 'unknown' },
} as const

/** The states that a chain can have; filters know another one. */
export type ShownState = Exclude<ChainState, 'LIVE'>

interface Stated {
  state: ChainRow['state']
}

function lookOf({ state }: Stated) {
  return STATES[state as ShownState]
}

/** The chain's state in a word or a few: `queued`, `waiting for a retry`. */
export function stateName(chain: Stated): string {
  return lookOf(chain).name
}

export function StateIcon({ chain }: { chain: ChainRow }) {
  const { icon: Icon, name, tone } = lookOf(chain)
  return <Icon label={name} className={`tone-${tone}`} />
}

/** The chain's state and its next step. A countdown to the next step is updated every second. */
export function Outlook({ chain }: { chain: ChainRow }) {
  const { ticks } = outlookOf(chain, serverNow())
  const now = useServerNow(ticks)
  const { words, why } = outlookOf(chain, now)
  const off = useSwitchedOff(chain.project)
  const isOff = off !== undefined && chain.state === 'WAITING_RETRY'
  return (
    <>
      <span className="outlook-words">{words}</span>
      {isOff && (
        <span className="outlook-why tone-held" title={why === null ? whoSwitched(off) : `${why}; ${whoSwitched(off)}`}>
          {SWITCHED_OFF}
        </span>
      )}
      {!isOff && why !== null && (
        <span className="outlook-why" title={why}>
          {why}
        </span>
      )}
    </>
  )
}

const MINUTE_MS = 60_000

/** The time of the chain's latest activity. */
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

/** A chain's state and its next step, in few words. @param now milliseconds, by the server's clock */
function outlookOf(chain: ChainRow, now: number): { words: string; why: string | null; ticks: boolean } {
  const { newestAttempt: newest, attempts } = chain
  const kind = newest.timedOut ? TIMED_OUT : chain.cause
  const cause = kind === null ? null : causeInWords(kind, newest.exitCode, limitInWords(newest.batchTimeout))
  const state = chain.state as ShownState
  switch (state) {
    case 'IMPOSSIBLE':
      return { words: 'impossible', why: whyImpossible(newest.pendingReason), ticks: false }
    case 'QUEUED':
      return { words: 'queued', why: newest.pendingReason, ticks: false }
    case 'RUNNING':
      return running(chain, now)
    case 'WAITING_RETRY': {
      const { dueAt } = chain.outlook
      if (dueAt === null) return { words: 'retry is due', why: cause, ticks: false }
      const seconds = (Date.parse(dueAt) - now) / 1000
      return { words: seconds > 0 ? `retry in ${countdown(seconds)}` : 'retry is due', why: cause, ticks: true }
    }
    case 'HELD': {
      const reason = newest.retryDecision?.holdReason
      return { words: 'held', why: (reason && HOLDS[reason]) ?? chain.outlook.reason, ticks: false }
    }
    case 'SUCCEEDED':
      return { words: attempts === 1 ? 'succeeded' : `succeeded on attempt ${attempts}`, why: null, ticks: false }
    case 'FAILED':
      return { words: newest.retryDecision?.phase === 'EXHAUSTED' ? 'exhausted' : 'failed', why: cause, ticks: false }
    case 'CANCELLED':
      return { words: 'cancelled', why: newest.statusReason, ticks: false }
  }
}

/** `retry 1 of 3` for an attempt that is a retry; `up to 3 retries` for the first of its budget; empty without any. */
export function retryWords({ attempt, maxAttempts }: { attempt: number; maxAttempts: number }): string {
  const retries = maxAttempts - 1
  if (attempt > 1) return `retry ${attempt - 1} of ${retries}`
  return retries === 0 ? '' : `up to ${retries} ${retries === 1 ? 'retry' : 'retries'}`
}

/** The reason without its first word, which is shown beside it. */
export function whyImpossible(pendingReason: string | null): string | null {
  return pendingReason?.replace(/^impossible: /, '') ?? null
}

function running({ newestAttempt: newest }: ChainRow, now: number) {
  if (newest.status === 'RUNNING' && newest.startedAt !== null) {
    const seconds = Math.max(0, (now - Date.parse(newest.startedAt)) / 1000)
    return { words: `running for ${shortDuration(Math.floor(seconds))}`, why: newest.progress, ticks: true }
  }
  if (newest.status === 'TERMINATING') return { words: 'ending', why: null, ticks: false }
  const hasEnded = ['TERMINATED', 'ERROR', 'CANCELLED'].includes(newest.status)
  return { words: hasEnded ? 'ended, to be judged' : 'preparing', why: startNote(newest), ticks: false }
}

/** The last attempts as marks, and the retry that is planned. */
export function marksOf({ sessions, state }: ChainRow): StripMark[] {
  const marks = sessions.edges.map(({ node }): StripMark => {
    if (node.result === 'SUCCESS') return 'succeeded'
    if (node.status === 'ERROR' || node.status === 'CANCELLED' || node.result === 'FAILURE') {
      return lookOfCause(kindOf(node)).tone
    }
    if (node.status === 'TERMINATED') return 'unknown'
    return node.status === 'RUNNING' || node.status === 'TERMINATING' ? 'running' : 'queued'
  })
  return state === 'WAITING_RETRY' || state === 'HELD' ? [...marks, 'planned'] : marks
}

const STARTING: ReadonlySet<string> = new Set(['SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING'])

/** The reason why a session does not run yet; null if it runs, has ended, or has none. */
export function startNote({ status, statusReason }: { status: string; statusReason: string | null }): string | null {
  return STARTING.has(status) ? statusReason : null
}
