import { openSync, readdirSync, readFileSync } from 'node:fs'
import { ARGUMENT_BYTES_MAX, EXEC_BYTES_MAX, EXEC_RESERVE_BYTES } from '../../../domain/limits.ts'
import { execBytes, fitsArgument } from '../../../domain/session/session-spec.ts'
import { guarded } from '../../../waiting/wait.ts'
import type { ChildProcess, IOType } from 'node:child_process'

/** Quotes text as one word of a shell script. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Returns the command that exports all variables whose names a shell accepts; empty if there are none. */
export function exportsOf(environ: ReadonlyMap<string, string>): string {
  const named = [...environ].filter(([name]) => isShellName(name)).map(assignment)
  return named.length === 0 ? '' : `export ${named.join(' ')}`
}

/**
 * Returns the command that runs the program. `exec` keeps the shell from running a builtin in its place. `env` is used
 * only for names that `export` refuses.
 *
 * @param input a file that it reads as its standard input; null for that of the shell
 */
export function programOf(
  environ: ReadonlyMap<string, string>,
  argv: readonly string[],
  input: string | null = null,
): string {
  const odd = [...environ].filter(([name]) => !isShellName(name)).map(([name, value]) => quote(`${name}=${value}`))
  return [
    'exec',
    ...(odd.length === 0 ? [] : ['env', ...odd]),
    ...argv.map(quote),
    ...(input === null ? [] : [`<${quote(input)}`]),
  ].join(' ')
}

function assignment([name, value]: [string, string]): string {
  return `${name}=${quote(value)}`
}

/** Whether it is a valid shell variable name that the shell does not reserve. */
function isShellName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED_BY_SHELLS.has(name)
}

const RESERVED_BY_SHELLS = new Set(['UID', 'EUID', 'PPID', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO', 'OPTIND'])

/**
 * A shell function for the scripts of fork server and keeper. `alive PID TICKS` tests whether exactly that process
 * exists and is no zombie; TICKS is its start time in clock ticks, as in /proc. It overwrites the positional parameters
 * only within the function.
 */
export const ALIVE_FUNCTION = `alive() {
  [ -n "$2" ] && read -r stat </proc/$1/stat || return 1
  set -- "$2" \${stat##*) }
  [ "$1" = "\${21}" ] && case $2 in [ZX]) return 1 ;; esac
}`

/** Space that the system grants with any limit of the stack. */
const EXEC_BYTES_MIN = 128 * 1024

let limit: number | undefined

/**
 * Returns why the system would refuse to start this; null if it would not. The limits on sessions catch what clients
 * send, but server, image and agent add variables, such as the addresses of a thousand kernels.
 */
export function execFault(argv: readonly string[], environ: ReadonlyMap<string, string>): string | null {
  const variables = Array.from(environ, ([name, value]) => `${name}=${value}`)
  const long = [...argv, ...variables].find((each) => !fitsArgument(each))
  if (long !== undefined) {
    const [name] = argv.includes(long) ? ['an argument'] : long.split('=', 1)
    return `${name} takes ${Buffer.byteLength(long)} bytes, and may take ${ARGUMENT_BYTES_MAX}`
  }
  limit ??= Math.min(EXEC_BYTES_MAX, bytesByStack()) - EXEC_RESERVE_BYTES
  const bytes = execBytes([...argv, ...variables])
  return bytes <= limit
    ? null
    : `command and environment take ${bytes} bytes, including 9 for each argument and variable, and may take ${limit}`
}

/** Returns a quarter of the stack limit of this process, which its children inherit. */
function bytesByStack(): number {
  const soft = /^Max stack size\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
  return soft === undefined ? Number.POSITIVE_INFINITY : Math.max(EXEC_BYTES_MIN, Math.floor(Number(soft) / 4))
}

const O_CLOEXEC = 0o2000000

let nowhere: number | undefined

/**
 * Adds to the `stdio` of `spawn`. This process may itself have inherited descriptors from a terminal or a supervisor,
 * and would pass them on; they become `/dev/null` in the child. Node already keeps its own descriptors, and low ones
 * that it finds, from children, but nothing in Node can do that for the others.
 */
export function withoutInherited(stdio: readonly (IOType | number)[]): Array<IOType | number> {
  const all: Array<IOType | number> = [...stdio]
  for (const fd of inherited().filter((each) => each >= stdio.length)) {
    while (all.length < fd) all.push('ignore')
    all[fd] = nowhere ??= openSync('/dev/null', 'r+')
  }
  return all
}

function inherited(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter(isPassedOn)
    .toSorted((a, b) => a - b)
}

function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & O_CLOEXEC) === 0
  } catch {
    // The descriptor was closed meanwhile.
    return false
  }
}

/**
 * Returns a child that was started with pipes. If this process has no descriptor left, Node starts nothing, creates no
 * pipes, and reports that later by an event, which would end the process if there were no listener.
 *
 * @throws Error for people, if there are no pipes
 */
export function withPipes<Child extends ChildProcess>(child: Child): Child {
  child.on('error', () => undefined)
  if (child.stdout === undefined) throw new Error('no program can be started: too many files are open')
  return child
}

/**
 * Kills the process after this time. Its timer does not keep the agent from ending. That of `spawn`'s own `timeout`
 * does, and remains if the process could not be started because too many files are open.
 */
export function killAfter(child: ChildProcess, ms: number): void {
  const kill = () => void child.kill('SIGKILL')
  const timer = setTimeout(
    guarded(kill, () => {}),
    ms,
  ).unref()
  for (const end of ['exit', 'error']) child.once(end, () => clearTimeout(timer))
}
