import { join } from 'node:path'
import type { Owner } from '../../../archive/extract-archive.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { type KernelEntry, newKernelEntry } from '../kernels/kernel-entry.ts'
import { uidOf } from './job-users.ts'
import { type JobRow, rowKey } from './parse-squeue.ts'
import type { SlurmImage } from './slurm-options.ts'
import { type JobStatus, NO_STATUS } from './slurm-status.ts'

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
