import type { CheckpointOffer, FoundCheckpoint, LeftCheckpoint } from './checkpoint.ts'
import type { ChannelPort } from './channel-protocol.ts'
import type { KernelUsage } from './kernel-report.ts'
import type { FailureError } from '../session/failure.ts'
import type { Mount } from '../session/mounts.ts'
import type { AgentWarning } from '../warning.ts'
import type { ProgramVerdict } from '../session/program-verdict.ts'
import type { ValidationIssue } from '../errors.ts'

/**
 * The messages between an agent and the server. The protocol is level-triggered: the agent reports everything it has,
 * the server answers with the differences from what the agent should have, and any message may be lost. The same
 * messages travel over HTTP and in process. Times are ISO 8601 by the agent's clock, for display only.
 */

/** Everything an agent needs to run one kernel. */
export interface KernelSpec {
  kernelId: string
  sessionId: string
  /** Absent from servers of older versions. */
  projectId?: string
  chainId: string
  attempt: number
  /** `main` or `sub`; together with `index` it names the kernel: `main1`. */
  role: string
  index: number
  image: string | null
  command: string[]
  /** Of the archive whose files it finds in its working directory; absent from servers of older versions. */
  codeSha256?: string | null
  /**
   * The session's own variables and the server's REPRISE_* variables. The agent adds those that name its
   * files. Secret ones stand only in the order to START, whose environment is the one that counts.
   */
  environ: { name: string; value: string }[]
  /** Exact decimals as text; `mem` in bytes. */
  resourceSlots: Record<string, string>
  /** The variable through which the program learns the port that the agent chose for it; null if it serves on none. */
  portVariable: string | null
  /** Absent from servers of older versions; null for a chain of which nothing is on record. */
  checkpoint?: CheckpointOffer | null
  /** Absent from servers of older versions, as everything below. */
  projectName?: string
  sessionName?: string
  /** 0 to 100; the greater, the sooner. */
  priority?: number
  /** All kernels of this session that are assigned to this agent, if there are several. */
  gang?: KernelGang | null
  batchTimeoutMs?: number | null
  /** What the executor is to do in its own terms, as the partition of a Slurm cluster: the group's, then the session's. */
  executorOptions?: Record<string, string>
  /**
   * Where earlier attempts failed, of the agent's own hosts, and their rules said to avoid that: not there again, if there
   * is another one. The host that failed last is the last.
   */
  avoidHosts?: string[] | null
  /** What the image is to be, `sha256:…`; null for whatever its name stands for at present. */
  imageDigest?: string | null
  /** Volumes of the agent, in the kernel. */
  mounts?: Mount[]
}

export interface KernelGang {
  /** This one included. */
  size: number
  /** They run on one machine, also where the agent has several. */
  singleNode: boolean
}

/**
 * What the server wants for a kernel whose report differs or is missing. An order is repeated until the reports agree;
 * each is idempotent. START for a kernel that is not prepared prepares it first.
 */
export type KernelOrder =
  | { want: 'PREPARE'; assignment: number; spec: KernelSpec }
  | { want: 'START'; assignment: number; spec: KernelSpec }
  | { want: 'STOP'; assignment: number; kernelId: string; graceMs: number }

/**
 * FAILED: the kernel could not be prepared or started, and nothing of it runs. EXITED: it ran and is gone, unless `gone`
 * is false, or was stopped before it ran (`startedAt` null).
 */
export type ObservedStatus = 'PREPARING' | 'PULLING' | 'PREPARED' | 'RUNNING' | 'FAILED' | 'EXITED'

export interface ObservedKernel {
  kernelId: string
  assignment: number
  status: ObservedStatus
  /** 128 + signal if a signal ended it; null while it runs and if it is unknown. */
  exitCode: number | null
  oomKilled: boolean
  /**
   * Set with FAILED, and with EXITED if more is known than the exit code: the kernel has then failed, whatever the exit
   * code.
   */
  error: FailureError | null
  startedAt: string | null
  endedAt: string | null
  /** The port chosen for this kernel on the agent's machine; null if it serves on none. */
  port: number | null
  /** The program's verdict on its failure, with EXITED. Older agents do not send it. */
  verdict?: ProgramVerdict | null
  /**
   * With EXITED: the server had the kernel stopped before it ended; one that its agent stopped for reasons of its own
   * has an error instead. Older agents do not send it: a kernel that was to stop then counts as stopped.
   */
  stopped?: boolean | undefined
  /**
   * Of a kernel with a `batchTimeoutMs`, by the agent's monotonic clock: true if its program ended within that time,
   * false as soon as it has run for longer. Also with RUNNING: an end is reported as EXITED only after its output.
   * Missing while it is not decided, where the agent cannot know it, and from older agents.
   */
  inTime?: boolean | undefined
  /** With EXITED: what it used, if it ran. Older agents do not send it. */
  usage?: KernelUsage | null
  /** With RUNNING and EXITED: what earlier attempts had left for it; null or absent if that is nothing. */
  foundCheckpoint?: FoundCheckpoint | null
  /**
   * With EXITED, and of the session's first kernel: what its chain had stored when nothing of the kernel was left; null
   * or absent if it did not look.
   */
  leftCheckpoint?: LeftCheckpoint | null
  /**
   * With PREPARED: it has been given to another scheduler, and waits there for this reason. Words for people. Older
   * agents do not send it, nor what follows.
   */
  waiting?: { reason: string } | null
  /** Before it runs: its start has been ordered, and need not be again. */
  starting?: boolean | undefined
  /** With PREPARING and PULLING: how far that is; with PREPARED: what holds up its start. Words for people. */
  progress?: string | null
  /**
   * With EXITED: false if it has ended, but may still run, as on a machine that nobody reaches. It is reported until it
   * is gone, whatever the server has said about it.
   */
  gone?: boolean
  /** The machine on which it runs, or ran, if the agent has several. */
  host?: string | null
  /** Under which id Slurm has it. For people: these ids are used again. */
  slurmJobId?: string | null
  /** What its image is, `sha256:…`. */
  imageDigest?: string | null
}

