import { FENCED_MARK } from './fenced-mark.ts'
import { parseProcStat, type ProcStat } from './proc-stat.ts'

/**
 * The shim: one `sh` per kernel, which leads the kernel's session and process group and runs in the kernel's directory.
 * It uses only builtins, so it starts no process but the command.
 *
 * - `status` is created exclusively: whichever of shim and agent creates it decides whether the command ever runs.
 * - A removal deletes `spec.json` before `status`. A shim launched by an earlier instance may reach its claim only
 *   while the kernel, which another shim has run, is being removed; it then finds no `spec.json` and runs nothing.
 * - A line in `status` counts once its newline is written. The file is opened before the command starts, so a full disk
 *   rarely loses the exit line. One `write` per line is atomic without a rename.
 * - A fence that has passed, or is one of an earlier boot, keeps the command from running: the launch may have waited
 *   in a machine or a nursery that stood still. It is looked at after the line `began`, for the keeper's sake.
 * - Signals to the group are caught, not ignored: the command gets the default action back, and the shim keeps waiting.
 * - The command misses a signal that arrives between its fork and the reset of its traps. The mark `stop` is written
 *   before any signal of a stop, and is checked after the reset.
 * - The pipe (fd 8) informs the running agent; the file informs a later one.
 * - The last line kills what the command left in the group, and the shim itself.
 */
export interface ShimOptions {
  /** Starts each line on the pipe: kernel id and token. */
  tag: string
  argv: readonly string[]
  environ: ReadonlyMap<string, string>
  /** The `cgroup.procs` to enter. If that fails, the shim reports it and continues. */
  cgroupProcs: string | null
}

export function shimScript(options: ShimOptions): string {
  const { tag, cgroupProcs } = options
  const enter = cgroupProcs === null ? '' : `echo $$ >>${quote(cgroupProcs)} || say outside\n`
  return `trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE
exec </dev/null 2>/dev/null
trap 'echo "${tag} failed" >&8' EXIT
set -C
exec 9>status
set +C
[ -e spec.json ] || exit
trap - EXIT
say() { echo "$*" >&9; echo "${tag} $*" >&8; }
${enter}read -r stat </proc/$$/stat
say "began $stat"
if read -r until boot <../../fence; then
  read -r booted </proc/sys/kernel/random/boot_id
  read -r up rest </proc/uptime
  [ "$boot" = "$booted" ] && [ "\${up%.*}" -lt "$until" ] ||
    { [ -e stop ] || echo '${FENCED_MARK}' >stop; kill -KILL 0; }
fi
([ -e stop ] && exit 143
cd ./work && exec 8>&- 9>&- && ${environment(options.environ)} ${options.argv.map(quote).join(' ')}) >>stdout 2>>stderr
say "exit $?"
kill -KILL 0
`
}

/** `exec` keeps the shell from running a builtin as the command; `env` serves only names that `export` refuses. */
function environment(environ: ReadonlyMap<string, string>): string {
  const all = [...environ]
  const odd = all.filter(([name]) => !isShellName(name))
  const exports = all.filter(([name]) => isShellName(name)).map(assignment)
  const prefix = exports.length === 0 ? 'exec' : `export ${exports.join(' ')} && exec`
  return odd.length === 0 ? prefix : `${prefix} env ${odd.map(([name, value]) => quote(`${name}=${value}`)).join(' ')}`
}

function assignment([name, value]: [string, string]): string {
  return `${name}=${quote(value)}`
}

/** A valid shell variable name that the shell does not reserve. */
function isShellName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED_BY_SHELLS.has(name)
}

const RESERVED_BY_SHELLS = new Set(['UID', 'EUID', 'PPID', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO', 'OPTIND'])

export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

export interface ShimStatus {
  shim: ProcStat | null
  exitCode: number | null
  /** The shim could not enter its cgroup. */
  outsideCgroup: boolean
  /** An agent claimed the start before the shim, so the command did not run. */
  never: boolean
}

export function parseStatus(text: string): ShimStatus {
  const status: ShimStatus = { shim: null, exitCode: null, outsideCgroup: false, never: false }
  for (const line of text.split('\n').slice(0, -1)) applyStatusLine(status, line)
  return status
}

function applyStatusLine(status: ShimStatus, line: string): void {
  const [word, rest] = splitOnce(line)
  if (word === 'began') status.shim = parseProcStat(rest)
  if (word === 'exit') status.exitCode = Number(rest)
  if (word === 'outside') status.outsideCgroup = true
  if (word === 'never') status.never = true
}

export function splitOnce(line: string): [string, string] {
  const blank = line.indexOf(' ')
  return blank < 0 ? [line, ''] : [line.slice(0, blank), line.slice(blank + 1)]
}
