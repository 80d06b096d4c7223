import { parseProcStat, type ProcStat } from './proc-stat.ts'

/**
 * The shim: one `sh` per kernel, leader of the kernel's session and process group, with the kernel's directory
 * as its own. It uses builtins alone, so that beside the command nothing is started.
 *
 * - `status` is created exclusively: whoever creates it, shim or agent, decides whether the command ever runs.
 * - A removal takes `spec.json` before `status`: a shim that was ordered by an instance that is gone, and comes to its
 *   claim only while what another one ran to its end is removed, finds no spec and runs nothing.
 * - A line in `status` counts once its newline is there. The file is open before the command starts, so that a
 *   full disk rarely takes the exit line away, and one `write` of one line needs no rename to be atomic.
 * - Signals to the group are caught, not ignored: the command gets their default action back, the shim waits on.
 * - A signal between the fork of the command and the reset of its traps is lost to it. The mark `stop` is there
 *   before any signal of a stop, and is looked for after the reset.
 * - The pipe (fd 8) tells the agent that is there; the file tells the one that comes later.
 * - The last line ends what the command left in the group, and the shim with it.
 */
export interface ShimOptions {
  /** Begins each line on the pipe: kernel and launch. */
  tag: string
  argv: readonly string[]
  environ: ReadonlyMap<string, string>
  /** The `cgroup.procs` to enter. Where that fails the shim says so and goes on. */
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
([ -e stop ] && exit 143
cd ./work && exec 8>&- 9>&- && ${environment(options.environ)} ${options.argv.map(quote).join(' ')}) >>stdout 2>>stderr
say "exit $?"
kill -KILL 0
`
}

/** `exec`, so that no builtin of the shell is taken for the command; `env` only for names that `export` refuses. */
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

/** What a shell reads as a name and does not keep for itself. */
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
  /** It could not enter the cgroup that was made for it. */
  outsideCgroup: boolean
  /** An agent took the shim's place before the command could run. */
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
