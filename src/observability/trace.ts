import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Traces of OpenTelemetry, for those who know nothing of its SDK. A request has a span; the sessions that it creates
 * keep where it stands (`sessions.trace_parent`), and hand it on to their children. What the background services do
 * for such sessions later joins that trace. Where nothing is configured no span is begun and nothing is kept.
 */
export interface Tracer {
  /** Null where it is not traced. `parent`: of whom the request came, as the header `traceparent` has it. */
  beginRequest(name: string, parent: string | undefined, attributes: Attributes): Span | null
  /**
   * A batch that is done: one span that links to the traces of its sessions, and one in each of those traces that
   * links to it. Sessions without a trace are left out; none of them, no span.
   */
  recordBatch(name: string, begunAt: Date, sessions: readonly TracedSession[]): void
  /** Sends what is left. Resolves in time even if nobody accepts it. */
  stop(): Promise<void>
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>

export interface Span {
  /** As W3C's Trace Context has it: `00-<trace>-<span>-<flags>`. */
  readonly traceParent: string
  note(attributes: Attributes): void
  /** To the traces of sessions that it is about. */
  link(sessions: readonly TracedSession[]): void
  end(options: { failed: boolean }): void
}

/** A session that something was done for, by its ids. */
export interface TracedSession {
  sessionId: string
  chainId: string
  attempt: number
  /** Null where it was created outside of any trace. */
  traceParent: string | null
  /** What became of it. */
  attributes?: Attributes
}

export const NO_TRACER: Tracer = {
  beginRequest: () => null,
  recordBatch() {},
  stop: async () => {},
}

const active = new AsyncLocalStorage<Span>()

/** Everything that `work` does, however deep, has the span as its `currentSpan`. */
export function inSpan<T>(span: Span | null, work: () => T): T {
  return span ? active.run(span, work) : work()
}

/** Of the request that is being served; none where it is not traced. */
export function currentSpan(): Span | undefined {
  return active.getStore()
}
