import type { Launch } from './kernel-places.ts'

export const NO_CAPABILITIES = ['--inh-caps=-all', '--ambient-caps=-all']

/** A command in front of another: without capabilities, and without a way back to them by any program. */
export function dropPrivileges(uid: number | null, groups: readonly number[] = []): string[] {
  const user = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, groupsOption(groups)]
  return ['setpriv', ...user, '--no-new-privs', '--bounding-set=-all', ...NO_CAPABILITIES]
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
  return ['unshare', `--setuid=${uid}`, `--setgid=${uid}`]
}
