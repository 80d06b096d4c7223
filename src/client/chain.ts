import type { CallOptions, Connection } from './connection.ts'
import {
  ChainDocument,
  ChainsDocument,
  type AttemptFragment,
  type ChainFilter,
  type ChainOrder,
  type FailureCause,
} from './operations.generated.ts'
import { eventOperations } from './events.ts'
import { allPages } from './pages.ts'
import { gone } from './sessions.ts'
import { createAlarm } from './streams/alarm.ts'
import { closeable } from './streams/closeable.ts'

/** All attempts, oldest first. */
export type Chain = AttemptFragment[]

export interface ChainOutcome {
  /** CANCELLED where a person ended it. */
  outcome: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  attempts: Chain
  last: AttemptFragment
  /** Of the last attempt. */
  exitCode: number | null
  failureCause: FailureCause | null
}

export interface WaitOptions extends CallOptions {
  /** Whenever the chain has changed, beginning with how it is at first. */
  onChain?: (chain: Chain) => void
}

/** Events tell at once; polling finds what they do not tell, and what they cannot while they are away. */
const POLL_MIN_SECONDS = 0.25
const POLL_MAX_SECONDS = 5

export function chainOperations(connection: Connection) {
  async function chain(sessionId: string, options?: CallOptions): Promise<Chain> {
    const { session } = await connection.request(ChainDocument, { id: sessionId }, options)
    return session?.retryChain ?? gone(sessionId)
  }

  function watchChain(sessionId: string, options: CallOptions = {}): AsyncIterableIterator<Chain> {
    return closeable([connection.closed, options.signal], (signal) => watch(sessionId, { ...options, signal }))
  }

  async function* watch(
    sessionId: string,
    options: CallOptions & { signal: AbortSignal },
  ): AsyncGenerator<Chain, void, void> {
    const { signal } = options
    const { sessionEvents, eventCursor } = eventOperations(connection)
    // Before the chain is read: what changes later is told.
    const after = await eventCursor(options)
    let known = await chain(sessionId, options)
    yield known
    if (hasEnded(known)) return
    const alarm = createAlarm()
    const events = sessionEvents({ chainId: known[0]!.chainId }, { ...options, after })
    const listening = ringForEach(events, alarm.ring)
    try {
      for (let seconds = POLL_MIN_SECONDS; ; seconds = Math.min(seconds * 2, POLL_MAX_SECONDS)) {
        if (await alarm.wait(seconds, signal)) seconds = POLL_MIN_SECONDS
        const now = await chain(sessionId, options)
        if (JSON.stringify(now) === JSON.stringify(known)) continue
        known = now
        seconds = POLL_MIN_SECONDS
        yield known
        if (hasEnded(known)) return
      }
    } finally {
      await events.return?.()
      await listening
    }
  }

  return {
    /** All attempts of the chain that a session belongs to. @throws NotFoundError */
    chain,

    /** One line a chain, those with the newest activity first unless ordered otherwise. */
    chains({ filter, orderBy }: { filter?: ChainFilter; orderBy?: ChainOrder } = {}, options?: CallOptions) {
      return allPages(
        async (page) => (await connection.request(ChainsDocument, { filter, orderBy, ...page }, options)).chains,
      )
    },

    /** The chain as it is, and again whenever it has changed, until it has ended. @throws NotFoundError */
    watchChain,

    /**
     * Follows a chain to its end: nothing of it runs, and nothing is going to unless somebody submits it again.
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

/** Nothing runs and nothing is going to. */
export function hasEnded(chain: readonly { status: string; retryState: { phase: string } }[]): boolean {
  const last = chain.at(-1)!
  return OVER.includes(last.status) && !OPEN_PHASES.includes(last.retryState.phase)
}

function outcomeOf({ result, failureCause }: AttemptFragment): ChainOutcome['outcome'] {
  if (result === 'SUCCESS') return 'SUCCEEDED'
  return result === 'UNDEFINED' || failureCause === 'USER_CANCELLED' ? 'CANCELLED' : 'FAILED'
}

/** Polling is the backstop, so whatever ends the events is left to it. */
async function ringForEach(events: AsyncIterable<unknown>, ring: () => void): Promise<void> {
  try {
    for await (const _event of events) ring()
  } catch {
    ring()
  }
}
