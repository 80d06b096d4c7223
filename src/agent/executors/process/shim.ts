import { FENCED_MARK } from './fence/keeper-script.ts'
import type { KernelCgroup } from './limits/kernel-cgroups.ts'
import type { UsageMeters } from './limits/cgroup-limits.ts'
import type { Launch } from './isolation/isolation.ts'
import { launchCommand } from './isolation/launch-command.ts'
import { exportsOf, programOf, quote } from './shell.ts'

/**
 * The signal that tells the first process of a PID namespace of a stop: SIGSTKFLT, which nothing else sends. Programs
 * send others to their whole process group, which the first process belongs to.
 */
export const STOP_NOTICE = 16

/**
 * The shim: one `sh` per kernel, which leads the kernel's session and process group and runs in the kernel's directory.
 * Unless the command leaves something behind, it uses only builtins, so it starts no process but the command's.
 *
 * - `status` is created exclusively: whether shim or agent creates it decides whether the command ever runs.
 * - A removal deletes `spec.json` before `status`. A shim that an earlier instance launched may reach its claim only
 *   while the kernel, which another shim has run, is being removed; it then finds no `spec.json` and runs nothing.
 * - Output files are created before the claim. Otherwise, on a full disk, the command would not run but count as
 *   failed.
 * - A line in `status` counts once its newline is written. The file is opened before the command starts, so a full
 *   disk rarely loses the exit line. One `write` per line is atomic without a rename.
 * - Without the line `began`, neither keeper nor a later instance of the agent would know this process, and the command
 *   would outlive its fence. So on a disk that is too full for the line, the command does not run.
 * - An expired fence, or one of an earlier boot, keeps the command from running: the launch may have waited on a
 *   suspended machine or in a suspended fork server. The fence is read after the line `began`, so that the keeper knows
 *   this process.
 * - Signals to the group are caught, not ignored: the command gets the default action back, and the shim keeps
 *   waiting.
 * - The command misses a signal that arrives between its fork and the reset of its traps. The mark `stop` is written
 *   before any signal of a stop, and is checked after the reset.
 * - The command enters the kernel's cgroup, the shim does not. So the shim can kill everything that the command has
 *   left there, and writes `exit` only once nothing is left. In a PID namespace the operating system does the same.
 * - The times of the command's begin and end are read from the same clock. The start time in the stat line comes from
 *   another clock in containers with their own uptime (LXC), so it cannot be compared with them for a time limit.
 * - The time of the command's end is read at once: its leftovers do not count against its time limit.
 * - Leftovers of a command that is being stopped keep the grace period, as the command does: with the mark `stop`, the
 *   shim waits until they have ended. Once the grace period is over, the agent kills the shim and all of them.
 * - Usage is read once nothing of the command is left, and is written before `exit`. It comes from the cgroup's
 *   meters, which count everything, and from the shim's own stat line, which counts processes that were waited for. In
 *   a PID namespace that is everything, too, since the first process waits for orphans.
 * - The command that enters the isolation starts with the agent's rights, so it must not get data of the session. An
 *   inner shell, which has already dropped these rights, reads environment and command from its input.
 * - In a PID namespace that shell is the first process, and leads its own session. The operating system does not send
 *   it signals that it has no handler for, so the command has the default actions from its fork on, and no signal is
 *   lost once the fork is seen. The shell writes `inside` when it will fork only the command.
 * - When the first process ends, the operating system kills everything in the namespace. So it handles one signal,
 *   STOP_NOTICE, which tells it of a stop: it then waits for the leftovers itself.
 * - The pipe (fd 8) informs the running agent; the file informs a later one.
 * - The last line kills what the command left in the group, and the shim itself.
 */
export interface ShimOptions {
  /** Starts each line on the pipe. It consists of kernel id and token. */
  tag: string
  argv: readonly string[]
  environ: ReadonlyMap<string, string>
  /** The command's standard input, relative to its working directory; null for none. */
  input?: string | null
  /** The cgroup that the command enters. If it cannot, this is reported, and the command runs nevertheless. */
  cgroup: KernelCgroup | null
  /** Null if the kernel is not isolated. */
  launch: Launch | null
  limits: { openFiles: number; processes: number }
}

