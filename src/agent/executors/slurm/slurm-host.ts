import { type JobUsers, uidOf } from './job-users.ts'
import type { ImagePresets, PulledImage } from '../process/image-preset.ts'
import { join } from 'node:path'
import type { Owner } from '../../../archive/extract-archive.ts'
import type { Gpu, GpuUsage } from '../../../domain/gpu.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { type KernelEntry, newKernelEntry } from '../kernels/kernel-entry.ts'
import { type JobRow, type JobStatus, NO_STATUS, rowKey } from './slurm-status.ts'
import type { Logger } from '../../../observability/log.ts'
import type { KernelRegistry } from '../kernels/kernel-steps.ts'
import type { Node } from './capacity.ts'
import type { Lease } from './lease.ts'
import type { Presence } from './presence.ts'
import type { SharedDirectory } from './shared-directory.ts'
import type { SlurmCommands, SlurmContact } from './slurm-commands.ts'

/**
 * The meaning of `image` in Slurm: a preset's environment and interpreter, and lines that load the image on the node.
 */
export interface SlurmImage extends PulledImage {
  /** Lines of shell that run before the command, like `module load cuda`. */
  prolog: readonly string[]
  /** Further arguments of `sbatch`. */
  sbatch: readonly string[]
}

export interface SlurmOptions {
  /** A path that leads to the same directory for this agent and for all nodes. */
  directory: string
  partition?: string | undefined
  account?: string | undefined
  qos?: string | undefined
  constraint?: string | undefined
  reservation?: string | undefined
  /** Project name → account. */
  accounts: Readonly<Record<string, string>>
  /** Null if all jobs belong to the agent's own user. */
  users: JobUsers | null
  /** Slot → generic resource of Slurm. */
  gres: Readonly<Record<string, string>>
  /** Slots offered, as a multiple of what the usable nodes have. */
  queueFactor: number
  /** Largest number of jobs in Slurm at a time. */
  queueJobs: number
  pollMs: number
  /** Pause between two checks of what the partition has. */
  capacityMs: number
  images: Readonly<Record<string, SlurmImage>>
  /** Further arguments of `sbatch`, after all others. */
  args: readonly string[]
}

/** Identifies a kernel among Slurm's jobs. It is written to `submit` before the kernel is handed to Slurm. */
export interface SubmitMark {
  /** The job's name. */
  name: string
  /** Number of its task, if the job is an array. */
  task: number | null
  /** Wall-clock time in milliseconds. */
  at: number
  /** How often it has been submitted. */
  submissions: number
}

export interface SlurmKernel extends KernelEntry {
  /** The user who owns its job; null for the agent's own. It is part of the kernel's record. */
  user: Owner | null
  image: SlurmImage | null
  /** Arguments of `sbatch`. Kernels with equal arguments may share an array. */
  request: readonly string[]
  /**
   * Arguments that exclude nodes where earlier attempts failed. They are optional: if Slurm refuses a job, it is not
   * because of them.
   */
  exclusion: readonly string[]
  submit: SubmitMark | null
  submissions: number
  /** A time of `performance.now()` at which `sbatch` succeeded, or an earlier instance may have called it. */
  submittedAt: number
  status: JobStatus
  row: JobRow | null | 'unknown'
  /** Number of successive answers of Slurm in which its job has been missing. */
  missed: number
  /** A time of `performance.now()` since which the row is in its state, or missing. */
  rowSince: number
  /**
   * A time of `performance.now()` at which its claim, or later its beginning, was first seen. Earlier answers are
   * outdated.
   */
  statusSeenAt: number
  /** Time at which its exit line was first seen; null before. */
  exitSeenAt: number | null
  /** Time since which it has ended but is not known to be gone. */
  lingersSince: number
  /** The GPUs that Slurm has given to it; null if it has none, or its job has not reported them yet. */
  gpus: Gpu[] | null
  /** What it has used of them, as it was last reported; null if nothing is counted. */
  gpuUsage: GpuUsage | null
  /** When that was read, in ms of the monotonic clock. */
  gpuUsageAt: number
  /** The last resort against a job that ignores its stop has been used. */
  cancelled: boolean
}

export function newSlurmKernel(spec: KernelSpec, assignment: number, path: string): SlurmKernel {
  return {
    ...newKernelEntry(spec, assignment, path),
    token: String(assignment),
    user: null,
    image: null,
    request: [],
    exclusion: [],
    submit: null,
    submissions: 0,
    submittedAt: 0,
    status: NO_STATUS,
    row: 'unknown',
    missed: 0,
    rowSince: 0,
    statusSeenAt: 0,
    exitSeenAt: null,
    lingersSince: 0,
    gpus: null,
    gpuUsage: null,
    gpuUsageAt: Number.NEGATIVE_INFINITY,
    cancelled: false,
  }
}

/** Returns the key by which Slurm lists its job. The key includes the user, since anybody may give a job any name. */
export function keyOf({ user, submit }: Pick<SlurmKernel, 'user' | 'submit'>): string {
  return rowKey(uidOf(user), submit?.name ?? '', submit?.task ?? null)
}

/** Sets the job's user. Another user than the agent's gets a directory for what the job writes. */
export function giveTo(kernel: SlurmKernel, user: Owner | null): void {
  kernel.user = user
  kernel.outputPath = user === null ? kernel.path : join(kernel.path, 'job')
}

/** Returns how many kernels Slurm has to run together: the kernels of a session are one job, with a task for each. */
export function gangSize({ spec }: Pick<SlurmKernel, 'spec'>): number {
  return spec.gang?.size ?? 1
}

export function memoryLimit(spec: KernelSpec): number | null {
  const bytes = Math.floor(Number(spec.resourceSlots['mem'] ?? 0))
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null
}

/** Returns the node on which it runs; null until Slurm has assigned one. */
export function hostOf({ row, status }: SlurmKernel): string | null {
  if (status.began !== null && status.began.node !== '') return status.began.node
  return row === null || row === 'unknown' || row.node === '' ? null : row.node
}

/** The state that all steps of a kernel's life share. */
export interface SlurmHost {
  readonly agentId: string
  readonly options: SlurmOptions
  readonly shared: SharedDirectory
  readonly presence: Presence
  readonly presets: ImagePresets
  /** The kernels' default PATH. */
  readonly path: string
  readonly commands: SlurmCommands
  readonly contact: SlurmContact
  readonly lease: Lease
  /** See RegisterAnswer. */
  serverHeedsGone: boolean
  /** Nodes of the partition, as last seen; empty while unknown. */
  nodes: readonly Node[]
  readonly registry: KernelRegistry<SlurmKernel>
  readonly log: Logger
  /** Submits the kernel, as soon as similar ones are ready. */
  enqueue(kernel: SlurmKernel): void
  /** Ends kernels whose stop was ordered while they wait for their submission. */
  dropStopped(): void
  /** Called when a kernel has got or left GPUs. */
  gpusChanged(): void
  /** Schedules a check of the kernels. */
  wake(): void
}
