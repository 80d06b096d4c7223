import type { StripMark } from '../../charts/attempt-strip.tsx'
import { causeInWords, lookOfCause } from '../../design/causes.ts'
import { startNote } from './start-note.ts'
import { HOLDS } from '../../design/holds.ts'
import { countdown, shortDuration } from '../../words/duration.ts'
import type { UiChainRowFragment as ChainRow } from './chain-row.generated.ts'

/** What a chain is at, and what comes next, in few words. @param now milliseconds, by the server's clock */
export function outlookOf(chain: ChainRow, now: number): { words: string; why: string | null; ticks: boolean } {
  const { state, newestAttempt: newest, attempts } = chain
  const cause = chain.cause === null ? null : causeInWords(chain.cause, newest.exitCode)
  switch (state) {
    case 'LIVE':
      return live(chain, now)
    case 'WAITING_RETRY': {
      const { at } = chain.outlook
      if (at === null) return { words: 'retry is due', why: cause, ticks: false }
      const seconds = (Date.parse(at) - now) / 1000
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

function live({ newestAttempt: newest }: ChainRow, now: number) {
  if (newest.status === 'PENDING') return { words: 'queued', why: newest.pendingReason, ticks: false }
  if (newest.status === 'RUNNING' && newest.startedAt !== null) {
    const seconds = Math.max(0, (now - Date.parse(newest.startedAt)) / 1000)
    return { words: `running for ${shortDuration(Math.floor(seconds))}`, why: null, ticks: true }
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
      return lookOfCause(node.failureCause).tone
    }
    if (node.status === 'TERMINATED') return 'unknown'
    return node.status === 'RUNNING' || node.status === 'TERMINATING' ? 'running' : 'queued'
  })
  return state === 'WAITING_RETRY' || state === 'HELD' ? [...marks, 'planned'] : marks
}