export function shimScript(options: ShimOptions): string {
  const { tag, cgroup } = options
  const [enter, leave] = cgroup === null ? ['', ''] : [enterGroup(cgroup), emptyGroup(cgroup)]
  return `trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE
exec </dev/null 2>/dev/null
trap 'echo "${tag} failed" >&8' EXIT
exec 7>>stdout 7>>stderr 7>&-
set -C
exec 9>status
set +C
[ -e spec.json ] || exit
say() { echo "$*" >&9; echo "${tag} $*" >&8; }
read -r stat </proc/$$/stat
read -r since rest </proc/uptime
${cgroup === null ? '' : `echo ${quote(`group ${cgroup.path}`)} >&9 && `}echo "began $stat|$since" >&9 || exit
trap - EXIT
echo "${tag} began $stat|$since" >&8
if read -r until boot <../../fence; then
  read -r booted </proc/sys/kernel/random/boot_id
  read -r up rest </proc/uptime
  [ "$boot" = "$booted" ] && [ "\${up%.*}" -lt "$until" ] ||
    { [ -e stop ] || echo '${FENCED_MARK}' >stop; kill -KILL 0; }
fi
([ -e stop ] && exit 143
${enter}echo 500 2>/dev/null >/proc/self/oom_score_adj
${commandOf(options)}) >>stdout 2>>stderr
code=$?
read -r at rest </proc/uptime
${cgroup === null ? LEFT_IN_SESSION : leftInGroup(cgroup)}while [ -e stop ] && left; do sleep 0.05; done
${leave}${readUsage(cgroup?.meters ?? { memory: null, cpu: null })}say "exit $code"
kill -KILL 0
`
}

/** Writes 0, which means the writing process: the subshell that becomes the command. */
function enterGroup({ paths }: KernelCgroup): string {
  const entries = paths.map((path) => `echo 0 >>${quote(`${path}/cgroup.procs`)}`)
  return `{ ${entries.join(' && ')}; } 2>/dev/null || say outside\n`
}

function leftInGroup({ path }: KernelCgroup): string {
  return `left() { read -r pid <${quote(`${path}/cgroup.procs`)}; }\n`
}

/** Only living processes of the shim's session count. */
const LEFT_IN_SESSION = `left() {
  for each in /proc/[0-9]*/stat; do
    read -r stat <"$each" && set -- \${stat##*) } && [ "$4" = $$ ] || continue
    case $1$each in [ZX]* | *"/$$/stat") ;; *) return 0 ;; esac
  done
  return 1
}
`

/**
 * Kills everything in the group. Forbids forks first, since with cgroups of version 1 processes are killed one by one.
 */
function emptyGroup({ path }: KernelCgroup): string {
  const [members, most, kill] = ['cgroup.procs', 'pids.max', 'cgroup.kill'].map((name) => quote(`${path}/${name}`))
  return `while read -r pid <${members}; do
  echo 0 >${most}
  echo 1 >${kill} || while read -r pid; do kill -KILL $pid; done <${members}
  sleep 0.01
done
`
}

/**
 * Reads the meters. The field of an unreadable meter stays empty. `at` is the time of the command's end, `up` the time
 * when none of its processes was left.
 */
function readUsage({ memory, cpu }: UsageMeters): string {
  const read = (name: string, path: string | null) => (path === null ? '' : `read -r ${name} <${quote(path)}\n`)
  return `peak='' cpu=''
${read('peak', memory)}${read('cpu', cpu)}read -r up rest </proc/uptime
read -r stat </proc/$$/stat
say "used $up|$peak|$cpu|$stat|$at"
`
}

function commandOf({ tag, argv, environ, input = null, launch, limits }: ShimOptions): string {
  const exports = exportsOf(environ)
  const command = `${exports === '' ? '' : `${exports} && `}${programOf(environ, argv, input)}`
  const bounds = `ulimit -c 0; ulimit -n ${limits.openFiles} 2>/dev/null`
  if (launch === null) return `cd ./work && exec 8>&- 9>&- || exit\n${bounds}; ${command}`
  const namespaces = launch.isolation.namespaces !== null
  const end = `END-${tag.replaceAll(' ', '-')}`
  return `cd ./work || exit
exec ${launchCommand(launch).map(quote).join(' ')} ${namespaces ? '7>&9' : '9>&-'} 8>&- <<'${end}'
${namespaces ? asFirstProcess(launch, bounds, command, limits.processes) : `${bounds}; exec </dev/null; ${command}`}
${end}
`
}

/**
 * Runs the command under the namespace's first process, which waits for it. A kernel without a separate user id has its
 * own user namespace, which counts its processes separately from those of other kernels.
 */
function asFirstProcess({ places }: Launch, bounds: string, command: string, processes: number): string {
  const count = places.uid === null ? `ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes} 2>/dev/null; ` : ''
  return `exec 7>&-
cd ${quote(places.work)} || exit 126
${count}${bounds}
stopped=''
trap stopped=yes ${STOP_NOTICE}
echo inside >&9
exec 9>&-
(${command}) </dev/null
code=$?
while [ -n "$stopped" ] && kill -s 0 -- -1 2>/dev/null; do sleep 0.05 || break; done
exit $code`
}
