import { type JobUsers, uidOf } from './job-users.ts'
import type { ImagePresets, PulledImage } from '../process/image-preset.ts'
import { join } from 'node:path'
import type { Owner } from '../../../archive/extract-archive.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { type KernelEntry, newKernelEntry } from '../kernels/kernel-entry.ts'
import { type JobRow, type JobStatus, NO_STATUS, rowKey } from './slurm-status.ts'
import type { Logger } from '../../../observability/log.ts'
import type { KernelRegistry } from '../kernels/kernel-registry.ts'
import type { Node } from './capacity.ts'
import type { Lease } from './lease.ts'
import type { Presence } from './presence.ts'
import type { SharedDirectory } from './shared-directory.ts'
import type { SlurmCommands, SlurmContact } from './slurm-commands.ts'

/** What `image` means in Slurm: besides a preset's environment and interpreter, lines that load it on the node. */
export interface SlurmImage extends PulledImage {
  /** Lines of shell that run before the command, like `module load cuda`. */
  prolog: readonly string[]
  /** Further arguments of `sbatch`. */
  sbatch: readonly string[]
}

export interface SlurmOptions {
  /** Seen under the same path by this agent and by all nodes. */
  directory: string
  partition?: string | undefined
  account?: string | undefined
  qos?: string | undefined
  constraint?: string | undefined
  reservation?: string | undefined
  /** Project name → account. */
  accounts: Readonly<Record<string, string>>
  /** Null: all jobs are the agent's own user's. */
  users: JobUsers | null
  /** Slot → generic resource. */
  gres: Readonly<Record<string, string>>
  /** Slots offered, as a multiple of what the usable nodes have. */
  queueFactor: number
  /** Most jobs in Slurm at a time. */
  queueJobs: number
  pollMs: number
  /** Between two looks at what the partition has. */
  capacityMs: number
  images: Readonly<Record<string, SlurmImage>>
  /** Further arguments of `sbatch`, behind all others. */
  args: readonly string[]
}

/** How a kernel is found among Slurm's jobs; written to `submit` before it is handed to Slurm. */
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
  /** Whose job it is; null: the agent's own. Written down in its record. */
  user: Owner | null
  image: SlurmImage | null
  /** Equal for all that may share an array. */
  request: readonly string[]
  /** What keeps it from nodes where earlier attempts failed: a wish, and part of no request that Slurm refuses. */
  exclusion: readonly string[]
  submit: SubmitMark | null
  submissions: number
  /** When `sbatch` has succeeded, or an earlier instance may have called it, as `performance.now()`. */
  submittedAt: number
  status: JobStatus
  row: JobRow | null | 'unknown'
  /** In how many answers of Slurm, one after the other, it has been missing. */
  missed: number
  /** Since when the row is in its state, or missing, as `performance.now()`. */
  rowSince: number
  /** When its claim, or then its beginning, was first seen, as `performance.now()`: earlier answers are outdated. */
  statusSeenAt: number
  /** When its exit line was first seen; null before. */
  exitSeenAt: number | null
  /** Since when it is ended, but not known to be gone. */
  lingersSince: number
  /** The last means against a job that ignores its stop has been used. */
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
    cancelled: false,
  }
}

/** By which Slurm lists the job of one that was submitted. Anybody may give a job any name. */
export function keyOf({ user, submit }: Pick<SlurmKernel, 'user' | 'submit'>): string {
  return rowKey(uidOf(user), submit?.name ?? '', submit?.task ?? null)
}

/** One that belongs to another user has what the job writes in a directory of that user's. */
export function giveTo(kernel: SlurmKernel, user: Owner | null): void {
  kernel.user = user
  kernel.outputPath = user === null ? kernel.path : join(kernel.path, 'job')
}

/** Kernels that Slurm is to run together: those of a session are one job, with a task for each. */
export function gangSize({ spec }: Pick<SlurmKernel, 'spec'>): number {
  return spec.gang?.size ?? 1
}

export function memoryLimit(spec: KernelSpec): number | null {
  const bytes = Math.floor(Number(spec.resourceSlots['mem'] ?? 0))
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null
}

/** The node on which it runs; null as long as Slurm has none for it. */
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
  /** Of the partition, as last seen; none while nobody knows. */
  nodes: readonly Node[]
  readonly registry: KernelRegistry<SlurmKernel>
  readonly log: Logger
  /** Has it submitted, as soon as others like it are there. */
  enqueue(kernel: SlurmKernel): void
  /** Ends those that wait for their submission and are to stop. */
  dropStopped(): void
  /** Schedules a look at the kernels. */
  wake(): void
}
