import type { Logger } from '../../../observability/log.ts'
import type { ExecutorHooks } from '../executor.ts'
import type { ImagePresets } from './image-preset.ts'
import type { Isolation } from './isolation/isolation.ts'
import type { Keeper } from './fence/keeper.ts'
import type { KernelCgroup, KernelCgroups } from './limits/kernel-cgroups.ts'
import type { ForkServer } from './fence/fork-server.ts'
import type { ChainHost, ChainLimits } from '../chain/chain-host.ts'
import type { KernelRegistry } from '../kernels/kernel-registry.ts'
import type { ProcessKernel } from './process-kernel.ts'

/** Bounds of each kernel. */
export interface ProcessLimits extends ChainLimits {
  processes: number
  openFiles: number
}

/** The state that all steps of a kernel's life share. */
export interface ProcessHost {
  readonly registry: KernelRegistry<ProcessKernel>
  readonly chainsDir: string
  /** Identifies that directory. */
  readonly chainStore: string
  readonly tooLarge: ChainHost['tooLarge']
  readonly publishing: ChainHost['publishing']
  /** The kernels' default PATH. */
  readonly path: string
  readonly presets: ImagePresets
  readonly bootId: string
  /** Unique to this instance, so that a late launch of an earlier one finds no script to run. */
  readonly tokenPrefix: string
  readonly isolation: Isolation
  /** Null if none is writable. What a kernel leaves behind is then sought among all processes. */
  readonly cgroups: KernelCgroups | null
  readonly limits: ProcessLimits
  /** Of a kernel's uploaded code. */
  readonly codeBytesMax: number
  readonly fetchCode: ExecutorHooks['fetchCode']
  readonly relay: ExecutorHooks['relay']
  readonly forkServer: ForkServer
  readonly keeper: Keeper
  readonly log: Logger
  /** Cgroups of ended kernels that could not be removed yet because a process was still dying. */
  readonly cgroupsToRemove: Set<KernelCgroup>
  /** Schedules a tick. */
  wakeTicker(): void
}
