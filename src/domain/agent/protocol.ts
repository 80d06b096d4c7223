import type { Gpu, GpuNeed, GpuUsage, ObservedGpu } from '../gpu.ts'
import type { CheckpointOffer, FoundCheckpoint, LeftCheckpoint } from './checkpoint.ts'
import type { ChannelPort } from './channel-protocol.ts'
import type { KernelUsage } from './kernel-report.ts'
import type { FailureError } from '../session/failure.ts'
import type { Mount } from '../session/mounts.ts'
import type { OutputFile, OutputsPlace, OutputsState } from '../session/outputs.ts'
import type { AgentWarning } from '../warning.ts'
import type { ProgramVerdict } from '../session/program-verdict.ts'
import type { ValidationIssue } from '../errors.ts'

/**
 * The messages between an agent and the server. The protocol is level-triggered: the agent reports its full state, the
 * server answers with the differences from the desired state, and any message may be lost. The same messages travel
 * over HTTP and in process. Times are ISO 8601 by the agent's clock, for display only.
 */

/** Everything an agent needs to run one kernel. */
export interface KernelSpec {
  kernelId: string
  sessionId: string
  /** Missing from older servers. */
  projectId?: string
  chainId: string
  attempt: number
  /** `main` or `sub`; with `index` it forms the kernel's name: `main1`. */
  role: string
  index: number
  image: string | null
  command: string[]
  /** Digest of the archive that is unpacked into the working directory; missing from older servers. */
  codeSha256?: string | null
  /**
   * The session's own variables and the server's REPRISE_* variables. The agent adds those that name its files. Secret
   * variables are contained only in the START order, whose environment is the one that is used.
   */
  environ: { name: string; value: string }[]
  /** Exact decimals as text; `mem` in bytes. */
  resourceSlots: Record<string, string>
  /** What its GPUs must be like; null or missing if any will do. */
  gpuNeed?: GpuNeed | null
  /** The variable that gives the program the port that the agent chose; null if the program serves on no port. */
  portVariable: string | null
  /** Null if the chain has no checkpoint on record. Missing from older servers. */
  checkpoint?: CheckpointOffer | null
  /** Missing from older servers, like all fields below. */
  projectName?: string
  sessionName?: string
  /** From 0 to 100; a higher priority runs sooner. */
  priority?: number
  /** All kernels of this session that are assigned to this agent, if there is more than one. */
  gang?: KernelGang | null
  batchTimeoutMs?: number | null
  /** The agent ends it once all of its GPUs were idle for this long; null or missing for no limit. */
  gpuIdleTimeoutMs?: number | null
  /** The agent stops it if it makes no progress for this long; null or missing for no limit. */
  progressTimeoutMs?: number | null
  /** A command that runs in the kernel before that stop; empty or missing for none. */
  onHang?: string[]
  /** Nothing may start it again once its start was ordered. */
  neverRunTwice?: boolean
  /** Time between asking its processes to stop and killing them, unless the stop is forced. */
  stopGraceMs?: number
  /** Options for the executor, such as a Slurm partition: the resource group's, overridden by the session's. */
  executorOptions?: Record<string, string>
  /**
   * Hosts of this agent on which earlier attempts failed with a rule that avoids the place. They are used only if no
   * other host is available. The last entry failed last.
   */
  avoidHosts?: string[] | null
  /** The digest that the image must have, `sha256:…`; null accepts any image of that name. */
  imageDigest?: string | null
  /** Volumes of the agent to mount in the kernel. */
  mounts?: Mount[]
  /** Patterns of the files to collect at the end, in the syntax of `.gitignore`. */
  outputPaths?: string[] | null
  /** The outputs stay on the agent's disk, and are only listed. */
  outputsInPlace?: boolean | null
  /** Whether files of other sessions belong into the working directory; see InputsRequest. */
  hasInputs?: boolean
}

