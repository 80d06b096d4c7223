import type { Logger } from '../../../observability/log.ts'
import type { ImagePresets } from './image-preset.ts'
import type { MemoryCgroups } from './memory-cgroup.ts'
import type { Nursery } from './nursery.ts'
import type { ProcessKernel } from './process-kernel.ts'

/** What the steps of a kernel's life share. */
export interface ProcessHost {
  readonly kernelsDir: string
  readonly chainsDir: string
  /** PATH of the kernels. */
  readonly path: string
  readonly presets: ImagePresets
  readonly bootId: string
  /** Unlike those of every other instance, so that a late launch of theirs finds nothing to run. */
  readonly tokenPrefix: string
  /** null: by the watcher, or not at all. */
  readonly cgroups: MemoryCgroups | null
  readonly kernels: Map<string, ProcessKernel>
  readonly nursery: Nursery
  readonly log: Logger
  /** Sessions, by their leader's pid, in which something may be left to kill. */
  readonly sessionsToSweep: Set<number>
  /** Groups of ended kernels whose last process was still dying. */
  readonly cgroupsToRemove: Set<string>
  /** Resolves when it is gone, which may take its turn. */
  readonly removeDirectory: (path: string, token: string) => Promise<void>
  closed: boolean
  /** The directory is gone: a successor may begin. */
  removed(kernel: ProcessKernel): void
  changed(): void
  /** Something wants to be looked at soon. */
  wakeTicker(): void
}
