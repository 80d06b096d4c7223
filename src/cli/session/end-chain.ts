import { setTimeout as sleep } from 'node:timers/promises'
import { InvalidStateError, type Client, type SessionSummary } from '../../client/node/index.ts'
import { isOver } from './describe-session.ts'

/** The chain may change between reading and acting: a session may end, be decided, or be retried. */
const TRIES_MAX = 10
const PAUSE_MS = 200
const WAITING: readonly string[] = ['SCHEDULED', 'HELD']

/**
 * Ends the work for good, whatever is at the end of its chain: a running session or a pending retry.
 * @throws InvalidStateError if the chain has already ended
 */
export async function endChain(
  client: Client,
  sessionId: string,
  options: { force?: boolean; reason?: string } = {},
): Promise<{ ended: 'session' | 'retry'; session: SessionSummary }> {
  for (let tries = 1; ; tries++) {
    const last = (await client.chain(sessionId)).at(-1)!
    try {
      if (isOver(last) && WAITING.includes(last.retryState.phase)) {
        return { ended: 'retry', session: await client.cancelRetry(last.sessionId) }
      }
      return { ended: 'session', session: await client.terminateSession(last.sessionId, options) }
    } catch (error) {
      const settled = isOver(last) && !WAITING.includes(last.retryState.phase) && last.retryState.phase !== 'UNDECIDED'
      if (!(error instanceof InvalidStateError) || settled || tries === TRIES_MAX) throw error
      await sleep(PAUSE_MS)
    }
  }
}