export interface KernelGang {
  /** Number of kernels, this one included. */
  size: number
  /** The kernels run on one machine, even if the agent has several. */
  singleNode: boolean
}

/**
 * An order for a kernel whose report is missing or differs from the desired state. Orders are idempotent and repeated
 * until the report agrees. A START for an unprepared kernel prepares it first.
 */
export type KernelOrder =
  | { want: 'PREPARE'; assignment: number; spec: KernelSpec }
  | { want: 'START'; assignment: number; spec: KernelSpec }
  | { want: 'STOP'; assignment: number; kernelId: string; graceMs: number }

/**
 * The state that an agent reports. FAILED: the kernel could not be prepared or started, and none of its processes runs.
 * EXITED: the kernel ran and is gone (or may still run, if `gone` is false), or it was stopped before it ran
 * (`startedAt` is null).
 */
export type ObservedStatus = 'PREPARING' | 'PULLING' | 'PREPARED' | 'RUNNING' | 'FAILED' | 'EXITED'

export interface ObservedKernel {
  kernelId: string
  assignment: number
  status: ObservedStatus
  /** 128 + signal if a signal ended it; null while it runs or if it is unknown. */
  exitCode: number | null
  oomKilled: boolean
  /**
   * Set with FAILED, and with EXITED if the agent knows more than the exit code. The kernel has then failed, even with
   * exit code 0.
   */
  error: FailureError | null
  startedAt: string | null
  endedAt: string | null
  /** The port chosen for this kernel on the agent's machine; null if the program serves on no port. */
  port: number | null
  /** The program's own verdict on its failure; set with EXITED. Missing from older agents. */
  verdict?: ProgramVerdict | null
  /**
   * Set with EXITED if the server ordered the stop before the kernel ended; a kernel that the agent stopped for its own
   * reasons has an error instead. Missing from older agents: then any kernel that was ordered to stop counts as
   * stopped.
   */
  stopped?: boolean | undefined
  /**
   * Whether the program of a kernel with a `batchTimeoutMs` ended within that time, by the agent's monotonic clock.
   * False as soon as it has run for longer. It may also come with RUNNING, because EXITED is reported only after all
   * output. Missing while undecided, if the agent cannot know it, and from older agents.
   */
  inTime?: boolean | undefined
  /** Resources that the kernel used, if it ran; set with EXITED. Missing from older agents. */
  usage?: KernelUsage | null
  /**
   * The checkpoint of earlier attempts that the kernel found; set with RUNNING and EXITED. Null or missing if there was
   * none.
   */
  foundCheckpoint?: FoundCheckpoint | null
  /**
   * The chain's checkpoint when all processes of the kernel were gone; set with EXITED, and only by the session's first
   * kernel. Null or missing if the agent did not look.
   */
  leftCheckpoint?: LeftCheckpoint | null
  /** Set with EXITED if the program wrote outputs for which its session did not ask. The agent sends them later. */
  leftOutputs?: boolean | undefined
  /**
   * Set with PREPARED if another scheduler has the kernel queued, with its reason, for people. Missing from older
   * agents, like all fields below.
   */
  waiting?: { reason: string } | null
  /** Set before the kernel runs, once its start is ordered: the order need not be repeated. */
  starting?: boolean | undefined
  /** For people: the progress of PREPARING and PULLING, or what delays the start of a PREPARED kernel. */
  progress?: string | null
  /**
   * False with EXITED if the kernel has ended but may still run, for example on an unreachable machine. The agent then
   * reports it until it is gone, even if the server answers `forget`.
   */
  gone?: boolean
  /** The machine on which the kernel runs or ran, if the agent has several. */
  host?: string | null
  /** The kernel's Slurm job id. For people only, because Slurm reuses ids. */
  slurmJobId?: string | null
  /** The digest of the kernel's image, `sha256:…`. */
  imageDigest?: string | null
  /** The GPUs that it has. Missing if it has none, or nobody knows which. */
  gpus?: Gpu[] | null
  /** The last line of the program's progress file. Missing if it has written none. */
  progressLine?: string | null
  /** What it has used of them so far. Updated from time to time while it runs, and exact with EXITED. */
  gpuUsage?: GpuUsage | null
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
  /** The server has every byte before this one. */
  offset: number
}

