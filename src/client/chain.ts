import type { CallOptions, Connection } from './connection/connection.ts'
import {
  type AttemptFragment,
  ChainCountsDocument,
  ChainDocument,
  ChainsDocument,
  ChainTimelineDocument,
} from './operations.generated.ts'
import type { ChainFilter, ChainOrder, FailureCause } from './schema-types.generated.ts'
import { eventOperations } from './event.ts'
import { allPages } from './answers.ts'
import { gone } from './session.ts'
import { closeable } from './streams/closeable.ts'
import { watchChanges } from './streams/watch-changes.ts'

/** All attempts of a chain, oldest first. */
export type Chain = AttemptFragment[]

export interface ChainOutcome {
  /** CANCELLED if a person terminated it. */
  outcome: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  attempts: Chain
  last: AttemptFragment
  /** The exit code of the last attempt. */
  exitCode: number | null
  failureCause: FailureCause | null
}

export interface WaitOptions extends CallOptions {
  /** Called whenever the chain has changed, starting with its initial state. */
  onChain?: (chain: Chain) => void
}

export function chainOperations(connection: Connection) {
  async function chain(sessionId: string, options?: CallOptions): Promise<Chain> {
    const { session } = await connection.request(ChainDocument, { id: sessionId }, options)
    return session?.retryChain ?? gone(sessionId)
  }

  function watchChain(sessionId: string, options: CallOptions = {}): AsyncIterableIterator<Chain> {
    return closeable([connection.closed, options.signal], (signal) => watch(sessionId, { ...options, signal }))
  }

  function watch(sessionId: string, options: CallOptions & { signal: AbortSignal }) {
    const { sessionEvents, eventCursor } = eventOperations(connection)
    return watchChanges<Chain>({
      cursor: () => eventCursor(options),
      read: () => chain(sessionId, options),
      events: (after, known) => sessionEvents({ chainId: known[0]!.chainId }, { ...options, after }),
      isLast: hasEnded,
      signal: options.signal,
    })
  }

  return {
    /** Returns all attempts of the chain that a session belongs to. @throws NotFoundError */
    chain,

    /** Lists chain summaries; by default those with the latest activity come first. */
    chains({ filter, orderBy }: { filter?: ChainFilter; orderBy?: ChainOrder } = {}, options?: CallOptions) {
      return allPages(
        async (page) => (await connection.request(ChainsDocument, { filter, orderBy, ...page }, options)).chains,
      )
    },

    /** Counts the chains that match the filter, by state. The filter's own `state` is ignored. */
    async chainCounts({ filter }: { filter?: ChainFilter } = {}, options?: CallOptions) {
      return (await connection.request(ChainCountsDocument, { filter }, options)).chains.counts
    },

    /** Yields the segments of a chain's time, oldest first: queues, runs, backoff, holds. @throws NotFoundError */
    chainTimeline(sessionId: string, options?: CallOptions) {
      return allPages(async (page) => {
        const { chain: found } = await connection.request(ChainTimelineDocument, { sessionId, ...page }, options)
        return found?.timeline ?? gone(sessionId)
      })
    },

    /** Yields the chain's present state, and again after every change, until it has ended. @throws NotFoundError */
    watchChain,

    /**
     * Follows a chain to its end. It has ended when no attempt runs and no retry follows; only a person can resubmit it
     * then.
     * @throws NotFoundError, the signal's reason
     */
    async waitForChain(sessionId: string, options: WaitOptions = {}): Promise<ChainOutcome> {
      let attempts: Chain = []
      for await (attempts of watchChain(sessionId, options)) options.onChain?.(attempts)
      const last = attempts.at(-1)!
      return { outcome: outcomeOf(last), attempts, last, exitCode: last.exitCode, failureCause: last.failureCause }
    },
  }
}

const OVER: readonly string[] = ['TERMINATED', 'ERROR', 'CANCELLED']
const OPEN_PHASES: readonly string[] = ['UNDECIDED', 'SCHEDULED', 'HELD', 'DISPATCHED']

/** Whether the chain has ended: no attempt runs, and no retry follows. */
export function hasEnded(chain: readonly { status: string; retryState: { phase: string } }[]): boolean {
  const last = chain.at(-1)!
  return OVER.includes(last.status) && !OPEN_PHASES.includes(last.retryState.phase)
}

function outcomeOf({ result, failureCause }: AttemptFragment): ChainOutcome['outcome'] {
  if (result === 'SUCCESS') return 'SUCCEEDED'
  return result === 'UNDEFINED' || failureCause === 'USER_CANCELLED' ? 'CANCELLED' : 'FAILED'
}
