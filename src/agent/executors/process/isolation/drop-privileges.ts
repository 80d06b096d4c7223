/** A command in front of another: without capabilities, and without a way back to them by any program. */
export function dropPrivileges(uid: number | null, groups: readonly number[] = []): string[] {
  const user = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, groupsOption(groups)]
  return ['setpriv', ...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all']
}

function groupsOption(groups: readonly number[]): string {
  return groups.length === 0 ? '--clear-groups' : `--groups=${groups.join(',')}`
}