export interface RegisterRequest {
  /** Chosen once, and kept across restarts of the agent. */
  agentId: string
  /** New with each start of the agent's process. */
  instanceId: string
  name: string
  resourceGroup: string
  address: string
  version: string
  slots: Record<string, string>
  labels: Record<string, string>
  /** How the agent isolates its kernels; missing from older agents. */
  isolation?: AgentIsolation
  /** Identifies the directory with the chains' files independently of its path; missing from older agents. */
  chainStore?: string
  /** `process`, `container`, `slurm` or `noop`; missing from older agents, like all fields below. */
  executor?: string
  /**
   * The most that a single kernel can have, if that is less than the agent's total because the agent has several
   * machines.
   */
  slotsPerKernelMax?: Record<string, string>
  /** Whether ports of its kernels are reachable at its address; missing means true. */
  ports?: boolean
  volumes?: AgentVolume[]
  /** Warnings for the operator, found when the agent started. */
  warnings?: AgentWarning[]
  /** Why the agent takes no new kernels now, for people. Missing if it takes them. */
  refuses?: string
  /** The GPUs that it assigns to kernels, or of its cluster, which does. Missing if there are none. */
  gpus?: ObservedGpu[]
  /** Why it cannot see its GPUs now, for people. Missing if it can. */
  gpuFault?: string
  /** How many kernels may share one of its GPUs. Missing if each has its own. */
  gpuSharing?: number
  /** The agent reports `inTime`: while it is alive, the server does not decide how a program ended. */
  judgesTime?: boolean
}

export interface AgentVolume {
  name: string
  readOnly: boolean
  /** Names of the projects that may use it; null for all projects. */
  projects: string[] | null
}

export interface AgentIsolation {
  /** `none`, `user`, `namespaces`, `namespaces+user`, or the name that another executor uses. */
  name: string
  /** The operator configured it; otherwise the agent chose it. */
  byHand: boolean
}

export interface RegisterAnswer {
  /** The offsets at which log shipping continues, for the kernels that this agent still has. */
  logOffsets: LogOffset[]
  heartbeatMs: number
  /** The agent stops its kernels if it gets no answer for this long. */
  fenceAfterMs: number
  /**
   * The server starts no further attempt while a kernel has ended but may not be gone. Missing from older servers: to
   * them an agent reports RUNNING until the kernel is gone.
   */
  heedsGone?: boolean
}

/**
 * The chains for which the agent keeps a directory, in the order of their ids: all those after `after` and up to
 * `upTo`. Null means from the first, or to the last.
 */
export interface ChainReport {
  after: string | null
  upTo: string | null
  chainIds: string[]
  /** The oldest generation among each chain's directories, if it is not 0. Missing from older agents. */
  generations?: Record<string, number> | undefined
}

/**
 * The size of a chain's directory, measured while an attempt runs, or at its end if it was too large to be counted
 * then.
 */
export interface ChainSize {
  chainId: string
  generation: number
  bytes: number
}

export interface SyncRequest {
  agentId: string
  instanceId: string
  /** Grows by each sync of an instance, from 1, so that late syncs are recognised. */
  sequence: number
  /** Every kernel of the agent. */
  observed: ObservedKernel[]
  logs: LogPiece[]
  /** How long the server may wait for orders before it answers; 0 for an immediate answer. */
  waitMs: number
  /** Sent from time to time. Missing from older agents. */
  chains?: ChainReport | undefined
  /** Sent from time to time. */
  chainSizes?: ChainSize[] | undefined
  /** New figures of the GPUs in the registration. Sent from time to time. */
  gpus?: ObservedGpu[] | undefined
}

