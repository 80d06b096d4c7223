import type { Readable, Writable } from 'node:stream'
import type { ChannelSignal, ExecRequest } from '../../domain/agent/channel-protocol.ts'
import type {
  BlobAnswer,
  BlobPartRequest,
  BlobRequest,
  BlobsRequest,
  BlobState,
  ChainSize,
  CheckpointRequest,
  CheckpointWish,
  CodeRequest,
  GpuTake,
  InputsAnswer,
  InputsRequest,
  KernelSpec,
  LogStreamName,
  ObservedKernel,
  OutputsAnswer,
  OutputsReport,
} from '../../domain/agent/protocol.ts'
import type { ObservedGpu } from '../../domain/gpu.ts'
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
  /** Returns all kernels, in no particular order. Synchronous and cheap: called for each sync. */
  observe(): ObservedKernel[]
  prepare(spec: KernelSpec, assignment: number): void
  /** Starts the kernel, and prepares it first if necessary. */
  start(spec: KernelSpec, assignment: number): void
  /**
   * Asks the kernel to end, and kills it after `graceMs`. A kernel that never ran becomes EXITED at once. `error` is
   * the reason if the agent itself ordered the stop: it is reported with the kernel's end regardless of the exit code,
   * also by the next instance of the agent. If there are several stops, the reason of the first counts.
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
  /**
   * Returns what has been written so far. `final` is true once the kernel has ended and nothing can follow. Synchronous
   * and cheap.
   */
  logSizes(kernelId: string): Record<LogStreamName, number> & { final: boolean }
  /**
   * Called when the fence has been renewed for this long. If missing, the executor does not need it.
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
   * Connects to a port on which a program of this kernel listens.
   *
   * @throws RepriseError SESSION_NOT_RUNNING, PORT_NOT_SERVED
   */
  connect?(kernelId: string, assignment: number, port: number): Promise<KernelChannel>
  /** If missing, the executor keeps nothing for chains. */
  readonly chains?: ChainDirectories
  /**
   * Called when the agent's disk is no longer full. If missing, the output of its kernels does not depend on that disk.
   */
  spaceIsBack?(): void
  /** Puts GPUs back into service, which were taken out because of a fault. If missing, the executor assigns none. */
  returnGpus?(uuids: readonly string[]): void
  /** Takes GPUs out of service; kernels that have them run on. If missing, the executor assigns none. */
  takeGpus?(takes: readonly GpuTake[]): void
  /** Stops watching but leaves the kernels running; the next instance recovers them. */
  close(): Promise<void>
}

/** A command or a connection in a kernel. */
export interface KernelChannel {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Null for a terminal and for a connection. */
  readonly stderr: Readable | null
  /** Resolves when the command or connection has ended. Its output may still be on the way. Never rejects. */
  readonly ended: Promise<{ exitCode: number | null; message?: string }>
  /** Resizes the terminal. */
  resize?(columns: number, rows: number): void
  /** Sends a signal to the command. */
  signal?(signal: ChannelSignal): void
  /** Called when the client has gone. Kills what does not end by itself, and resolves when all has ended. */
  hangUp(): Promise<void>
}

/** Directories in which the attempts of a chain store data for each other. */
export interface ChainDirectories {
  /** Identifies the place of the directories, even if agents know it by different paths. */
  readonly store: string
  /** Lists the chains that have a directory, ordered by id, with the oldest generation of each. */
  list(): Promise<StoredChain[]>
  /**
   * Removes a chain's directories, or those of the generations before `before`, unless a kernel here needs them. They
   * are renamed at once, and deleted later.
   *
   * @returns whether there was a directory, and its name is free now
   */
  drop(chainId: string, before?: number): boolean
  /** Whether there are directories that were too large to be counted when their kernels ended. */
  readonly isUncounted: boolean
  /**
   * Measures the directories that could not be counted, and with `all` also those that grow. Runs with low priority,
   * and may take minutes.
   */
  measure(all: boolean): Promise<ChainSize[]>
}

export interface StoredChain {
  chainId: string
  oldest: number
}

/** Resources that an executor has found to offer; see RegisterRequest. */
export interface ExecutorOffer {
  slots: Record<string, string>
  slotsPerKernelMax: Record<string, string>
  /** GPUs that something else than the agent assigns. If missing, there are none, or nothing is known about them. */
  gpus?: ObservedGpu[]
}

