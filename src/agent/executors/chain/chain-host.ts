import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { Logger } from '../../../observability/log.ts'
import type { CheckpointRelay } from '../executor.ts'
import type { Removals } from '../../removals.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'

/** The parts of an executor that keep directories for chains. */
export interface ChainHost {
  readonly chainsDir: string
  /** Identifies the directory of the chains, even if agents know it by different paths. */
  readonly chainStore: string
  readonly registry: {
    readonly kernelsDir: string
    changed(): void
    readonly kernels: ReadonlyMap<string, KernelEntry>
    readonly closed: boolean
    readonly removals: Removals
  }
  readonly limits: ChainLimits
  /** Directories, by name, that were too large to count. */
  readonly tooLarge: Map<string, Pick<KernelSpec, 'chainId' | 'checkpoint'>>
  /**
   * Directories, by name, of which a snapshot is being sent to the servers. The work ends soon once it is not wanted.
   */
  readonly publishing: Map<string, Promise<void>>
  /** If missing, checkpoints stay on this agent. */
  readonly relay: CheckpointRelay | undefined
  readonly log: Logger
}

/** Limits of a chain's directory. Null means no limit. */
export interface ChainLimits {
  chainBytes: number | null
  /** Number of files and directories in it. */
  chainFiles: number | null
}
