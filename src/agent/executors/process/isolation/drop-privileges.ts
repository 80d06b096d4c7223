import { systemProgram } from '../../../../machine/system-programs.ts'
import type { Launch } from './isolation.ts'

export const NO_CAPABILITIES = ['--inh-caps=-all', '--ambient-caps=-all']

/** Returns a command prefix that drops all capabilities, so that no program can regain them. */
export function dropPrivileges(uid: number | null, groups: readonly number[] = []): string[] {
  const user = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, groupsOption(groups)]
  return [systemProgram('setpriv'), ...user, '--no-new-privs', '--bounding-set=-all', ...NO_CAPABILITIES]
}

/**
 * Returns such a prefix for a command that enters namespaces. `nsenter` sets the user inside, before anything is looked
 * up in the kernel's file system, so that no program, library or locale there gets more rights than the kernel. The
 * change of the user drops all capabilities, and `--no-new-privs` keeps them from coming back.
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
 * Returns such a prefix for children of a fork server that cannot gain rights. There the change of the user is enough,
 * and what remains in the inheritable and the bounding set has no effect. It avoids `setpriv`, which asks the name
 * service for the user's name: that takes some milliseconds.
 *
 * @param more further arguments of `setpriv`
 */
export function becomeUser({ isolation, places }: Launch, more: readonly string[] = []): string[] {
  const { uid, deviceGroups } = places
  const short = uid !== null && isolation.numericIds && deviceGroups.length === 0
  return short ? setIds(uid) : [...dropPrivileges(uid, deviceGroups), ...more]
}

export function setIds(uid: number): string[] {
  return [systemProgram('unshare'), `--setuid=${uid}`, `--setgid=${uid}`]
}
