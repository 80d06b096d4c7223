import { hasEnded, type Attempt, type AttemptLog, type Client } from '../../client/node/index.ts'
import { isOver } from '../session/describe-session.ts'

export interface ChainFollower {
  onAttempt(attempt: Attempt): void
  onLog(chunk: AttemptLog): void
  /** The attempt has ended and its outcome is decided. Called once per attempt. */
  onAttemptEnd(attempt: Attempt): void
}

/**
 * Follows a chain from one of its sessions to its end: the output of each attempt in turn, and its outcome. Returns the
 * last attempt.
 */
export async function followChain(
  client: Client,
  options: { sessionId: string; signal: AbortSignal; from?: 'session' | 'first'; kernel?: string },
  follower: ChainFollower,
): Promise<Attempt> {
  const { sessionId, signal, from = 'session', kernel } = options
  let shown = 0
  let ended = 0
  let last: Attempt | undefined
  for await (const attempts of client.watchChain(sessionId, { signal })) {
    if (shown === 0 && from === 'session') {
      ended = shown = attempts.find((attempt) => attempt.sessionId === sessionId)!.attempt - 1
    }
    for (const attempt of attempts) {
      if (attempt.attempt > shown) {
        shown = attempt.attempt
        follower.onAttempt(attempt)
        for await (const chunk of client.sessionLogs(attempt.sessionId, { signal })) {
          if (kernel === undefined || chunk.kernel === kernel) follower.onLog(chunk)
        }
      }
      if (attempt.attempt > ended && isDecided(attempt)) {
        ended = attempt.attempt
        follower.onAttemptEnd(attempt)
      }
    }
    last = attempts.at(-1)
    if (hasEnded(attempts)) break
  }
  return last!
}

function isDecided(attempt: Attempt): boolean {
  return isOver(attempt) && attempt.retryState.phase !== 'UNDECIDED'
}
