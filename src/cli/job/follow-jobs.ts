import type { SessionEvent, SessionSummary } from '../../client/node/index.ts'
import type { ClientContext } from '../client-command.ts'
import { CHAIN_EVENTS } from '../event/event-line.ts'
import { progressBar } from '../output/progress-bar.ts'
import { takeAll } from '../session/take.ts'

export interface FollowedJobs {
  succeeded: number
  failed: number
}

interface FollowOptions {
  sessions: readonly SessionSummary[]
  /** Of these, those that may have ended before. */
  known: readonly SessionSummary[]
  /** A cursor of events from before their creation. */
  after: string
  signal: AbortSignal
}

/** Ids in one question. */
const ASKED = 100
const ENDED: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED'])

/** Until all their chains have ended. Those that fail are printed as they do. */
export async function followJobs(
  { client, out }: ClientContext,
  { sessions, known, after, signal }: FollowOptions,
): Promise<FollowedJobs> {
  const open = new Map(sessions.map((session) => [session.chainId, session]))
  const counts = { succeeded: 0, failed: 0 }
  const bar = progressBar('running')
  const total = open.size
  const end = (chainId: string, state: string, why: string) => {
    const session = open.get(chainId)
    if (!session || !open.delete(chainId)) return
    const { name, sessionId } = session
    if (state === 'SUCCEEDED') counts.succeeded++
    else counts.failed++
    if (out.json) out.item({ type: 'ended', name, sessionId, chainId, state }, () => '')
    else if (state !== 'SUCCEEDED') {
      bar.end()
      out.note(`${name} ${sessionId}: ${state.toLowerCase()}${why}`)
    }
  }
  const show = () => bar.update(total - open.size, total, counts.failed > 0 ? `${counts.failed} failed` : '')
  try {
    show()
    for (const ids of chunks(known.map(({ chainId }) => chainId))) {
      const chains = await takeAll(client.chains({ filter: { ids } }, { signal }))
      for (const { chainId, state } of chains) if (ENDED.has(state)) end(chainId, state, '')
    }
    if (open.size === 0) return counts
    for await (const event of client.sessionEvents({ types: CHAIN_EVENTS }, { after, signal })) {
      if (event.type !== 'CHAIN_REOPENED') end(event.chainId, event.type.replace('CHAIN_', ''), whyOf(event))
      show()
      if (open.size === 0) break
    }
    return counts
  } finally {
    bar.end()
  }
}

function whyOf({ chainEnd, reason }: SessionEvent): string {
  const attempts = chainEnd && chainEnd.attempts > 1 ? ` after ${chainEnd.attempts} attempts` : ''
  return attempts + (reason ? `: ${reason}` : '')
}

/** Of as many ids as a filter may have. */
export function chunks<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / ASKED) }, (_, at) => items.slice(at * ASKED, (at + 1) * ASKED))
}
