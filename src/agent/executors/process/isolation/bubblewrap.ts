import { join, sep } from 'node:path'
import { dropPrivileges } from './drop-privileges.ts'
import { ancestors, type Hidden } from './hidden-paths.ts'
import type { Namespaces } from './isolation.ts'
import type { KernelPlaces, Launch } from './kernel-places.ts'
import type { OwnPrograms } from './own-programs.ts'

/** On which bubblewrap says who its child is, as seen from outside. */
export const INFO_FD = 7

/** What finds names in networks, below a `/run` that is hidden for its sockets. */
export const NAME_SERVICE = ['/run/systemd/resolve', '/run/resolvconf', '/run/NetworkManager/resolv.conf', '/run/nscd']

/**
 * As root the kernel gets another user, and no user namespace: it has no capabilities in any. Otherwise a user
 * namespace, in which its user has the same number, and in which no further one can be made.
 *
 * The later of two mounts covers the earlier. PID 1 is the shell: it ends when the command has ended, and with it the
 * operating system ends all others of the namespace before it tells anybody.
 */
export function bubblewrapArguments({ places }: Launch, namespaces: Namespaces): string[] {
  const { uid } = places
  const drop = uid === null ? [] : [...dropPrivileges(uid, places.deviceGroups), '--pdeathsig=KILL']
  const user = uid === null ? ['--unshare-user', ...(namespaces.restricts ? ['--disable-userns'] : [])] : privileged()
  return [
    ['bwrap', ...user],
    ['--unshare-pid', '--unshare-ipc', '--die-with-parent', '--new-session', '--as-pid-1'],
    ['--info-fd', String(INFO_FD)],
    mounts(places, namespaces),
    ['--chdir', '/', '--', ...drop, '/bin/sh'],
  ].flat()
}

/** What setpriv needs to change the user, and gives up then. */
function privileged(): string[] {
  return ['--cap-drop', 'ALL', ...['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'].flatMap((name) => ['--cap-add', name])]
}

function mounts(places: KernelPlaces, { mask, hidden, own, restricts }: Namespaces): string[] {
  const { work, tmp, chain, devices, shmBytes } = places
  const size = restricts && shmBytes !== null ? ['--size', String(shmBytes)] : []
  return [
    ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    devices.flatMap((device) => ['--dev-bind', device, device]),
    ['--perms', '1777', ...size, '--tmpfs', '/dev/shm'],
    ['--tmpfs', '/run', ...NAME_SERVICE.flatMap((path) => ['--ro-bind-try', path, path])],
    ['--bind', tmp, '/tmp', '--bind', tmp, '/var/tmp'],
    hidden.flatMap(hide),
    ['--tmpfs', mask, ...passable(mask, [work, chain])],
    own === null ? [] : show(own),
    ['--bind', work, work, '--bind', chain, chain, '--remount-ro', mask],
  ].flat()
}

function show({ root, names, within, empties }: OwnPrograms): string[] {
  const paths = names.map((name) => join(root, name))
  const binds = [...passable(within, paths), ...paths.flatMap((path) => ['--ro-bind', path, path])]
  return empties ? ['--tmpfs', within, ...binds, '--remount-ro', within] : binds
}

/** The directories between, which bubblewrap would make for its own user alone. */
function passable(mask: string, paths: readonly string[]): string[] {
  const between = new Set(paths.flatMap((path) => ancestors(path).filter((each) => each.startsWith(mask + sep))))
  return [...between].flatMap((path) => ['--perms', '0755', '--dir', path])
}

function hide({ path, directory }: Hidden): string[] {
  return directory ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path]
}