/** The GPUs that an agent assigns. */
export interface GpuReport {
  gpus: ObservedGpu[]
  /** Number of those in service, by slot. */
  slots: Record<string, string>
  /** Why they cannot be seen now, as text for people; null if they can. */
  fault: string | null
  /** How many kernels may share one of them; 1 if each has its own. */
  sharing: number
}

export interface ExecutorHooks {
  /**
   * Returns why no new kernel may start now, as text for people, or null if one may. If missing, kernels may always
   * start.
   */
  refusal?(): string | null
  /** Whether the agent's disk is full, so that output of kernels is lost. If missing, it is not. */
  diskIsFull?(): boolean
  /** Called when the result of `observe()` or a log has changed. */
  changed(): void
  /** Called when the executor offers other resources than before. If missing, changes are not reported. */
  offers?(offer: ExecutorOffer): void
  /** Called when the agent has found other GPUs than before, or one has broken. If missing, that is not reported. */
  gpus?(report: GpuReport): void
  /** Called from time to time with what the GPUs do. If missing, that is not reported. */
  gpuFigures?(gpus: ObservedGpu[]): void
  /** Called with labels that the agent adds to the configured ones. If missing, changes are not reported. */
  labelled?(labels: Record<string, string>): void
  /**
   * Fetches uploaded code from the server. If missing, there is no server, and no kernel has code.
   *
   * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND; any other error may be temporary
   */
  fetchCode?(kernel: Omit<CodeRequest, 'agentId'>, signal: AbortSignal): Promise<BlobAnswer>
  /** If missing, there is no server, and checkpoints stay on this agent. */
  relay?: CheckpointRelay
  /**
   * Reports about the outputs of a kernel that is gone. If missing, there is no server, and outputs are not collected.
   *
   * @throws RepriseError KERNEL_NOT_FOUND; any other error may be temporary
   */
  reportOutputs?(report: OutputsOf, signal: AbortSignal): Promise<OutputsAnswer>
  /**
   * Lists files of other sessions for a kernel that is being prepared.
   *
   * @throws RepriseError KERNEL_NOT_FOUND, OUTPUTS_NOT_FOUND; any other error may be temporary
   */
  listInputs?(request: Omit<InputsRequest, 'agentId'>, signal: AbortSignal): Promise<InputsAnswer>
  /** If missing, there is no server. */
  blobs?: BlobExchange
}

/** Transfers blobs of a kernel's project; see Gateway, `sendBlob` and `fetchBlob`. */
export interface BlobExchange {
  have(request: Omit<BlobsRequest, 'agentId'>, signal: AbortSignal): Promise<{ blobs: BlobState[] }>
  /** @param onSent called once the whole body has been handed over to the connection, if there is one */
  send(
    request: Omit<BlobPartRequest, 'agentId'>,
    body: Uint8Array,
    signal: AbortSignal,
    onSent?: () => void,
  ): Promise<{ blobs: BlobState[] }>
  /** Continues a blob that breaks off until the signal aborts. */
  fetch(request: Omit<BlobRequest, 'agentId' | 'offset'>, signal: AbortSignal): Promise<BlobAnswer>
}

/** A report without the agent, which is added to it. */
type OutputsOf = OutputsReport extends infer Each ? (Each extends OutputsReport ? Omit<Each, 'agentId'> : never) : never

/** Sends checkpoints to the servers and fetches them from there; see Gateway. */
export interface CheckpointRelay {
  offer(request: Omit<CheckpointRequest, 'agentId'>, signal: AbortSignal): Promise<CheckpointWish>
  readonly blobs: BlobExchange
}

/** Exit codes of processes that a signal ended, as a shell reports them. */
export const SIGKILLED = 137
export const SIGTERMED = 143

/**
 * Error of kernels that their agent stopped because its fence expired. It is part of a shell script, so it contains no
 * quotation marks.
 */
export const FENCED: FailureError = {
  name: 'agent-fenced',
  message: 'fenced: its agent stopped it because no server had answered for too long',
}

/** Whether the kernel has ended or will never run. */
export function isOver({ status }: Pick<ObservedKernel, 'status'>): boolean {
  return status === 'EXITED' || status === 'FAILED'
}

/** The configured cluster or container engine cannot be used from here. The message is for people. */
export class ExecutorSetupError extends Error {}
