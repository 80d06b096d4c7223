import { join, sep } from 'node:path'
import { systemProgram } from '../../../../machine/system-programs.ts'
import { becomeUser } from './drop-privileges.ts'
import { ancestors, type OwnPrograms } from './hidden-paths.ts'
import type { KernelPlaces, Launch, Namespaces } from './isolation.ts'

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
export function bubblewrapArguments(launch: Launch, namespaces: Namespaces): string[] {
  const { places } = launch
  const own = ['--unshare-user', ...(namespaces.restricts ? ['--disable-userns'] : [])]
  const [user, drop] = places.uid === null ? [own, []] : [PRIVILEGED, becomeUser(launch, ['--pdeathsig=KILL'])]
  return [
    [systemProgram('bwrap'), ...user],
    ['--unshare-pid', '--unshare-ipc', '--die-with-parent', '--new-session', '--as-pid-1'],
    ['--info-fd', String(INFO_FD)],
    mounts(places, namespaces),
    ['--chdir', '/', '--', ...drop, '/bin/sh'],
  ].flat()
}

/** What the change of the user needs, and gives up. */
const PRIVILEGED = [
  '--cap-drop',
  'ALL',
  ...['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'].flatMap((name) => ['--cap-add', name]),
]

/** Each bind, and each change of a mount, makes bubblewrap read the list of all mounts. */
function mounts(places: KernelPlaces, { mask, hidden, own, restricts }: Namespaces): string[] {
  const { work, tmp, chain, chains, devices, shmBytes, uid } = places
  // What is empty belongs to root, so another user can write nothing into it.
  const seal = (path: string) => (uid === null ? ['--remount-ro', path] : [])
  const size = restricts && shmBytes !== null ? ['--size', String(shmBytes)] : []
  return [
    ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    devices.flatMap((device) => ['--dev-bind', device, device]),
    ['--perms', '1777', ...size, '--tmpfs', '/dev/shm'],
    ['--tmpfs', '/run', ...NAME_SERVICE.flatMap((path) => ['--ro-bind-try', path, path])],
    ['--bind', tmp, '/tmp', '--bind', tmp, '/var/tmp'],
    hidden.flatMap(({ path, directory }) =>
      directory ? ['--tmpfs', path, ...seal(path)] : ['--ro-bind', '/dev/null', path],
    ),
    ['--tmpfs', mask, ...passable(mask, [work, chain])],
    chains === null ? [] : ['--tmpfs', chains],
    own === null ? [] : show(own, seal),
    ['--bind', work, work, '--bind', chain, chain, ...seal(mask), ...(chains === null ? [] : seal(chains))],
  ].flat()
}

function show({ root, names, within, empties }: OwnPrograms, seal: (path: string) => string[]): string[] {
  const paths = names.map((name) => join(root, name))
  const binds = [...passable(within, paths), ...paths.flatMap((path) => ['--ro-bind', path, path])]
  return empties ? ['--tmpfs', within, ...binds, ...seal(within)] : binds
}

/** The directories between, which bubblewrap would make for its own user alone. */
function passable(mask: string, paths: readonly string[]): string[] {
  const between = new Set(paths.flatMap((path) => ancestors(path).filter((each) => each.startsWith(mask + sep))))
  return [...between].flatMap((path) => ['--perms', '0755', '--dir', path])
}
