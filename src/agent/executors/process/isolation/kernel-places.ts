import type { Isolation } from './isolation.ts'

/** What one kernel may use. */
export interface KernelPlaces {
  /** Absolute: a relative target of a bind mount would silently be one below the root. */
  readonly work: string
  readonly tmp: string
  readonly chain: string
  /** The directory above, if it becomes empty but for the kernel's own; null where something else hides it. */
  readonly chains: string | null
  /** User and group; null if it runs as the agent's user. */
  readonly uid: number | null
  /** Bytes of its `/dev/shm`; null: what the operating system allows. */
  readonly shmBytes: number | null
  /** Device nodes that it may use beside the harmless ones, and the groups by which it may open them. */
  readonly devices: readonly string[]
  readonly deviceGroups: readonly number[]
}

export interface Launch {
  readonly isolation: Isolation
  readonly places: KernelPlaces
}
