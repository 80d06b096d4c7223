import type { JobUsers } from './job-users.ts'
import type { PulledImage } from '../process/image-preset.ts'

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
