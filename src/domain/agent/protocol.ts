import type { FailureError } from '../session/failure.ts'

/**
 * What an agent and the server say to each other. Level-triggered: the agent tells all that it has, the
 * server answers with what differs from what it should have, and either side may lose any message.
 * The same words travel over HTTP and in process. Times are ISO 8601 of the agent's clock, for people only.
 */

/** Everything an agent needs to run one kernel. */
export interface KernelSpec {
  kernelId: string
  sessionId: string
  chainId: string
  attempt: number
  /** `main` or `sub`; with `index` it names the kernel: `main1`. */
  role: string
  index: number
  image: string | null
  command: string[]
  /** The session's own, and the server's REPRISE_* variables. The agent adds REPRISE_CHAIN_DIR. */
  environ: { name: string; value: string }[]
  /** Exact decimals as text; `mem` in bytes. */
  resourceSlots: Record<string, string>
  /** The variable that tells the program the port that the agent has chosen for it; null where it serves on none. */
  portVariable: string | null
}

/**
 * What the server wants of a kernel that the agent reports otherwise, or not at all. Repeated until the
 * reports agree; each is idempotent. A START for a kernel that is not prepared prepares it first.
 */
export type KernelOrder =
  | { want: 'PREPARE'; assignment: number; spec: KernelSpec }
  | { want: 'START'; assignment: number; spec: KernelSpec }
  | { want: 'STOP'; assignment: number; kernelId: string; graceMs: number }

/**
 * PREPARING, PULLING, PREPARED, RUNNING speak for themselves. FAILED: it could not be prepared or started and
 * nothing of it runs. EXITED: it ran and is gone, or was stopped before it ran (`startedAt` null).
 */
export type ObservedStatus = 'PREPARING' | 'PULLING' | 'PREPARED' | 'RUNNING' | 'FAILED' | 'EXITED'

export interface ObservedKernel {
  kernelId: string
  assignment: number
  status: ObservedStatus
  /** 128 + signal where a signal ended it; null while it runs and where nobody knows. */
  exitCode: number | null
  oomKilled: boolean
  /** Set with FAILED, and with EXITED where more is known than the exit code: it has failed then, whatever that is. */
  error: FailureError | null
  startedAt: string | null
  endedAt: string | null
  /** Of the agent's machine, chosen for this kernel; null where it serves on none. */
  port: number | null
}

export type LogStreamName = 'STDOUT' | 'STDERR'

/** A piece of one stream of one assignment. `offset` and `bytes` count the stream's own bytes; `text` is their UTF-8 reading, without NUL. */
export interface LogPiece {
  kernelId: string
  assignment: number
  stream: LogStreamName
  offset: number
  bytes: number
  text: string
  at: string
}

export interface LogOffset {
  kernelId: string
  assignment: number
  stream: LogStreamName
  /** The server has everything before this byte. */
  offset: number
}

export interface RegisterRequest {
  /** Kept by the agent over restarts. */
  agentId: string
  /** New with each start of the agent's process. */
  instanceId: string
  name: string
  resourceGroup: string
  address: string
  version: string
  slots: Record<string, string>
  labels: Record<string, string>
}

export interface RegisterAnswer {
  /** Where log shipping goes on for the kernels that this agent still has. */
  logOffsets: LogOffset[]
  heartbeatMs: number
  /** Without an answer for this long the agent stops its kernels. */
  fenceAfterMs: number
}

export interface SyncRequest {
  agentId: string
  instanceId: string
  /** Grows with each sync of an instance, from 1: a late one is told by it. */
  sequence: number
  /** Every kernel that the agent has. */
  observed: ObservedKernel[]
  logs: LogPiece[]
  /** How long the server may wait for news before it answers; 0 for at once. */
  waitMs: number
}

export interface SyncAnswer {
  orders: KernelOrder[]
  /** What the server has booked as ended, or given elsewhere since: stop it if it runs, and forget it. */
  forget: { kernelId: string; assignment: number }[]
}

/** The server side, as an agent sees it. In process it is the gateway itself, elsewhere a client of its HTTP face. */
export interface Gateway {
  /** @throws RepriseError FORBIDDEN, RESOURCE_GROUP_NOT_FOUND, VALIDATION_FAILED */
  register(request: RegisterRequest, signal: AbortSignal): Promise<RegisterAnswer>
  /** @throws RepriseError AGENT_UNKNOWN (register again), AGENT_SUPERSEDED (another process has this id: exit) */
  sync(request: SyncRequest, signal: AbortSignal): Promise<SyncAnswer>
}