export interface SyncAnswer {
  orders: KernelOrder[]
  /**
   * Kernels that the server has recorded as ended or has assigned elsewhere: the agent stops them if they run, and
   * forgets them.
   */
  forget: { kernelId: string; assignment: number }[]
  /** Chains of this sync's report that have been removed; their directories can be deleted. */
  dropChains?: string[]
  /** Chains of this sync's report that have directories of old generations, all before the given one. */
  dropGenerations?: { chainId: string; before: number }[]
  /** Channels that the agent has to open; repeated until it has opened them. Older agents ignore them. */
  channels?: ChannelOrder[]
  /** UUIDs of GPUs to put back into service. Repeated until the agent has registered with them in service. */
  returnGpus?: string[]
  /** GPUs to take out of service. Repeated until the agent has registered with them out of service. */
  takeGpus?: GpuTake[]
}

/** A GPU that a person takes out of service. */
export interface GpuTake {
  uuid: string
  /** As text for people. */
  reason: string
}

/**
 * Asks an agent to open a channel to one of its kernels, because a client waits for it at a server, for a limited time.
 */
export interface ChannelOrder {
  channelId: string
  /** Proves to the waiting server that the agent was asked; valid for this channel alone. */
  secret: string
  /** The address that the waiting server gives for itself; null to use an address that the agent already has. */
  url: string | null
}

/** Asks for the code of a kernel that is assigned to the agent. */
export interface CodeRequest {
  agentId: string
  kernelId: string
  assignment: number
}

/** The archive, in the format of `archive/`. */
export interface CodeAnswer {
  bytes: number
  chunks: AsyncIterable<Uint8Array>
}

/** What a transfer between an agent and the server is for. */
export const BLOB_PURPOSES = ['CODE', 'CHECKPOINT', 'OUTPUT'] as const
export type BlobPurpose = (typeof BLOB_PURPOSES)[number]

/** Asks which of these blobs the kernel's project has. */
export interface BlobsRequest extends CodeRequest {
  purpose: BlobPurpose
  /** At most BLOBS_ASKED_MAX. */
  sha256s: string[]
}

export interface BlobState {
  sha256: string
  /**
   * The next part begins here. Of several blobs in a request that asks, 0 is reported for all that are not complete.
   */
  received: number
  complete: boolean
  /** Set if the bytes had another hash: everything received was discarded. */
  refused?: string
}

/** A part of a blob, or a whole one. */
export interface BlobSlice {
  sha256: string
  /** Bytes of the whole blob. */
  bytes: number
  offset: number
  /** BLOB_PART_BYTES, or less for the end of the blob. 0 at the end of a blob only asks to check it. */
  length: number
}

/** Sends parts. Several small blobs can travel together; with their bytes, in this order, as one body. */
export interface BlobPartRequest extends CodeRequest {
  purpose: BlobPurpose
  /** At most BLOB_SLICES_MAX, of at most BLOB_PART_BYTES in all. */
  slices: BlobSlice[]
}

/** Asks for a blob from an offset on. */
export interface BlobRequest extends CodeRequest {
  purpose: BlobPurpose
  /** Null for the code of the kernel, or the newest checkpoint of its chain. */
  sha256: string | null
  offset: number
}

/** The rest of a blob. `bytes` is its length, `total` that of the whole blob. */
export interface BlobAnswer extends CodeAnswer {
  sha256: string
  total: number
  /** The attempt that left it; set for a checkpoint. */
  attempt?: number
}

/** Describes the checkpoint of a kernel's chain, which the kernel's agent offers to the servers. */
export interface CheckpointRequest extends CodeRequest {
  /** The generation of the checkpoint's directory. */
  generation: number
  /** Missing if the agent only asks whether a copy is wanted. */
  copy?: CheckpointCopy | undefined
  /**
   * True while the kernel runs and its program has published a checkpoint; false or missing once the kernel has ended.
   */
  running?: boolean | undefined
  /** The `order` of the wish that this request answers. Missing from older agents. */
  order?: number | undefined
}

