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

/** File systems of the operating system that shims do not use. Kernels get their own where they need one. */
export const INTERFACES = [
  'binfmt_misc',
  'bpf',
  'configfs',
  'debugfs',
  'devpts',
  'efivarfs',
  'fusectl',
  'hugetlbfs',
  'mqueue',
  'nsfs',
  'pstore',
  'securityfs',
  'tracefs',
]

/** More of them, which programs use. */
const NEEDED_INTERFACES = ['proc', 'sysfs', 'devtmpfs', 'cgroup', 'cgroup2']

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
 * script mounts, and `setpriv` then drops the rights. Device nodes keep the machine's permissions.
 *
 * An ordinary user is root of the first user namespace in order to mount, and has its own number again in a second one.
 */
function unshareArguments({ places }: Launch, namespaces: Namespaces): string[] {
  const own = ['--mount', '--pid', '--ipc', '--fork', '--kill-child']
  const user = places.uid === null ? ['--user', '--map-root-user'] : []
  return [systemProgram('unshare'), ...user, ...own, '/bin/sh', '-c', setUp(places, namespaces)]
}

/**
 * Returns the script, which is run in the kernel's `work`. It writes to descriptor 7 the process's id as seen from
 * outside, which the old /proc still shows.
 *
 * Starting a program takes much longer than a mount, so one `mount` mounts a whole table. The table must be a regular
 * file. `mount --all` leaves out what it takes for mounted already: a bind with this path of the source, and a file
 * system with this name, at this place. So each bind is from a descriptor, and file systems are named after the kernel.
 *
 * The kernel's own directories become mounts of their own, which stay writable. Root marks them by `nodiratime`, by
 * which the command that makes all other mounts read-only leaves them out. In a user namespace this cannot be set;
 * there the command takes only file systems that contain no directories of kernels. The loop does what is left.
 */
function setUp(places: KernelPlaces, { mask, hidden, own }: Namespaces): string {
  const { uid, work, tmp, chain, chains, shmBytes, closedDevices } = places
  const again = uid === null ? `unshare --user --map-user=${process.getuid!()} --map-group=${process.getgid!()} ` : ''
  const drop = [...dropPrivileges(uid, places.deviceGroups), '--pdeathsig=KILL'].join(' ')
  const bind = (from: string, to: string, options = '') => tableLine(from, to, 'none', `bind${options}`)
  const empty = (path: string, mode = '755') => tableLine(work, path, 'tmpfs', `nosuid,nodev,mode=${mode}`)
  const hide = ({ path, directory }: Hidden) => (directory ? empty(path, '755,ro') : bind('/dev/null', path))
  const closed = closedDevices.map((path) => ({ path, directory: false }))
  const openOwn = `exec 3<${quote(work)} 4<${quote(chain)} 5<${quote(tmp)}`
  const kept = [work, chain, tmp]
  const [mark, others] =
    uid === null ? ['', `-t ${[...INTERFACES, ...NEEDED_INTERFACES].join(',')}`] : [',nodiratime', '-O nonodiratime']
  // An empty directory belongs to root, so another user cannot write into it.
  const sealed = uid !== null ? [] : [mask, ...(chains === null ? [] : [chains]), ...(own?.empties ? [own.within] : [])]
  const before = [
    empty('/dev/shm', `1777${shmBytes === null ? '' : `,size=${shmBytes}`}`),
    empty('/dev/pts'),
    empty('/run'),
  ]
  const after = [
    bind(descriptor(5), '/tmp'),
    bind(descriptor(5), '/var/tmp'),
    ...[...hidden, ...closed].map(hide),
    empty(mask, `755,${MAKE}`),
    ...(chains === null ? [] : [empty(chains, `755,${MAKE}`)]),
    ...(own === null ? [] : showOwn(own)),
    bind(descriptor(3), work, `,${MAKE}`),
    bind(descriptor(4), chain, `,${MAKE}`),
    tableLine(work, '/proc', 'proc', 'defaults'),
  ]
  return `set -e
read -r pid rest </proc/self/stat
echo "\\"child-pid\\": $pid" >&7
${openOwn} 6</run 7>&-${own === null ? '' : ` 8<${quote(own.root)}`}
set --
for each in ${NAME_SERVICE.map((path) => path.slice('/run/'.length)).join(' ')}; do
  [ ! -d "/run/$each" ] || set -- "$@" "${bind(`${descriptor(6)}/$each`, '/run/$each', `,${MAKE}`)}"
done
printf '%s\\n' ${lines(kept.map((place, index) => bind(descriptor(3 + index), place, mark)))} >../places.fstab
printf '%s\\n' ${lines(before)} "$@" ${lines(after)} >../mounts.fstab
mount -n -c -a -T ../places.fstab
${openOwn}
mount -n -c -a ${others} -o remount,bind,ro 2>/dev/null || :
while read -r device point type options rest; do
  case $point in ${kept.map((place) => quote(escaped(place))).join('|')}) continue ;; esac
  case $options in rw|rw,*) ;; *) continue ;; esac
  flags=ro
  for flag in nosuid nodev noexec noatime nodiratime relatime; do
    case ,$options, in *,$flag,*) flags=$flags,$flag ;; esac
  done
  mount -n -o "remount,bind,$flags" "$(printf %b "$point")" 2>/dev/null || :
done </proc/self/mounts
mount -n -c -a -T ../mounts.fstab
exec 3<&- 4<&- 5<&- 6<&-${own === null ? '' : ' 8<&-'}
${sealed.map((path) => `mount -n -o remount,bind,ro ${quote(path)}\n`).join('')}cd /
exec setsid ${again}${drop} /bin/sh`

  /** Makes the package visible again through descriptor 8, which was opened before its place became empty. */
  function showOwn({ root, names, within, empties }: OwnPrograms): string[] {
    const binds = names.map((name) => bind(`${descriptor(8)}/${name}`, join(root, name), `,${MAKE}`))
    return [...(empties ? [empty(within)] : []), ...binds]
  }
}

/** Creates a missing mount point, and the directories above it. */
const MAKE = 'X-mount.mkdir=0755'

const descriptor = (fd: number) => `/proc/self/fd/${fd}`

/** Returns a line of a table in the format of fstab(5). */
function tableLine(from: string, to: string, type: string, options: string): string {
  return `${escaped(from)} ${escaped(to)} ${type} ${options} 0 0`
}

/** Writes a path as fstab(5) and `/proc/mounts` do. */
function escaped(path: string): string {
  return path.replaceAll(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)
}

const lines = (table: readonly string[]) => table.map(quote).join(' ')

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
