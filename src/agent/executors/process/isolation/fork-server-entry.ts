import { readFileSync } from 'node:fs'
import { systemProgram } from '../../../../machine/system-programs.ts'
import { quote } from '../shell.ts'
import { INTERFACES, NAME_SERVICE } from './launch-command.ts'
import { NO_CAPABILITIES } from './drop-privileges.ts'
import { isBelow } from './hidden-paths.ts'
import type { Isolation } from './isolation.ts'

/**
 * Returns a command prefix that starts the fork server. The command drops, once per agent, what kernels must not have
 * or do not need, so that not every kernel has to drop it: the ability to gain rights through a program, and mounts.
 * Fewer mounts matter because bubblewrap reads the list of all mounts about twenty times, and each must become
 * read-only for each kernel.
 *
 * @param used path that stays mounted
 */
export function forkServerEntry({ namespaces, numericIds }: Isolation, used: string): string[] {
  if (!numericIds) return []
  const entry = [systemProgram('setpriv'), '--no-new-privs', ...NO_CAPABILITIES]
  if (namespaces === null) return entry
  const unneeded = unneededMounts(readFileSync('/proc/self/mountinfo', 'utf8'), [used, ...NAME_SERVICE])
  const unmount = unneeded.length === 0 ? '' : `umount -n -l ${unneeded.map(quote).join(' ')} 2>/dev/null; `
  // Later mounts and unmounts on the machine still propagate.
  const apart = [systemProgram('unshare'), '--mount', '--propagation', 'slave']
  return [...entry, ...apart, '/bin/sh', '-c', `${unmount}exec "$@"`, 'sh']
}

/** Version 1 cgroups whose limits programs read. */
const TELLING = /\b(memory|cpu|cpuset|cpuacct|pids)\b/

/** Lists mount points that contain no path of `used`, the innermost first. */
export function unneededMounts(mountinfo: string, used: readonly string[]): string[] {
  const mounts = mountinfo.split('\n').filter(Boolean).map(parseMount)
  const unneeded = mounts.filter(
    ({ point, type, options }) =>
      (INTERFACES.includes(type) || point === '/dev/shm' || (type === 'cgroup' && !TELLING.test(options))) &&
      !used.some((path) => path === point || isBelow(path, point)),
  )
  return unneeded.map(({ point }) => point).toReversed()
}

/**
 * Parses a line like `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`, where blanks in
 * paths are written as `\040`.
 */
function parseMount(line: string): { point: string; type: string; options: string } {
  const [before = '', after = ''] = line.split(' - ')
  const [type = '', , options = ''] = after.split(' ')
  const point = (before.split(' ')[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
  return { point, type, options }
}
