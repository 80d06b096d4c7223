import type { Attempt } from '../../client/node/index.ts'
import { logWriter } from '../output/log-writer.ts'
import type { Output } from '../output/output.ts'
import { instant, relative } from '../output/time.ts'
import type { ChainFollower } from '../chain/follow-chain.ts'
import { outcomeOf, whyRetried } from './describe-session.ts'

/** Columns of a line between attempts. */
const WIDTH = 80

/** Writes logs to their own streams; between attempts, announces on standard error the next one and its reason. */
export function attemptNotes(out: Output): ChainFollower {
  let kernels = 1
  const logs = logWriter(out, () => kernels)
  return {
    onAttempt(attempt, last) {
      kernels = attempt.kernels.length
      const { sessionId } = attempt
      if (out.json) return out.item({ type: 'attempt', ...attempt }, () => '')
      const head = `── ${placeOf(attempt, last)} · session ${sessionId} `
      out.note(out.notes.style('bold', head.padEnd(Math.min(out.notes.columns ?? WIDTH, WIDTH), '─')))
    },
    onWait(reason) {
      if (out.json) return out.item({ type: 'waiting', reason }, () => '')
      out.note(out.notes.style('dim', `   waiting: ${reason}`))
    },
    onLog: logs.write,
    onAttemptEnd(attempt) {
      logs.flush()
      if (out.json) return out.item({ type: 'attempt_ended', ...attempt }, () => '')
      out.note(out.notes.style(attempt.result === 'SUCCESS' ? 'green' : 'yellow', endOf(attempt)))
    },
  }
}

/** `attempt 2 of 3` of a chain that has ended, `attempt 2 of at most 4` of one that may go on. */
function placeOf({ attempt, retryState: { maxAttempts, label } }: Attempt, last: number | null): string {
  if (last !== null) return `attempt ${attempt} of ${last}`
  return attempt < maxAttempts ? label.replace(' of ', ' of at most ') : label
}

function endOf(attempt: Attempt): string {
  const { phase, scheduledAt } = attempt.retryState
  const head = `── attempt ${attempt.attempt} ${attempt.result === 'SUCCESS' ? 'succeeded' : `ended: ${outcomeOf(attempt)}`}`
  const why = whyRetried(attempt)
  if (attempt.result === 'SUCCESS' || why === null) return head
  if (phase === 'SCHEDULED' && scheduledAt) {
    return `${head}\n   ${why}\n   next attempt ${relative(scheduledAt)}, at ${instant(scheduledAt)}`
  }
  return `${head}\n   ${phase === 'HELD' ? 'held: ' : ''}${why}`
}
