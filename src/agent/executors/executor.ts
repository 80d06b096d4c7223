import type { Readable, Writable } from 'node:stream'
import type { ChannelSignal, ExecRequest } from '../../domain/agent/channel-protocol.ts'
import type {
  ChainSize,
  CheckpointAnswer,
  CheckpointCopy,
  CheckpointRequest,
  CheckpointWish,
  CodeAnswer,
  CodeRequest,
  KernelSpec,
  LogStreamName,
  ObservedKernel,
} from '../../domain/agent/protocol.ts'
import type { FailureError } from '../../domain/session/failure.ts'

/**
 * The port behind which kernels run. One instance serves one agent.
 *
 * A kernel is identified by its id. A call with a higher assignment than the current one replaces the kernel (the old
 * one is stopped and removed first); a call with a lower one is ignored. Calls return before their work is done; its
 * progress shows in `observe()`, and `changed` is called after each change there.
 */
export interface Executor {
  readonly name: string
  /**
   * Finds the running and ended kernels of earlier instances and starts watching them. Called once, before all else.
   */
  recover(): Promise<void>
  /** All kernels, in no particular order. Synchronous and cheap: called for each sync. */
  observe(): ObservedKernel[]
  prepare(spec: KernelSpec, assignment: number): void
  /** Prepares the kernel first if necessary. */
  start(spec: KernelSpec, assignment: number): void
  /**
   * Asks the kernel to end, and kills it after `graceMs`. A kernel that never ran becomes EXITED at once.
   * `error` is the reason if the agent itself ordered the stop: it is reported with the end whatever the exit code,
   * also by the next instance. If there are several stops, the reason of the first counts.
   */
  stop(kernelId: string, assignment: number, graceMs: number, error?: FailureError): void
  /** Stops the kernel if it runs, then removes everything stored for it. */
  forget(kernelId: string, assignment: number): void
  /**
   * Reads output from `offset` on, at most `maxBytes`, cut at a character boundary unless the stream ends there.
   * `bytes` is 0 if there is nothing new. `end` is true if the kernel has ended and this read reaches the stream's end.
   */
  readLog(
    kernelId: string,
    stream: LogStreamName,
    offset: number,
    maxBytes: number,
  ): Promise<{ text: string; bytes: number; end: boolean }>
  /** What has been written so far; `final` once the kernel has ended and nothing can follow. Synchronous and cheap. */
  logSizes(kernelId: string): Record<LogStreamName, number> & { final: boolean }
  /**
   * The fence has been renewed for this long. Missing: it has no use for it.
   *
   * @param heedsGone see RegisterAnswer
   */
  renewed?(leftMs: number, heedsGone?: boolean): void
  /**
   * Runs a command beside the kernel's own, with the same rights, limits, directories and environment, and no others.
   * It ends with the kernel.
   *
   * @throws RepriseError SESSION_NOT_RUNNING, CHANNEL_NOT_OPENED, CHANNEL_UNSUPPORTED
   */
  exec?(kernelId: string, assignment: number, request: ExecRequest): Promise<KernelChannel>
  /**
   * Connects to a port on which a program of this very kernel listens.
   *
   * @throws RepriseError SESSION_NOT_RUNNING, PORT_NOT_SERVED
   */
  connect?(kernelId: string, assignment: number, port: number): Promise<KernelChannel>
  /** Missing: it keeps nothing for chains. */
  readonly chains?: ChainDirectories
  /** The agent's disk was full, and is not any more. Missing: the executor takes its kernels' output from elsewhere. */
  spaceIsBack?(): void
  /** Stops watching but leaves the kernels running; the next instance recovers them. */
  close(): Promise<void>
}

/** A command, or a connection, in a kernel. */
export interface KernelChannel {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Null of a terminal and of a connection. */
  readonly stderr: Readable | null
  /** When it has ended; its output may still be on the way. Never rejects. */
  readonly ended: Promise<{ exitCode: number | null; message?: string }>
  /** Of a terminal. */
  resize?(columns: number, rows: number): void
  /** Of a command. */
  signal?(signal: ChannelSignal): void
  /** Nobody is there any more. Resolves when it has ended; what does not end by itself is killed. */
  hangUp(): Promise<void>
}

/** What attempts of a chain have stored for each other. */
export interface ChainDirectories {
  /** Identifies the place where they are, whatever its path. */
  readonly store: string
  /** The chains that have a directory, in the order of their ids, with the oldest generation of theirs. */
  list(): Promise<StoredChain[]>
  /**
   * Removes a chain's directories, or those of the generations before one, unless a kernel here needs them. What takes
   * time is done later.
   *
   * @returns whether there was one, and it is out of the way
   */
  drop(chainId: string, before?: number): boolean
  /** Whether there are directories that were too large to be counted when their kernels ended. */
  readonly isUncounted: boolean
  /** What these directories take, and, of `all`, those that grow, too. With low priority: may take minutes. */
  measure(all: boolean): Promise<ChainSize[]>
}

export interface StoredChain {
  chainId: string
  oldest: number
}

/** What an executor has found that it offers; see RegisterRequest. */
export interface ExecutorOffer {
  slots: Record<string, string>
  slotsPerKernelMax: Record<string, string>
}

export interface ExecutorHooks {
  /** Why no new kernel may begin now, for people; null if it may. Missing: always. */
  refusal?(): string | null
  /** Whether the agent's disk is full: what kernels write is lost. Missing: it is not. */
  diskIsFull?(): boolean
  /** The result of `observe()` or a log has changed. */
  changed(): void
  /** It offers something else than before; missing: nobody wants to know. */
  offers?(offer: ExecutorOffer): void
  /** What the agent's labels are to say of it now, beside the operator's; missing: nobody wants to know. */
  labelled?(labels: Record<string, string>): void
  /**
   * From the server; missing where there is none, and then no kernel has code.
   *
   * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND; anything else may pass
   */
  fetchCode?(kernel: Omit<CodeRequest, 'agentId'>, signal: AbortSignal): Promise<CodeAnswer>
  /** Missing where there is no server: checkpoints stay where they are. */
  relay?: CheckpointRelay
}

/** The way of checkpoints through the servers; see Gateway. */
export interface CheckpointRelay {
  offer(request: Omit<CheckpointRequest, 'agentId'>, signal: AbortSignal): Promise<CheckpointWish>
  send(
    request: Omit<CheckpointRequest, 'agentId'> & { copy: CheckpointCopy },
    chunks: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<{ recorded: boolean }>
  fetch(kernel: Omit<CodeRequest, 'agentId'>, signal: AbortSignal): Promise<CheckpointAnswer>
}

/** Exit codes of processes that a signal ended, as a shell reports them. */
export const SIGKILLED = 137
export const SIGTERMED = 143

/**
 * Reported for kernels that their agent stopped because its fence expired. Part of a shell script: no quotation marks.
 */
export const FENCED: FailureError = {
  name: 'agent-fenced',
  message: 'fenced: its agent stopped it because no server had answered for too long',
}

/** Whether the kernel has ended or will never run. */
export function isOver({ status }: Pick<ObservedKernel, 'status'>): boolean {
  return status === 'EXITED' || status === 'FAILED'
}

/** What an executor is to use cannot be used from here. The message is for people. */
export class ExecutorSetupError extends Error {}
