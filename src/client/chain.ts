import type { CallOptions, Connection } from './connection/connection.ts'
import {
  type AttemptFragment,
  ChainCountsDocument,
  ChainDocument,
  ChainEndsDocument,
  type ChainEndsQuery,
  ChainsDocument,
  ChainTimelineDocument,
  SessionDocument,
  type SessionSummaryFragment,
} from './operations.generated.ts'
import type { ChainFilter, ChainOrder, FailureCause, SessionEventType } from './schema-types.generated.ts'
import { eventOperations, type SessionEvent } from './event.ts'
import { allPages, PAGE_MAX } from './answers.ts'
import { gone, isOver } from './session.ts'
import { closeable } from './streams/closeable.ts'
import { watchChanges, watchEnds } from './streams/watch-changes.ts'

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

type ChainOutcomeState = ChainOutcome['outcome']

/** A chain that has ended: nothing of it runs, and nothing will run unless a person resubmits it. */
export interface EndedChain {
  chainId: string
  name: string
  /** CANCELLED if a person ended it before it had a result. */
  state: ChainOutcomeState
  /** Number of its attempts. */
  attempts: number
  /** Explains why no retry followed; null if there is no explanation. */
  reason: string | null
  /** Total running time of its attempts; null if it was resubmitted before this was read. */
  runningSeconds: number | null
  endedAt: string | null
  /** Its last attempt. */
  last: SessionSummaryFragment
}

export interface ChainEndsOptions extends CallOptions {
  /**
   * Cursor of the event stream from before the chains could end. A chain that ends after it counts as ended even if it
   * is resubmitted at once. The default is now.
   */
  after?: string | undefined
  /** Called once those that have already ended were returned, with the number of the others. */
  onOpen?: (open: number) => void
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

  async function* ends(
    chainIds: readonly string[],
    { after, onOpen, ...options }: ChainEndsOptions & { signal: AbortSignal },
  ): AsyncGenerator<EndedChain, void, void> {
    const { sessionEvents, eventCursor } = eventOperations(connection)
    const cursor = after ?? (await eventCursor(options))
    const open = new Set(chainIds)
    const nodes = await readEnds([...open])
    const begun = nodes.flatMap((node) => endedChain(node) ?? []).toSorted(byTimeOfEnd)
    for (const ended of begun) {
      open.delete(ended.chainId)
      yield ended
    }
    if (open.size === 0) return
    onOpen?.(open.size)
    const types = nodes.some(({ newestAttempt }) => newestAttempt.sessionType !== 'BATCH') ? ANY_ENDS : CHAIN_ENDS
    const filter = { types, ...(open.size <= EVENT_CHAINS_MAX && { chainIds: [...open] }) }
    yield* watchEnds<SessionEvent, EndedChain>({
      open,
      read: async (ids) => {
        const ended = (await readEnds(ids)).flatMap((node) => endedChain(node) ?? [])
        return new Map(ended.map((each) => [each.chainId, each]))
      },
      events: sessionEvents(filter, { ...options, after: cursor }),
      keyOf: ({ chainId }) => chainId,
      endOf: async (event, found) => {
        const state = event.type.replace('CHAIN_', '')
        // Sessions that are not BATCH have no events of chains, and are never resubmitted.
        if (!isOutcome(state) || found?.last.sessionId === event.sessionId) return found
        const { session } = await connection.request(SessionDocument, { id: event.sessionId }, options)
        if (!session) return gone(event.sessionId)
        const { chainId, reason, chainEnd, occurredAt: endedAt } = event
        const attempts = chainEnd?.attempts ?? session.attempt
        return { chainId, name: session.name, state, attempts, reason, runningSeconds: null, endedAt, last: session }
      },
      requestsPerPoll: Math.ceil(open.size / PAGE_MAX),
      signal: options.signal,
    })

    async function readEnds(ids: readonly string[]): Promise<ChainEnd[]> {
      const read: ChainEnd[] = []
      for (let at = 0; at < ids.length; at += PAGE_MAX) {
        const page = { ids: ids.slice(at, at + PAGE_MAX), first: PAGE_MAX }
        const { chains } = await connection.request(ChainEndsDocument, page, options)
        read.push(...chains.edges.map(({ node }) => node))
      }
      const known = new Set(read.map(({ chainId }) => chainId))
      for (const id of ids) if (!known.has(id)) gone(id)
      return read
    }
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
     * Yields each of these chains once, as it ends; those that have already ended come first, in the order of their
     * ends. @throws NotFoundError, the signal's reason
     */
    chainEnds(chainIds: readonly string[], options: ChainEndsOptions = {}): AsyncIterableIterator<EndedChain> {
      return closeable([connection.closed, options.signal], (signal) => ends(chainIds, { ...options, signal }))
    },

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

type ChainEnd = ChainEndsQuery['chains']['edges'][number]['node']

const OUTCOMES: readonly string[] = ['SUCCEEDED', 'FAILED', 'CANCELLED'] satisfies ChainOutcomeState[]
const CHAIN_ENDS: SessionEventType[] = ['CHAIN_SUCCEEDED', 'CHAIN_FAILED', 'CHAIN_CANCELLED']
const ANY_ENDS: SessionEventType[] = [...CHAIN_ENDS, 'TERMINATED', 'ERROR', 'CANCELLED']
/** Largest number of chains in one filter of events. */
const EVENT_CHAINS_MAX = 200

function isOutcome(state: string): state is ChainOutcomeState {
  return OUTCOMES.includes(state)
}

function endedChain(chain: ChainEnd): EndedChain | null {
  const { chainId, name, state, attempts, outlook, runningSeconds, newestAttempt: last, endedAt } = chain
  if (!isOutcome(state)) return null
  return { chainId, name, state, attempts, reason: outlook.reason, runningSeconds, last, endedAt }
}

function byTimeOfEnd(left: EndedChain, right: EndedChain): number {
  return (left.endedAt ?? '').localeCompare(right.endedAt ?? '')
}

const OPEN_PHASES: readonly string[] = ['UNDECIDED', 'SCHEDULED', 'HELD', 'DISPATCHED']

/** Whether the chain has ended: no attempt runs, and no retry follows. */
export function hasEnded(chain: readonly { status: string; retryState: { phase: string } }[]): boolean {
  const last = chain.at(-1)!
  return isOver(last) && !OPEN_PHASES.includes(last.retryState.phase)
}

function outcomeOf({ result, failureCause }: AttemptFragment): ChainOutcome['outcome'] {
  if (result === 'SUCCESS') return 'SUCCEEDED'
  return result === 'UNDEFINED' || failureCause === 'USER_CANCELLED' ? 'CANCELLED' : 'FAILED'
}
