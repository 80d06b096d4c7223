import type { LeftCheckpoint } from '../../../domain/agent/checkpoint.ts'
import type { KernelUsage } from '../../../domain/agent/kernel-report.ts'
import type { ExecRequest } from '../../../domain/agent/channel-protocol.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import type { Removals } from '../../removals.ts'
import type { KernelChannel } from '../executor.ts'
import type { ExitVerdict } from './exit-verdict.ts'
import type * as directory from './kernel-directory.ts'
import type { KernelEntry } from './kernel-entry.ts'

/**
 * The kernels of an executor, and those rules of the port that are the same for all executors: idempotence, assignments
 * and successors, phases, stops and their reasons, removal, recovery, observation and logs. An executor consists of the
 * steps below, and of its own watch, which reports to the registry what has happened to a kernel:
 *
 *   prepare → `registry.prepared`, or `registry.fail`
 *   launch  → sets `handedOver` once something may run the command; the watch calls `registry.began` when it runs
 *   the end → `registry.exited`, with `lingers` if something may still run, and then `registry.gone`
 *
 * Each kernel has its own directory. Its file `status` is created exclusively: the creator decides whether the command
 * ever runs. After a crash between any two steps, `recover` finds in the directory where to continue.
 */
export interface KernelSteps<K extends KernelEntry> {
  create(spec: KernelSpec, assignment: number, path: string): K
  /** Creates the directory, and everything else that the command needs. The phase may have changed after each await. */
  prepare(kernel: K): Promise<void>
  /** Whether a prepared kernel has to be prepared again for this specification. If so, `prepare` is called again. */
  isOutdated?(kernel: K, spec: KernelSpec): boolean
  /** Called in LAUNCHING. Until it sets `handedOver`, the registry itself handles a stop. */
  launch(kernel: K): Promise<void>
  /**
   * Ends a kernel that is RUNNING, or LAUNCHING and handed over, at `killAt` at the latest. Called when its stop has
   * been written to the directory. Called again when `killAt` comes nearer, the kernel begins to run, or another
   * instance has taken it over. Calls `registry.asked` once its processes were asked to end, and does not ask again.
   */
  stop(kernel: K): void
  /**
   * Whether nothing can be written now. A stop is then not written, but applied again later. If missing, writing always
   * works.
   */
  isAway?(): boolean
  /**
   * Finds out, in limited time, whether the kernels' directories can be read now: one that hangs blocks this process. If
   * missing, they always can.
   */
  isReadable?(): Promise<boolean>
  /** Whether its end is already known here, though not reported yet. A stop then has no effect. */
  isEnding(kernel: K): boolean
  /** Returns a failure outside the program that its end alone does not show; null if there is none. */
  outsideFault(kernel: K): Promise<FailureError | null>
  /**
   * Returns the chain's checkpoint at the kernel's end, read when no process of the kernel is left; null if there is
   * nothing to report.
   */
  leftCheckpoint(kernel: K): Promise<LeftCheckpoint | null> | null
  /** Sends its checkpoint to the servers, for a limited time. Never rejects. */
  relayCheckpoint(kernel: K): Promise<void>
  /** Whether its processes are suspended from outside. If missing, they never are. */
  isSuspended?(kernel: K): boolean
  /** See Executor. If missing, no command can run in its kernels. */
  exec?(kernel: K, request: ExecRequest): Promise<KernelChannel>
  /** Called when the kernel has become EXITED or FAILED. State that a later instance needs stays until `remove`. */
  settled(kernel: K): void
  /** Removes what the kernel has outside its directory, before the directory is removed. */
  remove?(kernel: K): Promise<void>
  /** Called when the kernel is no longer in the registry. */
  removed(kernel: K): void
  /** Takes over a kernel of an earlier instance, which is already in the registry. */
  recover(kernel: K, record: directory.KernelRecord): Promise<void>
}

export interface KernelRegistry<K extends KernelEntry> {
  readonly kernels: ReadonlyMap<string, K>
  readonly kernelsDir: string
  readonly closed: boolean
  readonly removals: Removals
  /** Called when the preparation is done. Launches the kernel if its start is ordered. */
  prepared(kernel: K): Promise<void>
  /** Called in LAUNCHING when the command runs. A stop that was ordered meanwhile takes effect. */
  began(kernel: K, startedAt: string): void
  /** Called when the kernel could not be prepared or started, and none of its processes runs. */
  fail(kernel: K, name: string, message: string): void
  /** Ends a kernel that was stopped before its command ran. */
  endBeforeRunning(kernel: K, error: FailureError | null): void
  exited(kernel: K, end: KernelEnd): void
  /** Called when nothing of a lingering kernel can run any more. */
  gone(kernel: K): void
  /** Orders a stop. Idempotent: a later order can only shorten the grace period, and does not change the reason. */
  stop(kernel: K, graceMs: number, error?: FailureError | null): void
  /** Called when the kernel exceeds its memory limit, and is about to be killed. */
  exceededMemory(kernel: K, mark: directory.OomMark): void
  /** Applies the ordered stop: writes it to the directory, and calls the executor's `stop`. */
  applyStop(kernel: K): void
  /** Called when its processes were asked to end. Written to the directory for a later instance. */
  asked(kernel: K): void
  /** Reads the stop that an earlier instance has written. @returns whether there is one */
  readStop(kernel: K): boolean
  /** Prepares and starts a kernel of an earlier instance again if its command never ran, or ends it. */
  beginAnew(kernel: K, startWanted: boolean): void
  changed(): void
}

export interface KernelEnd extends ExitVerdict {
  endedAt: string
  usage: KernelUsage | null
  /** Whether it ended because of a stop, and the reason, if the agent itself ordered it. */
  stopOrdered: boolean
  stopError: FailureError | null
  /** See TimedKernel. */
  ranSeconds: number | null
  lingers?: boolean
}
