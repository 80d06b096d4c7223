import { setTimeout as sleep } from 'node:timers/promises'
import { hasEnded, type Attempt, type AttemptLog, type Client } from '../../client/node/index.ts'
import { isOver } from '../session/describe-session.ts'

export interface ChainFollower {
  /** `last`: the number of the chain's last attempt, once it has ended; null while there may be others. */
  onAttempt(attempt: Attempt, last: number | null): void
  /** Nothing runs yet, for this reason. Called within a second, and when the reason changes. */
  onWait(reason: string): void
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
  options: {
    sessionId: string
    signal: AbortSignal
    from?: 'session' | 'first'
    kernel?: string | undefined
    /** Of what the first attempt has written, only so many lines of each kernel. */
    tail?: number | undefined
    /** And only what arrived since then. */
    since?: string | undefined
  },
  follower: ChainFollower,
): Promise<Attempt> {
  const { sessionId, signal, from = 'session', kernel } = options
  let { tail, since } = options
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
        follower.onAttempt(attempt, hasEnded(attempts) ? attempts.at(-1)!.attempt : null)
        const begun = new AbortController()
        const waited = followWaits(client, attempt, AbortSignal.any([signal, begun.signal]), follower)
        try {
          for await (const chunk of client.sessionLogs(attempt.sessionId, { signal, tail, since })) {
            begun.abort()
            if (kernel === undefined || chunk.kernel === kernel) follower.onLog(chunk)
          }
        } finally {
          begun.abort()
          await waited
        }
        tail = since = undefined
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

/** Less than a second; of what starts at once nothing is printed. */
const POLL_INTERVAL_MS = 700
const NOT_BEGUN: ReadonlySet<Attempt['status']> = new Set([
  'PENDING',
  'SCHEDULED',
  'PREPARING',
  'PULLING',
  'PREPARED',
  'CREATING',
])

/**
 * Until the attempt runs or the signal aborts. A reason that changes is no event, so it is asked for; what goes wrong
 * with that goes wrong with the logs, too, and is printed there.
 */
async function followWaits(client: Client, { sessionId }: Attempt, signal: AbortSignal, follower: ChainFollower) {
  let shown: string | null = null
  const poll = async (): Promise<boolean> => {
    await sleep(POLL_INTERVAL_MS, undefined, { signal })
    const { status, pendingReason, statusReason } = await client.session(sessionId, { signal })
    const reason = status === 'PENDING' ? pendingReason : statusReason
    if (NOT_BEGUN.has(status) && reason !== null && reason !== shown) follower.onWait((shown = reason))
    return NOT_BEGUN.has(status)
  }
  while (await poll().catch(() => false));
}

function isDecided(attempt: Attempt): boolean {
  return isOver(attempt) && attempt.retryState.phase !== 'UNDECIDED'
}
