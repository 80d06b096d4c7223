import { systemProgram } from '../../../../machine/system-programs.ts'
import type { Launch } from './isolation.ts'

export const NO_CAPABILITIES = ['--inh-caps=-all', '--ambient-caps=-all']

/** A command in front of another: without capabilities, and without a way back to them by any program. */
export function dropPrivileges(uid: number | null, groups: readonly number[] = []): string[] {
  const user = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, groupsOption(groups)]
  return [systemProgram('setpriv'), ...user, '--no-new-privs', '--bounding-set=-all', ...NO_CAPABILITIES]
}

/**
 * The same for a command that enters namespaces on its way: the user is set by `nsenter` behind the border, before
 * anything is looked up in the kernel's file system, so that no program, library or locale there has more rights than
 * the kernel. A change of the user gives up all capabilities, and without new privileges none comes back.
 */
export function enterAndBecome(uid: number, groups: readonly number[], namespaces: readonly string[]): string[] {
  const drop = ['--no-new-privs', ...NO_CAPABILITIES, `--regid=${uid}`, groupsOption(groups)]
  const enter = ['--no-fork', ...namespaces, `--setuid=${uid}`, '--']
  return [systemProgram('setpriv'), ...drop, systemProgram('nsenter'), ...enter]
}

function groupsOption(groups: readonly number[]): string {
  return groups.length === 0 ? '--clear-groups' : `--groups=${groups.join(',')}`
}

/**
 * The same below a fork server that has no way to more rights: there the change of the user is enough, and what is left
 * in the inheritable and the bounding set has no effect. `setpriv` would ask the name service who has this number: some
 * milliseconds.
 *
 * @param more for `setpriv`
 */
export function becomeUser({ isolation, places }: Launch, more: readonly string[] = []): string[] {
  const { uid, deviceGroups } = places
  const short = uid !== null && isolation.numericIds && deviceGroups.length === 0
  return short ? setIds(uid) : [...dropPrivileges(uid, deviceGroups), ...more]
}

export function setIds(uid: number): string[] {
  return [systemProgram('unshare'), `--setuid=${uid}`, `--setgid=${uid}`]
}
