import type { FailureError } from '../../domain/session/failure.ts'
import type { KernelSpec, LogStreamName, ObservedKernel } from '../../domain/agent/protocol.ts'

/**
 * The port behind which kernels run. One instance serves one agent.
 *
 * A kernel is known by its id; a call with a greater assignment than the one at hand replaces it (the old
 * one is stopped and removed first), one with a smaller is ignored. Calls return when they have begun; how
 * they go is seen in `observe()`, and `changed` is called after each change of it.
 */
export interface Executor {
  readonly name: string
  /** Finds what earlier instances left running or finished, and begins to watch it. Called once, first. */
  recover(): Promise<void>
  /** Every kernel at hand, in no order. Synchronous and cheap: called for each sync. */
  observe(): ObservedKernel[]
  prepare(spec: KernelSpec, assignment: number): void
  /** Prepares first where that has not happened. */
  start(spec: KernelSpec, assignment: number): void
  /**
   * Asks it to end, and ends it after `graceMs`. Of a kernel that never ran it reports EXITED at once.
   * `error` is why, where nobody but the agent ordered it: it is reported with the end, whatever the exit code, also
   * by the next instance. Of several stops the first says why.
   */
  stop(kernelId: string, assignment: number, graceMs: number, error?: FailureError): void
  /** Stops it if it runs, then removes all that is kept of it. */
  forget(kernelId: string, assignment: number): void
  /**
   * Output from `offset` on, at most `maxBytes`, cut at a character's end unless the stream ends there.
   * `bytes` is 0 where there is nothing new. `end` says that the kernel has ended and this reaches the stream's end.
   */
  readLog(
    kernelId: string,
    stream: LogStreamName,
    offset: number,
    maxBytes: number,
  ): Promise<{ text: string; bytes: number; end: boolean }>
  /** Lets go without stopping any kernel; the next instance finds them. */
  close(): Promise<void>
}

export interface ExecutorHooks {
  /** Something of `observe()` or of a log changed. */
  changed(): void
}
