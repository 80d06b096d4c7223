import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { Logger } from '../../../observability/log.ts'
import type { CheckpointRelay } from '../executor.ts'
import type { Removals } from '../../removals.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'

/** What keeps directories for chains. */
export interface ChainHost {
  readonly chainsDir: string
  /** Identifies that directory. */
  readonly chainStore: string
  readonly registry: {
    readonly kernelsDir: string
    changed(): void
    readonly kernels: ReadonlyMap<string, KernelEntry>
    readonly closed: boolean
    readonly removals: Removals
  }
  readonly limits: ChainLimits
  /** By name, those whose directories were not looked through to the end. */
  readonly tooLarge: Map<string, Pick<KernelSpec, 'chainId' | 'checkpoint'>>
  /** By name, the directories of which a snapshot is on its way to the servers; ends soon when it is not wanted. */
  readonly publishing: Map<string, Promise<void>>
  /** Missing: checkpoints stay where they are. */
  readonly relay: CheckpointRelay | undefined
  readonly log: Logger
}

/** Bounds of the directory of a chain; null: no bound. */
export interface ChainLimits {
  chainBytes: number | null
  /** Files and directories in it. */
  chainFiles: number | null
}
