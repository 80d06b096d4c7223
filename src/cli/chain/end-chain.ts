import { InvalidStateError, type Client, type SessionSummary } from '../../client/node/index.ts'

/** A chain may go on between being read and being ended, at most this often before somebody is told. */
const TRIES_MAX = 10

/**
 * Ends the work for good, whatever is at the end of its chain: a running session or a pending retry.
 * @throws InvalidStateError if the chain has already ended
 */
export async function endChain(
  client: Client,
  sessionId: string,
  options: { force?: boolean; reason?: string } = {},
): Promise<{ ended: 'session' | 'retry'; session: SessionSummary }> {
  let last = await lastOf(client, sessionId)
  for (let tries = 1; ; tries++) {
    try {
      const session = await client.terminateSession(last, options)
      return { ended: session.retryState.phase === 'CANCELLED' ? 'retry' : 'session', session }
    } catch (error) {
      if (!(error instanceof InvalidStateError) || tries === TRIES_MAX) throw error
      const newer = await lastOf(client, sessionId)
      if (newer === last) throw error
      last = newer
    }
  }
}

async function lastOf(client: Client, sessionId: string): Promise<string> {
  return (await client.chain(sessionId)).at(-1)!.sessionId
}
