import type { Hidden, OwnPrograms } from './hidden-paths.ts'
import type { ProjectUids } from './project-uids.ts'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** As configured. */
export type IsolationMode = 'auto' | 'namespaces' | 'user' | 'none'

/**
 * What keeps a kernel from the server, from the agent, and from other kernels. Chosen once per agent.
 *
 * - `namespaces`: its own mount, PID and IPC namespaces, and a user namespace where the agent is not root
 * - `user`: the agent is root, and each project has an own user id
 */
export interface Isolation {
  readonly namespaces: Namespaces | null
  readonly uids: ProjectUids | null
  /** `unshare` can set a user id here. The fork server then has no way to more rights, and so has no kernel. */
  readonly numericIds: boolean
}

export interface Namespaces {
  readonly by: 'bubblewrap' | 'unshare'
  /** This bubblewrap can forbid further user namespaces, and bound the size of a file system in memory. */
  readonly restricts: boolean
  /** Directory that becomes empty but for the kernel's own: the data directory, or what hides it from the kernel. */
  readonly mask: string
  /** Further files and directories that become empty. They exist. */
  readonly hidden: readonly Hidden[]
  /** Null: kernels see the server's programs as they are. */
  readonly own: OwnPrograms | null
}

export const NO_ISOLATION: Isolation = { namespaces: null, uids: null, numericIds: false }

/** As an agent reports it. */
export function isolationName({ namespaces, uids }: Isolation): string {
  const parts = [...(namespaces === null ? [] : ['namespaces']), ...(uids === null ? [] : ['user'])]
  return parts.length === 0 ? 'none' : parts.join('+')
}

/** The weakest first. */
const STRENGTHS = ['none', 'user', 'namespaces', 'namespaces+user']

/** Whether one is weaker than another, by their names. */
export function isWeaker(name: string, other: string): boolean {
  return STRENGTHS.indexOf(name) < STRENGTHS.indexOf(other)
}

/** It cannot be found out now what works here: another try may, once there is space or time. */
export class IsolationUndecidedError extends Error {
  constructor(faults: readonly string[]) {
    super(`it cannot be found out now how kernels can be isolated here (${faults.join('; ')})`)
    this.name = 'IsolationUndecidedError'
  }
}

/** A configured mode that does not work here. Nothing but a change of the machine or the configuration helps. */
export class IsolationError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'IsolationError'
  }
}

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

/** Accelerators: NVIDIA, AMD, and what the direct rendering manager offers. */
const ACCELERATORS = /^(nvidia.*|kfd|dri|accel|davinci.*)$/

/** Slots that need no device. */
const WITHOUT_DEVICE = new Set(['cpu', 'mem'])

interface Devices {
  nodes: string[]
  /** By which a user that has nothing else may open them. */
  groups: number[]
}

const NONE: Devices = { nodes: [], groups: [] }

/** What a kernel with these slots may use. */
export function devicesFor(slots: Readonly<Record<string, string>>, root = '/dev'): Devices {
  const needed = Object.entries(slots).some(([slot, amount]) => !WITHOUT_DEVICE.has(slot) && Number(amount) > 0)
  if (!needed) return NONE
  const nodes = readdirSync(root)
    .filter((name) => ACCELERATORS.test(name))
    .map((name) => join(root, name))
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
