import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * OpenTelemetry traces, independent of its SDK. A request has a span; the sessions that it creates store the span's
 * context (`sessions.trace_parent`) and pass it on to their children. Later work of the background services for these
 * sessions joins that trace. Without configuration no spans are created and nothing is stored.
 */
export interface Tracer {
  /**
   * @param parent value of the request's header `traceparent`
   * @returns null if the request is not traced
   */
  beginRequest(name: string, parent: string | undefined, attributes: Attributes): Span | null
  /**
   * Records a completed batch: one span that links to the traces of its sessions, and one span in each of those traces
   * that links back. Sessions without a trace are left out; if no session has one, nothing is recorded.
   */
  recordBatch(name: string, begunAt: Date, sessions: readonly TracedSession[]): void
  /** Sends the remaining spans. Resolves within a bounded time even if no collector accepts them. */
  stop(): Promise<void>
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>

export interface Span {
  /** In the format of W3C Trace Context: `00-<trace>-<span>-<flags>`. */
  readonly traceParent: string
  note(attributes: Attributes): void
  /** Links to the traces of the sessions that the span is about. */
  link(sessions: readonly TracedSession[]): void
  end(options: { failed: boolean }): void
}

/** A session that was processed. */
export interface TracedSession {
  sessionId: string
  chainId: string
  attempt: number
  /** Null if it was created outside of any trace. */
  traceParent: string | null
  /** The outcome for this session. */
  attributes?: Attributes
}

export const NO_TRACER: Tracer = {
  beginRequest: () => null,
  recordBatch() {},
  stop: async () => {},
}

const active = new AsyncLocalStorage<Span>()

/** Runs `work` with the span as its `currentSpan`. */
export function inSpan<T>(span: Span | null, work: () => T): T {
  return span ? active.run(span, work) : work()
}

/** The span of the request being served; undefined if it is not traced. */
export function currentSpan(): Span | undefined {
  return active.getStore()
}