export type LogStreamName = 'STDOUT' | 'STDERR'

/**
 * A piece of one stream of one assignment. `offset` and `bytes` count the stream's own bytes; `text` is these bytes
 * decoded as UTF-8, without NUL.
 */
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
  /** Kept by the agent across restarts. */
  agentId: string
  /** New with each start of the agent's process. */
  instanceId: string
  name: string
  resourceGroup: string
  address: string
  version: string
  slots: Record<string, string>
  labels: Record<string, string>
  /** What keeps its kernels apart; absent from agents of older versions. */
  isolation?: AgentIsolation
  /** Identifies the directory in which it keeps what chains store, whatever its path; absent from older agents. */
  chainStore?: string
  /** `process`, `container`, `slurm` or `noop`; absent from older agents, as everything below. */
  executor?: string
  /** What a single kernel can have, if that is less than the agent has: one that consists of several machines. */
  slotsPerKernelMax?: Record<string, string>
  /** Whether ports of its kernels can be reached at its address. Absent: they can. */
  ports?: boolean
  volumes?: AgentVolume[]
  /** What people should know who run it, found at its start. */
  warnings?: AgentWarning[]
  /** Why it takes no new kernels at present, for people. Absent: it takes them. */
  refuses?: string
  /** It tells `inTime`: the server does not decide how a program ended while such an agent is alive. */
  judgesTime?: boolean
}

export interface AgentVolume {
  name: string
  readOnly: boolean
  /** Names of the projects that may use it; null: all. */
  projects: string[] | null
}

export interface AgentIsolation {
  /** `none`, `user`, `namespaces`, `namespaces+user`, or what another executor gives. */
  name: string
  /** Somebody configured it, rather than leaving the choice to the agent. */
  byHand: boolean
}

export interface RegisterAnswer {
  /** Where log shipping continues for the kernels that this agent still has. */
  logOffsets: LogOffset[]
  heartbeatMs: number
  /** If the agent gets no answer for this long, it stops its kernels. */
  fenceAfterMs: number
  /**
   * The server starts no further attempt of what has ended and is not yet gone. Absent from servers of older versions:
   * to them an agent says RUNNING until it is gone.
   */
  heedsGone?: boolean
}

/**
 * Chains for which the agent keeps a directory, in order of their ids: all those behind `after` and up to `upTo`; null
 * is before the first, and behind the last.
 */
export interface ChainReport {
  after: string | null
  upTo: string | null
  chainIds: string[]
  /** The oldest generation of their directories, where that is not 0. Older agents do not tell. */
  generations?: Record<string, number> | undefined
}

/** What the directory of a chain takes, while an attempt runs, or where it was too large to be looked through at its end. */
export interface ChainSize {
  chainId: string
  generation: number
  bytes: number
}

export interface SyncRequest {
  agentId: string
  instanceId: string
  /** Grows with each sync of an instance, from 1, so that late syncs are recognised. */
  sequence: number
  /** Every kernel that the agent has. */
  observed: ObservedKernel[]
  logs: LogPiece[]
  /** How long the server may wait for orders before it answers; 0 to answer immediately. */
  waitMs: number
  /** Now and then. Older agents do not send it. */
  chains?: ChainReport | undefined
  /** Now and then, too. */
  chainSizes?: ChainSize[] | undefined
}

export interface SyncAnswer {
  orders: KernelOrder[]
  /**
   * Kernels that the server has recorded as ended or has since assigned elsewhere: the agent stops them if they run,
   * and forgets them.
   */
  forget: { kernelId: string; assignment: number }[]
  /** Of the chains that the sync reported: those that have been removed. Their directories are needed by nobody. */
  dropChains?: string[]
  /** Of the chains that the sync reported: those with directories of generations that are over, all before this one. */
  dropGenerations?: { chainId: string; before: number }[]
  /** Channels that the agent is to open, repeated until it has. Agents of older versions do not. */
  channels?: ChannelOrder[]
}

