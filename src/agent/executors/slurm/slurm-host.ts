import type { Logger } from '../../../observability/log.ts'
import type { KernelRegistry } from '../kernels/kernel-registry.ts'
import type { ImagePresets } from '../process/image-preset.ts'
import type { Node } from './capacity.ts'
import type { Lease } from './lease.ts'
import type { Presence } from './presence.ts'
import type { SharedDirectory } from './shared-directory.ts'
import type { SlurmContact } from './slurm-contact.ts'
import type { SlurmCommands } from './slurm-commands.ts'
import type { SlurmKernel } from './slurm-kernel.ts'
import type { SlurmOptions } from './slurm-options.ts'

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