/** A checkpoint in transit: one archive. */
export interface CheckpointCopy {
  sha256: string
  /** Bytes of the archive before compression. */
  archiveBytes: number
  /** Number of files, and their total bytes. */
  files: number
  bytes: number
}

export interface CheckpointWish {
  /** False if a copy is of no use, or the servers already have it. */
  wanted: boolean
  /** Why no copy is wanted, for people. */
  reason: string | null
  /** Whether the servers have exactly this copy, and it is on record now. */
  recorded: boolean
  /** The most bytes that the archive may have. */
  bytesMax: number
  /**
   * Decides between two copies of one attempt: the copy with the greater order was inspected later and wins, regardless
   * of the order of arrival. Missing from older servers.
   */
  order?: number
}

/** A checkpoint for an agent. `chunks` are compressed with zstd; `bytes` is their total length. */
export interface CheckpointAnswer extends CodeAnswer {
  attempt: number
  sha256: string
  archiveBytes: number
}

/**
 * Reports about the outputs of a kernel that has ended, in this order: BEGIN, again from time to time while the agent
 * has them; then FILES, the sorted list in pages; then END. The contents are sent as blobs in between. Each may be
 * repeated, and after a failure the agent starts again with BEGIN.
 */
export type OutputsReport = CodeRequest &
  (
    | { step: 'BEGIN' }
    /** `first` replaces an earlier list. */
    | { step: 'FILES'; first: boolean; files: OutputFile[] }
    | {
        step: 'END'
        state: Extract<OutputsState, 'COMPLETE' | 'PARTIAL' | 'NONE'>
        /** The id of the list of files; null for none. */
        manifest: string | null
        reasons: string[]
        /** Where the files stay, as an absolute path; missing if their contents were sent. */
        directory?: string
      }
  )

export interface OutputsAnswer {
  /** False once the outputs are settled, or are not wanted: the agent then deletes the files. */
  wanted: boolean
  /** The session has not ended yet: BEGIN again later. */
  later?: boolean
  /** The most bytes that the files may have together. */
  bytesMax: number
  /** They are settled, and stay in place: the agent keeps the files, and asks again from time to time. */
  kept?: boolean
  /** Answers END: blobs that have not arrived. Missing if there are none, and then the outputs are settled. */
  missing?: string[]
}

/** Asks for the files of other sessions that belong into the working directory of a kernel. */
export interface InputsRequest extends CodeRequest {
  /** `next` of the answer before; null for the first page. */
  after: string | null
}

/** `path` of a file is its place in the working directory. */
export interface InputFile extends OutputFile {
  /** Where the content is, below a directory that stays in place; missing if it is a blob of the kernel's project. */
  source?: OutputsPlace & { path: string }
}

export interface InputsAnswer {
  files: InputFile[]
  /** Null at the end. */
  next: string | null
  /** Outputs that have not arrived yet, for people. The agent then asks again later. */
  waiting?: string
}

