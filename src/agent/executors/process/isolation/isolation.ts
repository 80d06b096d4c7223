import type { Hidden, OwnPrograms } from './hidden-paths.ts'
import type { ProjectUids } from './project-uids.ts'
import { GPU_SLOTS } from '../../../../domain/gpu.ts'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The configured mode. */
export type IsolationMode = 'auto' | 'namespaces' | 'user' | 'none'

/**
 * How a kernel is isolated from the server, the agent and other kernels. Chosen once per agent.
 *
 * - `namespaces`: its own mount, PID and IPC namespaces, and a user namespace unless the agent is root
 * - `user`: the agent is root, and each project has its own user id
 */
export interface Isolation {
  readonly namespaces: Namespaces | null
  readonly uids: ProjectUids | null
  /**
   * `unshare` can set a user id here. The fork server, and so every kernel, is then started without the ability to gain
   * rights.
   */
  readonly numericIds: boolean
}

export interface Namespaces {
  readonly by: 'bubblewrap' | 'unshare'
  /**
   * Whether the installed bubblewrap can forbid further user namespaces, and limit the size of a file system in memory.
   */
  readonly restricts: boolean
  /**
   * Directory that becomes empty except for the kernel's own: the data directory, or a directory above that hides it.
   */
  readonly mask: string
  /** Further files and directories that become empty. They exist. */
  readonly hidden: readonly Hidden[]
  /** Null if kernels see the server's programs anyway. */
  readonly own: OwnPrograms | null
}

export const NO_ISOLATION: Isolation = { namespaces: null, uids: null, numericIds: false }

/** Returns the name that an agent reports. */
export function isolationName({ namespaces, uids }: Isolation): string {
  const parts = [...(namespaces === null ? [] : ['namespaces']), ...(uids === null ? [] : ['user'])]
  return parts.length === 0 ? 'none' : parts.join('+')
}

/** Isolations by strength, the weakest first. */
const STRENGTHS = ['none', 'user', 'namespaces', 'namespaces+user']

/** Whether one isolation is weaker than another, by their names. */
export function isWeaker(name: string, other: string): boolean {
  return STRENGTHS.indexOf(name) < STRENGTHS.indexOf(other)
}

/**
 * Thrown if it cannot be determined now which isolations work here. Another try may succeed once there is disk space,
 * or once the machine is less busy.
 */
export class IsolationUndecidedError extends Error {
  constructor(faults: readonly string[]) {
    super(`it cannot be found out now how kernels can be isolated here (${faults.join('; ')})`)
    this.name = 'IsolationUndecidedError'
  }
}

/** A configured mode does not work here. Only a change of the machine or the configuration helps. */
export class IsolationError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'IsolationError'
  }
}

/** The resources that one kernel may use. */
export interface KernelPlaces {
  /** Absolute, because a relative target of a bind mount would silently be relative to the root. */
  readonly work: string
  readonly tmp: string
  readonly chain: string
  /** The parent directory, if it becomes empty except for the kernel's own; null if something else hides it. */
  readonly chains: string | null
  /** User and group; null if it runs as the agent's user. */
  readonly uid: number | null
  /** Size of its `/dev/shm` in bytes; null for the system's default. */
  readonly shmBytes: number | null
  /** Device nodes that it may use besides the harmless ones, and the groups that may open them. */
  readonly devices: readonly string[]
  /** Device nodes of GPUs that it does not have, for an isolation that keeps the machine's `/dev`. */
  readonly closedDevices: readonly string[]
  readonly deviceGroups: readonly number[]
}

export interface Launch {
  readonly isolation: Isolation
  readonly places: KernelPlaces
}

/** Accelerators: NVIDIA, AMD, and devices of the direct rendering manager. */
const ACCELERATORS = /^(nvidia.*|kfd|dri|accel|davinci.*)$/

/** Slots that need no device. */
const WITHOUT_DEVICE = new Set(['cpu', 'mem'])

interface Devices {
  nodes: string[]
  /** Groups that may open the nodes. */
  groups: number[]
}

const NONE: Devices = { nodes: [], groups: [] }

/** Those of them that the agent assigns itself. */
const GPUS = /^(nvidia.*|kfd|dri)$/

/**
 * Returns the devices that a kernel with these slots may use.
 *
 * @param gpuNodes nodes of its GPUs; null if the agent assigns none, so that it may use all
 */
export function devicesFor(
  slots: Readonly<Record<string, string>>,
  gpuNodes: readonly string[] | null,
  root = '/dev',
): Devices {
  const assigned: ReadonlySet<string> = new Set(gpuNodes === null ? [] : GPU_SLOTS)
  const needed = Object.entries(slots).some(
    ([slot, amount]) => !WITHOUT_DEVICE.has(slot) && !assigned.has(slot) && Number(amount) > 0,
  )
  if (!needed && (gpuNodes ?? []).length === 0) return NONE
  const own = (gpuNodes ?? []).filter((path) => statSync(path, { throwIfNoEntry: false }) !== undefined)
  const others = !needed
    ? []
    : readdirSync(root)
        .filter((name) => ACCELERATORS.test(name) && (gpuNodes === null || !GPUS.test(name)))
        .map((name) => join(root, name))
  const nodes = [...own, ...others]
  const all = nodes.flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]))
  const groups = all
    .map((path) => statSync(path))
    .filter((stat) => (stat.mode & 0o060) !== 0)
    .map(({ gid }) => gid)
  return { nodes, groups: [...new Set(groups)].filter((gid) => gid !== 0) }
}

function filesIn(directory: string): string[] {
  return readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((path) => !statSync(path).isDirectory())
}
