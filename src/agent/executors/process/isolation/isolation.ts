import type { Hidden } from './hidden-paths.ts'
import type { OwnPrograms } from './own-programs.ts'
import type { ProjectUids } from './project-uids.ts'

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
