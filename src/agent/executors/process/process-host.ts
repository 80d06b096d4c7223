import type { Logger } from '../../../observability/log.ts'
import type { ExecutorHooks } from '../executor.ts'
import type { ImagePresets, PulledImage } from './image-preset.ts'
import type { Isolation } from './isolation/isolation.ts'
import type { Keeper } from './fence/keeper.ts'
import type { KernelCgroup, KernelCgroups } from './limits/kernel-cgroups.ts'
import type { ForkServer } from './fence/fork-server.ts'
import type { ChainHost, ChainLimits } from '../chain/chain-host.ts'
import type { KernelRegistry } from '../kernels/kernel-steps.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { newKernelEntry } from '../kernels/kernel-entry.ts'
import type { Gpus } from '../../gpus/gpu-watch.ts'
import { type GpuKernel, NO_GPUS } from '../../gpus/kernel-gpus.ts'
import type { UsageMark } from '../kernels/kernel-directory.ts'
import type { ShimUsage } from '../kernels/shim-status.ts'

/** Limits of each kernel. */
export interface ProcessLimits extends ChainLimits {
  processes: number
  openFiles: number
}

/** The state that all steps of a kernel's life share. */
export interface ProcessHost {
  readonly registry: KernelRegistry<ProcessKernel>
  readonly chainsDir: string
  /** Identifies the directory of the chains, even if agents know it by different paths. */
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
  /** Null if none is writable. Leftovers of kernels are then searched for among all processes. */
  readonly cgroups: KernelCgroups | null
  readonly limits: ProcessLimits
  /** Largest archive of a kernel's uploaded code. */
  readonly codeBytesMax: number
  readonly fetchCode: ExecutorHooks['fetchCode']
  readonly listInputs: ExecutorHooks['listInputs']
  readonly blobs: ExecutorHooks['blobs']
  readonly relay: ExecutorHooks['relay']
  /** Null if the agent assigns no GPUs. */
  readonly gpus: Gpus | null
  readonly forkServer: ForkServer
  readonly keeper: Keeper
  readonly log: Logger
  /** Cgroups of ended kernels that could not be removed yet because a process was still dying. */
  readonly cgroupsToRemove: Set<KernelCgroup>
  /** Schedules the next pass of each watch. */
  wake(): void
}

/** The process group that was asked to end, and processes that must not be asked. */
export interface Asked {
  group: number
  spared: readonly number[]
}

export interface ProcessKernel extends GpuKernel {
  shim: { pid: number; startTicks: number } | null
  /** True if the shim writes to this instance's pipe. Otherwise the agent polls for the shim's end. */
  heard: boolean
  image: PulledImage | null
  /** The user that the command runs as; null for the agent's own user. */
  uid: number | null
  /** The kernel's processes have a PID namespace, whose first process is not in the shim's group. */
  namespaced: boolean
  cgroup: KernelCgroup | null
  memoryLimitBytes: number | null
  /** The command may have run outside the kernel's cgroup, whose meters are then meaningless. */
  outside: boolean
  /** Usage that the shim read at the end. */
  used: ShimUsage | null
  /** Usage that this or an earlier instance of the agent measured while the kernel ran. */
  seen: UsageMark | null
  /** Memory usage that was last written to the kernel's directory. */
  notedBytes: number
  /** This instance of the agent has seen the kernel run, so it knows when the kernel ended. */
  watched: boolean
  /** The command could not take signals yet, so the stop has still to reach it. */
  signalPending: boolean
  /** Processes outside the command's group that have still to be asked to end; null if there are none to look for. */
  toAsk: Asked | null
  killed: boolean
  /** The shim has ended. The end is reported only once no process that the command started is left. */
  ending: { exitCode: number | null; endedAt: string } | null
  /** A scan of all processes after the end of the shim has found no leftovers. */
  swept: boolean
  launchedAt: number
  nextLifeCheckAt: number
}

export function newProcessKernel(spec: KernelSpec, assignment: number, path: string): ProcessKernel {
  return {
    ...newKernelEntry(spec, assignment, path),
    ...NO_GPUS,
    shim: null,
    heard: true,
    image: null,
    uid: null,
    namespaced: false,
    cgroup: null,
    memoryLimitBytes: memoryLimit(spec),
    outside: false,
    used: null,
    seen: null,
    notedBytes: 0,
    watched: false,
    signalPending: false,
    toAsk: null,
    killed: false,
    ending: null,
    swept: false,
    launchedAt: 0,
    nextLifeCheckAt: 0,
  }
}

/** Returns the memory limit in bytes; null if the kernel asks for no memory. */
export function memoryLimit(spec: KernelSpec): number | null {
  const bytes = Math.floor(Number(spec.resourceSlots['mem'] ?? 0))
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null
}

/** Returns the requested CPUs; null if the kernel asks for none. */
export function cpus(spec: KernelSpec): number | null {
  const amount = Number(spec.resourceSlots['cpu'] ?? 0)
  return Number.isFinite(amount) && amount > 0 ? amount : null
}
