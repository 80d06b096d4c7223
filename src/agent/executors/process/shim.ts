import { FENCED_MARK } from './fence/keeper-script.ts'
import type { KernelCgroup } from './limits/kernel-cgroups.ts'
import type { UsageMeters } from './limits/cgroup-limits.ts'
import type { Launch } from './isolation/isolation.ts'
import { launchCommand } from './isolation/launch-command.ts'
import { exportsOf, programOf, quote } from './shell.ts'

/**
 * The shim: one `sh` per kernel, which leads the kernel's session and process group and runs in the kernel's directory.
 * Unless the command leaves something behind, it uses only builtins, so it starts no process but the command's.
 *
 * - `status` is created exclusively: whichever of shim and agent creates it decides whether the command ever runs.
 * - A removal deletes `spec.json` before `status`. A shim launched by an earlier instance may reach its claim only
 *   while the kernel, which another shim has run, is being removed; it then finds no `spec.json` and runs nothing.
 * - Files for the output are there before the claim: on a full disk, the command would not run, and count as failed.
 * - A line in `status` counts once its newline is written. The file is opened before the command starts, so a full disk
 *   rarely loses the exit line. One `write` per line is atomic without a rename.
 * - A fence that has passed, or is one of an earlier boot, keeps the command from running: the launch may have waited
 *   in a machine or a fork server that stood still. It is looked at after the line `began`, for the keeper's sake.
 * - Signals to the group are caught, not ignored: the command gets the default action back, and the shim keeps waiting.
 * - The command misses a signal that arrives between its fork and the reset of its traps. The mark `stop` is written
 *   before any signal of a stop, and is checked after the reset.
 * - The command enters the kernel's cgroup, the shim does not. So the shim can kill all that the command has left
 *   there, and writes `exit` only once nothing of it is left. In a PID namespace the operating system does the same.
 * - When it begins and when the command has ended is read from one clock. The start time in its stat line is by another
 *   one where a container has an uptime of its own (LXC): a difference of the two says nothing about a time limit.
 * - When the command has ended is read at once: what it leaves behind does not count against its time limit.
 * - What the command has used is read once nothing of it is left, and stands before `exit`: in the cgroup's meters, which
 *   count all of it, and in the shim's own stat line, which counts what was waited for. In a PID namespace that is all
 *   of it, too: the first process waits for what has lost its parent.
 * - The way into the isolation begins with the agent's rights, so it gets nothing of the session: an inner shell, which
 *   has no rights to lose any more, reads environment and command from its input.
 * - In a PID namespace that shell is the first process, and leads a session of its own. It sets no traps: the operating
 *   system spares the first process, and the command has the default actions from its fork on, so no signal is lost once
 *   the fork is seen. It writes `inside` when it will fork nothing but the command.
 * - The pipe (fd 8) informs the running agent; the file informs a later one.
 * - The last line kills what the command left in the group, and the shim itself.
 */
export interface ShimOptions {
  /** Starts each line on the pipe: kernel id and token. */
  tag: string
  argv: readonly string[]
  environ: ReadonlyMap<string, string>
  /** What the command enters. If it cannot, this is reported and it runs nevertheless. */
  cgroup: KernelCgroup | null
  /** Null: none. */
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
trap - EXIT
say() { echo "$*" >&9; echo "${tag} $*" >&8; }
read -r stat </proc/$$/stat
${cgroup === null ? '' : `echo ${quote(`group ${cgroup.path}`)} >&9\n`}read -r since rest </proc/uptime
say "began $stat|$since"
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
${leave}${readUsage(cgroup?.meters ?? { memory: null, cpu: null })}say "exit $code"
kill -KILL 0
`
}

/** 0 is whoever writes it: the subshell that becomes the command. */
function enterGroup({ paths }: KernelCgroup): string {
  const entries = paths.map((path) => `echo 0 >>${quote(`${path}/cgroup.procs`)}`)
  return `{ ${entries.join(' && ')}; } 2>/dev/null || say outside\n`
}

/** Forbids forks first, for the sake of version 1, where each process is killed by itself. */
function emptyGroup({ path }: KernelCgroup): string {
  const [members, most, kill] = ['cgroup.procs', 'pids.max', 'cgroup.kill'].map((name) => quote(`${path}/${name}`))
  return `while read -r pid <${members}; do
  echo 0 >${most}
  echo 1 >${kill} || while read -r pid; do kill -KILL $pid; done <${members}
  sleep 0.01
done
`
}

/** A meter that cannot be read leaves its place empty. `at` is when the command ended, `up` when nothing of it was left. */
function readUsage({ memory, cpu }: UsageMeters): string {
  const read = (name: string, path: string | null) => (path === null ? '' : `read -r ${name} <${quote(path)}\n`)
  return `peak='' cpu=''
${read('peak', memory)}${read('cpu', cpu)}read -r up rest </proc/uptime
read -r stat </proc/$$/stat
say "used $up|$peak|$cpu|$stat|$at"
`
}

function commandOf({ tag, argv, environ, launch, limits }: ShimOptions): string {
  const exports = exportsOf(environ)
  const command = `${exports === '' ? '' : `${exports} && `}${programOf(environ, argv)}`
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

/** The first process of the namespace waits for the command. In its own user namespace it has a count of its own. */
function asFirstProcess({ places }: Launch, bounds: string, command: string, processes: number): string {
  const count = places.uid === null ? `ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes} 2>/dev/null; ` : ''
  return `exec 7>&-
cd ${quote(places.work)} || exit 126
${count}${bounds}
echo inside >&9
exec 9>&-
(${command}) </dev/null
exit $?`
}
