import type { Client, SessionSummary } from '../../client/node/index.ts'
import type { ClientContext } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { INTERRUPT_REASON, onInterrupt, type OnInterrupt } from '../session/on-interrupt.ts'
import { createJobs, printCreated } from './create-jobs.ts'
import type { PlannedSession } from './expand-jobs.ts'
import { chunks, followJobs } from './follow-jobs.ts'

/** Creates them, and waits until all have ended; succeeds if all do. */
export async function runJobs(
  context: ClientContext,
  planned: readonly PlannedSession[],
  what: OnInterrupt,
): Promise<number> {
  const { client, out, signal } = context
  const after = await client.eventCursor({ signal })
  const stopped = new AbortController()
  const creating = createJobs(context, planned, stopped.signal)
  const interrupt = onInterrupt(what, {
    out,
    stopped,
    advice: '`reprise list` shows it, `reprise cancel` ends it.',
    end: async () => endAll(client, (await creating).sessions),
  })
  try {
    const made = await creating
    printCreated(out, made)
    const { succeeded, failed } = await followJobs(context, { ...made, after, signal: stopped.signal })
    out.note(`${succeeded} succeeded${failed > 0 ? `, ${failed} did not` : ''}`)
    if (interrupt.interrupted) return exitStatus('INTERRUPTED')
    return failed > 0 ? exitStatus('FAILED') : made.status
  } catch (error) {
    if (stopped.signal.aborted) return exitStatus('INTERRUPTED')
    throw error
  } finally {
    interrupt.dispose()
  }
}

/** Also the retries that they wait for. */
async function endAll(client: Client, sessions: readonly SessionSummary[]): Promise<void> {
  const chainIds = sessions.map(({ chainId }) => chainId)
  for (const ids of chunks(chainIds)) {
    await client.terminateSessions({ chainFilter: { ids }, reason: INTERRUPT_REASON })
  }
}
