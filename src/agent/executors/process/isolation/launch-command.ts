import { join, sep } from 'node:path'
import { systemProgram } from '../../../../machine/system-programs.ts'
import { becomeUser, dropPrivileges } from './drop-privileges.ts'
import { ancestors, type Hidden, type OwnPrograms } from './hidden-paths.ts'
import type { KernelPlaces, Launch, Namespaces } from './isolation.ts'
import { quote } from '../shell.ts'

/** Descriptor on which bubblewrap reports its child's pid, as seen from outside. */
export const INFO_FD = 7

/** Files that resolve host names. They lie below `/run`, which is hidden because of its sockets. */
export const NAME_SERVICE = ['/run/systemd/resolve', '/run/resolvconf', '/run/NetworkManager/resolv.conf', '/run/nscd']

/**
 * Builds the command line of bubblewrap. If the agent is root, the kernel gets another user and no user namespace, so
 * it has no capabilities anywhere. Otherwise it gets a user namespace, in which its user has the same number, and in
 * which no further one can be created.
 *
 * A later mount covers an earlier one. PID 1 is the shell. It ends when the command has ended, and the operating system
 * then ends all other processes of the namespace before it reports the end.
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

/** Capabilities that the change of the user needs, and then drops. */
const PRIVILEGED = [
  '--cap-drop',
  'ALL',
  ...['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'].flatMap((name) => ['--cap-add', name]),
]

/**
 * Lists the mounts, as few as possible: each bind, and each change of a mount, makes bubblewrap read the list of all
 * mounts.
 */
function mounts(places: KernelPlaces, { mask, hidden, own, restricts }: Namespaces): string[] {
  const { work, tmp, chain, chains, devices, shmBytes, uid } = places
  // An empty directory belongs to root, so another user cannot write into it.
  const seal = (path: string) => (uid === null ? ['--remount-ro', path] : [])
  const size = restricts && shmBytes !== null ? ['--size', String(shmBytes)] : []
  return [
    ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    passable('/dev', devices),
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

/** Creates the directories in between, which bubblewrap would create for its own user only. */
function passable(mask: string, paths: readonly string[]): string[] {
  const between = new Set(paths.flatMap((path) => ancestors(path).filter((each) => each.startsWith(mask + sep))))
  return [...between].flatMap((path) => ['--perms', '0755', '--dir', path])
}

/**
 * Builds the command line with util-linux alone, for machines without bubblewrap. `unshare` creates the namespaces, a
 * script mounts, and `setpriv` then drops the rights. This is slower, since each mount is a process, and device nodes
 * keep the machine's permissions.
 *
 * An ordinary user is root of the first user namespace in order to mount, and has its own number again in a second one.
 */
function unshareArguments({ places }: Launch, namespaces: Namespaces): string[] {
  const own = ['--mount', '--pid', '--ipc', '--fork', '--kill-child']
  const user = places.uid === null ? ['--user', '--map-root-user'] : []
  return [systemProgram('unshare'), ...user, ...own, '/bin/sh', '-c', setUp(places, namespaces)]
}

/**
 * Returns the script. It writes to descriptor 7 the process's id as seen from outside, which the old /proc still shows.
 */
function setUp(places: KernelPlaces, { mask, hidden, own }: Namespaces): string {
  const { uid, work, tmp, chain, chains, shmBytes, closedDevices } = places
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
${[...hidden, ...closedDevices.map((path) => ({ path, directory: false }))].map(hide).join('\n')}
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

/** Makes a path below the old /run visible again, through descriptor 6. */
function showAgain(path: string): string {
  const old = `/proc/self/fd/6${path.slice('/run'.length)}`
  return `if [ -d ${old} ]; then mkdir -p ${path}; bind ${old} ${path}; fi`
}

/** Makes the package visible again through descriptor 8, which was opened before its place became empty. */
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
 * Returns the command that enters the kernel's isolation and runs `/bin/sh` there, which reads the rest from its input.
 * Neither its arguments nor its environment contain anything of the session, because it starts with the agent's rights.
 * An LD_PRELOAD of the session therefore takes effect only inside.
 */
export function launchCommand(launch: Launch): string[] {
  const { isolation } = launch
  if (isolation.namespaces?.by === 'bubblewrap') return bubblewrapArguments(launch, isolation.namespaces)
  if (isolation.namespaces?.by === 'unshare') return unshareArguments(launch, isolation.namespaces)
  return [...becomeUser(launch), '/bin/sh']
}