/** Somebody waits at a server for a channel to a kernel of this agent, for a limited time. */
export interface ChannelOrder {
  channelId: string
  /** Shows that the agent was asked; good for this channel alone. */
  secret: string
  /** Where that server says that it can be reached; null: at one of the addresses that the agent has. */
  url: string | null
}

/** The code of a kernel that the agent has been given. */
export interface CodeRequest {
  agentId: string
  kernelId: string
  assignment: number
}

/** An archive; see `archive/`. */
export interface CodeAnswer {
  bytes: number
  chunks: AsyncIterable<Uint8Array>
}

/** The checkpoint of a kernel's chain, which the kernel's agent offers to the servers. */
export interface CheckpointRequest extends CodeRequest {
  /** Of its directory. */
  generation: number
  /** Missing: only whether a copy would be of use is asked. */
  copy?: CheckpointCopy | undefined
  /** The kernel runs, and its program has published; false or missing: it has ended. */
  running?: boolean | undefined
  /** Of the wish that it answers to. Missing from older agents. */
  order?: number | undefined
}

/** A checkpoint as it travels: one archive. */
export interface CheckpointCopy {
  sha256: string
  /** Of the archive, before it is compressed. */
  archiveBytes: number
  /** Files, and bytes in them. */
  files: number
  bytes: number
}

export interface CheckpointWish {
  /** False: there is no use for a copy, or the servers have it already. */
  wanted: boolean
  /** Why it is not; words for people. */
  reason: string | null
  /** Whether the servers have this very copy, and it is on record now. */
  recorded: boolean
  /** Of the archive. */
  bytesMax: number
  /**
   * Of two copies of one attempt, the one that was looked at after the greater of these counts, whichever arrives last.
   * Missing from older servers.
   */
  order?: number
}

/** `chunks` are compressed with zstd; `bytes` counts them. */
export interface CheckpointAnswer extends CodeAnswer {
  attempt: number
  sha256: string
  archiveBytes: number
}

/** The server side as an agent sees it: in process the gateway itself, otherwise a client of its HTTP endpoints. */
export interface Gateway {
  /** @throws RepriseError FORBIDDEN, RESOURCE_GROUP_NOT_FOUND, VALIDATION_FAILED */
  register(request: RegisterRequest, signal: AbortSignal): Promise<RegisterAnswer>
  /** @throws RepriseError AGENT_UNKNOWN (register again), AGENT_SUPERSEDED (another process has this id: exit) */
  sync(request: SyncRequest, signal: AbortSignal): Promise<SyncAnswer>
  /** @throws RepriseError KERNEL_NOT_FOUND (it is no longer this agent's), CODE_NOT_FOUND */
  fetchCode(request: CodeRequest, signal: AbortSignal): Promise<CodeAnswer>
  /** @throws RepriseError KERNEL_NOT_FOUND */
  offerCheckpoint(request: CheckpointRequest, signal: AbortSignal): Promise<CheckpointWish>
  /**
   * @param chunks the archive, compressed with zstd
   * @returns recorded: false if something newer is on record
   * @throws RepriseError KERNEL_NOT_FOUND, REQUEST_TOO_LARGE, VALIDATION_FAILED, QUOTA_EXCEEDED
   */
  sendCheckpoint(
    request: CheckpointRequest & { copy: CheckpointCopy },
    chunks: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<{ recorded: boolean }>
  /** @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND (there is no copy of the newest checkpoint) */
  fetchCheckpoint(request: CodeRequest, signal: AbortSignal): Promise<CheckpointAnswer>
}

/**
 * Opens a channel to the server that waits for it.
 *
 * @throws if that cannot be reached, or waits no more
 */
export type DialChannel = (order: ChannelOrder, signal: AbortSignal) => Promise<ChannelPort>

/** The agent protocol over HTTP: POST, JSON both ways, `Authorization: Bearer …`; 200, or an error as below. */
export const AGENT_REGISTER_PATH = '/agent/v1/register'
export const AGENT_SYNC_PATH = '/agent/v1/sync'
/** Answers with the archive itself, of the length that it says. */
export const AGENT_CODE_PATH = '/agent/v1/code'
/** Whether a copy of a checkpoint is wanted. */
export const AGENT_CHECKPOINT_OFFER_PATH = '/agent/v1/checkpoint-offer'
/** Takes the copy itself as its body, and what it is, in JSON, in the header below. */
export const AGENT_CHECKPOINT_SEND_PATH = '/agent/v1/checkpoint-upload'
/** Answers with the copy itself, of the length that it says, and with what it is in the header below. */
export const AGENT_CHECKPOINT_FETCH_PATH = '/agent/v1/checkpoint'
export const AGENT_CHECKPOINT_HEADER = 'reprise-checkpoint'
/** A WebSocket, followed by the channel's id, with its secret as the bearer's token. 404 if another server has it. */
export const AGENT_CHANNEL_PATH = '/agent/v1/channels/'

export interface AgentErrorAnswer {
  /** A code from the table of errors, or INTERNAL. */
  code: string
  message: string
  issues: readonly ValidationIssue[]
  requestId: string
}
