import { hasEnded, type Attempt, type AttemptLog, type Client } from '../../client/node/index.ts'
import { isOver } from './describe-session.ts'

export interface ChainFollower {
  onAttempt(attempt: Attempt): void
  onLog(chunk: AttemptLog): void
  /** The attempt is over and what becomes of its work is decided; told once. */
  onAttemptEnd(attempt: Attempt): void
}

/**
 * A chain from one of its sessions to the end: what each attempt writes, one attempt after the other, and what became
 * of each. Answers with the last attempt.
 */
export async function followChain(
  client: Client,
  options: { sessionId: string; signal: AbortSignal; from?: 'session' | 'first'; kernel?: string },
  follower: ChainFollower,
): Promise<Attempt> {
  const { sessionId, signal, from = 'session', kernel } = options
  let shown = 0
  let told = 0
  let last: Attempt | undefined
  for await (const attempts of client.watchChain(sessionId, { signal })) {
    if (shown === 0 && from === 'session') {
      told = shown = attempts.find((attempt) => attempt.sessionId === sessionId)!.attempt - 1
    }
    for (const attempt of attempts) {
      if (attempt.attempt > shown) {
        shown = attempt.attempt
        follower.onAttempt(attempt)
        for await (const chunk of client.sessionLogs(attempt.sessionId, { signal })) {
          if (kernel === undefined || chunk.kernel === kernel) follower.onLog(chunk)
        }
      }
      if (attempt.attempt > told && isDecided(attempt)) {
        told = attempt.attempt
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
