import { join, sep } from 'node:path'
import { systemProgram } from '../../../../machine/system-programs.ts'
import { becomeUser, dropPrivileges } from './drop-privileges.ts'
import { ancestors, type Hidden, type OwnPrograms } from './hidden-paths.ts'
import type { KernelPlaces, Launch, Namespaces } from './isolation.ts'
import { quote } from '../shell.ts'

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
function bubblewrapArguments(launch: Launch, namespaces: Namespaces): string[] {
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

/**
 * The same with util-linux alone, where bubblewrap is not installed: `unshare` makes the namespaces, a script mounts,
 * and `setpriv` gives up the rights to do so. Slower, since each mount is a process; and the device nodes stay those of
 * the machine, by their permissions.
 *
 * An ordinary user is root of the first user namespace, in order to mount, and itself again in a second one.
 */
function unshareArguments({ places }: Launch, namespaces: Namespaces): string[] {
  const own = ['--mount', '--pid', '--ipc', '--fork', '--kill-child']
  const user = places.uid === null ? ['--user', '--map-root-user'] : []
  return [systemProgram('unshare'), ...user, ...own, '/bin/sh', '-c', setUp(places, namespaces)]
}

/** Tells descriptor 7 the process's id as seen from outside, which the old /proc still knows. */
function setUp(places: KernelPlaces, { mask, hidden, own }: Namespaces): string {
  const { uid, work, tmp, chain, chains, shmBytes } = places
  const again = uid === null ? `unshare --user --map-user=${process.getuid!()} --map-group=${process.getgid!()} ` : ''
  const drop = [...dropPrivileges(uid, places.deviceGroups), '--pdeathsig=KILL'].join(' ')
  return `set -e
read -r pid rest </proc/self/stat
echo "\\"child-pid\\": $pid" >&7
bind() { mount -n -c --bind "$1" "$2"; }
empty() { mount -n -t tmpfs -o "nosuid,nodev,mode=$1" reprise "$2"; }
for place in ${[work, chain, tmp].map(quote).join(' ')}; do bind "$place" "$place"; done
${own === null ? '' : `exec 8<${quote(own.root)}\n`}exec 3<${quote(work)} 4<${quote(chain)} 5<${quote(tmp)} 7>&-
while read -r device point type options rest; do
  case $point in ${[work, chain, tmp].map(quote).join('|')}) continue ;; esac
  case $options in rw|rw,*) ;; *) continue ;; esac
  flags=ro
  for flag in nosuid nodev noexec noatime nodiratime relatime; do
    case ,$options, in *,$flag,*) flags=$flags,$flag ;; esac
  done
  mount -n -o "remount,bind,$flags" "$(printf %b "$point")" 2>/dev/null || :
done </proc/self/mounts
empty 1777${shmBytes === null ? '' : `,size=${shmBytes}`} /dev/shm
empty 755 /dev/pts
exec 6</run
empty 755 /run
${NAME_SERVICE.map(showAgain).join('\n')}
exec 6<&-
bind /proc/self/fd/5 /tmp
bind /proc/self/fd/5 /var/tmp
${hidden.map(hide).join('\n')}
mkdir -p ${quote(mask)}
empty 755 ${quote(mask)}
${chains === null ? '' : `empty 755 ${quote(chains)}\n`}mkdir -p ${quote(work)} ${quote(chain)}
${own === null ? '' : showOwn(own)}bind /proc/self/fd/3 ${quote(work)}
bind /proc/self/fd/4 ${quote(chain)}
mount -n -o remount,bind,ro ${quote(mask)}
${chains === null ? '' : `mount -n -o remount,bind,ro ${quote(chains)}\n`}exec 3<&- 4<&- 5<&-
cd /
mount -n -t proc proc /proc
exec setsid ${again}${drop} /bin/sh`
}

/** Descriptor 6 is the old /run. */
function showAgain(path: string): string {
  const old = `/proc/self/fd/6${path.slice('/run'.length)}`
  return `if [ -d ${old} ]; then mkdir -p ${path}; bind ${old} ${path}; fi`
}

/** Descriptor 8 is its root, as it was before its place became empty. */
function showOwn({ root, names, within, empties }: OwnPrograms): string {
  const binds = names.map((name) => {
    const path = quote(join(root, name))
    return `mkdir -p ${path}\nbind ${quote(join('/proc/self/fd/8', name))} ${path}\n`
  })
  const [before, after] = empties
    ? [`empty 755 ${quote(within)}\n`, `mount -n -o remount,bind,ro ${quote(within)}\n`]
    : ['', '']
  return `${before}${binds.join('')}exec 8<&-\n${after}`
}

function hide({ path, directory }: Hidden): string {
  return directory ? `empty 755,ro ${quote(path)}` : `bind /dev/null ${quote(path)}`
}

/**
 * The command that enters the kernel's isolation and there runs `/bin/sh`, which reads the rest from its input. Nothing
 * of the session is in its arguments or its environment, since it begins with the agent's rights: an LD_PRELOAD of the
 * session takes effect behind it.
 */
export function launchCommand(launch: Launch): string[] {
  const { isolation } = launch
  if (isolation.namespaces?.by === 'bubblewrap') return bubblewrapArguments(launch, isolation.namespaces)
  if (isolation.namespaces?.by === 'unshare') return unshareArguments(launch, isolation.namespaces)
  return [...becomeUser(launch), '/bin/sh']
}
