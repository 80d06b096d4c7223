import type { Logger } from '../../../observability/log.ts'
import type { ImagePresets } from './image-preset.ts'
import type { Keeper } from './keeper.ts'
import type { MemoryCgroups } from './memory-cgroup.ts'
import type { Nursery } from './nursery.ts'
import type { ProcessKernel } from './process-kernel.ts'

/** The state that all steps of a kernel's life share. */
export interface ProcessHost {
  readonly kernelsDir: string
  readonly chainsDir: string
  /** The kernels' default PATH. */
  readonly path: string
  readonly presets: ImagePresets
  readonly bootId: string
  /** Unique to this instance, so that a late launch of an earlier one finds no script to run. */
  readonly tokenPrefix: string
  /** Null if memory is limited by the watcher, or not at all. */
  readonly cgroups: MemoryCgroups | null
  readonly kernels: Map<string, ProcessKernel>
  readonly nursery: Nursery
  readonly keeper: Keeper
  readonly log: Logger
  /** Process sessions, by their leader's pid, in which processes may be left to kill. */
  readonly sessionsToSweep: Set<number>
  /** Cgroups of ended kernels that could not be removed yet because a process was still dying. */
  readonly cgroupsToRemove: Set<string>
  /** Queued; resolves when the directory is gone. */
  readonly removeDirectory: (path: string, token: string) => Promise<void>
  closed: boolean
  /** Called when the kernel's directory is gone, so that a successor may begin. */
  removed(kernel: ProcessKernel): void
  changed(): void
  /** Schedules a tick. */
  wakeTicker(): void
}