/** The server side as an agent sees it: in process the gateway itself, otherwise a client of its HTTP endpoints. */
export interface Gateway {
  /** @throws RepriseError FORBIDDEN, RESOURCE_GROUP_NOT_FOUND, VALIDATION_FAILED */
  register(request: RegisterRequest, signal: AbortSignal): Promise<RegisterAnswer>
  /** @throws RepriseError AGENT_UNKNOWN (register again), AGENT_SUPERSEDED (another process has this id: exit) */
  sync(request: SyncRequest, signal: AbortSignal): Promise<SyncAnswer>
  /**
   * For agents of the previous version, like the following ones that carry a whole archive.
   *
   * @throws RepriseError KERNEL_NOT_FOUND (it is no longer assigned to this agent), CODE_NOT_FOUND
   */
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
  /** @throws RepriseError KERNEL_NOT_FOUND (it is no longer assigned to this agent, or the session is gone) */
  reportOutputs(request: OutputsReport, signal: AbortSignal): Promise<OutputsAnswer>
  /** @throws RepriseError KERNEL_NOT_FOUND, OUTPUTS_NOT_FOUND (they will never come) */
  listInputs(request: InputsRequest, signal: AbortSignal): Promise<InputsAnswer>
  /** @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND (the servers have no copy of the newest checkpoint) */
  fetchCheckpoint(request: CodeRequest, signal: AbortSignal): Promise<CheckpointAnswer>
  /** @throws RepriseError KERNEL_NOT_FOUND */
  haveBlobs(request: BlobsRequest, signal: AbortSignal): Promise<{ blobs: BlobState[] }>
  /**
   * Idempotent: a part that the server has already is answered with the offset at which it continues.
   *
   * @param body the bytes of all slices
   * @throws RepriseError KERNEL_NOT_FOUND, REQUEST_TOO_LARGE, SERVER_DISK_FULL, STORAGE_UNAVAILABLE
   */
  sendParts(
    request: BlobPartRequest,
    body: Uint8Array,
    signal: AbortSignal,
    onSent?: () => void,
  ): Promise<{ blobs: BlobState[] }>
  /** @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND, STORAGE_UNAVAILABLE */
  fetchBlob(request: BlobRequest, signal: AbortSignal): Promise<BlobAnswer>
}

/**
 * Opens a channel to the server that waits for it.
 *
 * @throws if the server cannot be reached or no longer waits
 */
export type DialChannel = (order: ChannelOrder, signal: AbortSignal) => Promise<ChannelPort>

/** The agent protocol over HTTP: POST, JSON both ways, `Authorization: Bearer …`; 200, or an error as below. */
export const AGENT_REGISTER_PATH = '/agent/v1/register'
export const AGENT_SYNC_PATH = '/agent/v1/sync'
/** Reports about a kernel's outputs; see OutputsReport. */
export const AGENT_OUTPUTS_PATH = '/agent/v1/outputs'
export const AGENT_INPUTS_PATH = '/agent/v1/inputs'
/** The response body is the archive; `content-length` is its length. */
export const AGENT_CODE_PATH = '/agent/v1/code'
/** Asks whether a copy of a checkpoint is wanted. */
export const AGENT_CHECKPOINT_OFFER_PATH = '/agent/v1/checkpoint-offer'
/** The request body is the copy; the header below describes it in JSON. */
export const AGENT_CHECKPOINT_SEND_PATH = '/agent/v1/checkpoint-upload'
/** The response body is the copy; `content-length` is its length, and the header below describes it. */
export const AGENT_CHECKPOINT_FETCH_PATH = '/agent/v1/checkpoint'
export const AGENT_CHECKPOINT_HEADER = 'reprise-checkpoint'
/** Asks which blobs the project has. */
export const AGENT_BLOB_HAVE_PATH = '/agent/v1/blob-have'
/** The request body has the bytes of the slices, which the header below describes in JSON. */
export const AGENT_BLOB_PART_PATH = '/agent/v1/blob-part'
/** The response body is the rest of the blob; the header below describes it. */
export const AGENT_BLOB_PATH = '/agent/v1/blob'
export const AGENT_BLOB_HEADER = 'reprise-blob'
/**
 * Opens a WebSocket. The channel's id follows in the path, and its secret is the bearer token. 404 if the channel is at
 * another server.
 */
export const AGENT_CHANNEL_PATH = '/agent/v1/channels/'

export interface AgentErrorAnswer {
  /** A code of the error table, or INTERNAL. */
  code: string
  message: string
  issues: readonly ValidationIssue[]
  requestId: string
}
