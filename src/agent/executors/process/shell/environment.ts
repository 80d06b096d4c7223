import { quote } from './quote.ts'

/** The command that exports all of it that a shell can name; empty if there is nothing. */
export function exportsOf(environ: ReadonlyMap<string, string>): string {
  const named = [...environ].filter(([name]) => isShellName(name)).map(assignment)
  return named.length === 0 ? '' : `export ${named.join(' ')}`
}

/** `exec` keeps the shell from running a builtin as the command; `env` serves only names that `export` refuses. */
export function programOf(environ: ReadonlyMap<string, string>, argv: readonly string[]): string {
  const odd = [...environ].filter(([name]) => !isShellName(name)).map(([name, value]) => quote(`${name}=${value}`))
  return ['exec', ...(odd.length === 0 ? [] : ['env', ...odd]), ...argv.map(quote)].join(' ')
}

function assignment([name, value]: [string, string]): string {
  return `${name}=${quote(value)}`
}

/** A valid shell variable name that the shell does not reserve. */
function isShellName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED_BY_SHELLS.has(name)
}

const RESERVED_BY_SHELLS = new Set(['UID', 'EUID', 'PPID', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO', 'OPTIND'])
