import { join } from 'node:path'
import { systemProgram } from '../../../../machine/system-programs.ts'
import { quote } from '../shell.ts'
import { NAME_SERVICE } from './bubblewrap.ts'
import type { Hidden, OwnPrograms } from './hidden-paths.ts'
import type { KernelPlaces, Launch, Namespaces } from './isolation.ts'
import { dropPrivileges } from './drop-privileges.ts'

/**
 * The same with util-linux alone, where bubblewrap is not installed: `unshare` makes the namespaces, a script mounts,
 * and `setpriv` gives up the rights to do so. Slower, since each mount is a process; and the device nodes stay those of
 * the machine, by their permissions.
 *
 * An ordinary user is root of the first user namespace, in order to mount, and itself again in a second one.
 */
export function unshareArguments({ places }: Launch, namespaces: Namespaces): string[] {
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
${own === null ? '' : show(own)}bind /proc/self/fd/3 ${quote(work)}
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
function show({ root, names, within, empties }: OwnPrograms): string {
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
