import type { Client, SessionEvent } from '../../client/node/index.ts'
import { takeAll } from '../session/take.ts'

/** Ids in one question: as many conditions as a filter may have. */
const ASKED = 20

/**
 * Of the sessions whose end these events tell, the ids of those that succeeded: their status is that of any that ended
 * by itself. What goes wrong with asking is no reason to show nothing.
 */
export async function succeededSessions(
  client: Client,
  events: readonly SessionEvent[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const ended = [
    ...new Set(events.flatMap(({ toStatus, sessionId }) => (toStatus === 'TERMINATED' ? [sessionId] : []))),
  ]
  const questions = Array.from({ length: Math.ceil(ended.length / ASKED) }, (_, at) => {
    const OR = ended.slice(at * ASKED, (at + 1) * ASKED).map((idPrefix) => ({ idPrefix }))
    return takeAll(client.sessions({ filter: { result: ['SUCCESS'], OR } }, { signal })).catch(() => [])
  })
  return new Set((await Promise.all(questions)).flat().map(({ sessionId }) => sessionId))
}
