import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, parse, sep } from 'node:path'

export interface Hidden {
  readonly path: string
  readonly directory: boolean
}

/** Places below a home directory that usually hold credentials. Programs and data there stay visible. */
const IN_HOME = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.config',
  '.docker',
  '.kube',
  '.netrc',
  '.npmrc',
  '.pgpass',
  '.git-credentials',
  '.pki',
  '.local/share/keyrings',
  '.bash_history',
  '.psql_history',
  '.node_repl_history',
]

/** Directories that are replaced for each kernel, or on which nothing can be mounted. */
const REPLACED = ['/proc', '/sys', '/dev', '/run', '/tmp', '/var/tmp']

/** Returns the real paths that exist, each once, without paths below another one or below `mask`. */
export function hiddenPaths(paths: readonly string[], mask: string, home = homedir()): Hidden[] {
  const all = new Set([...paths, ...IN_HOME.map((name) => join(home, name))].flatMap(realPath))
  return outermost([...all], [...REPLACED, mask])
}

/**
 * Reduces the number of mounts. Paths below a directory that the kernel's user may not enter are replaced by the
 * topmost such directory. That hides nothing which this user could otherwise reach.
 *
 * @param covered paths that are already hidden, with everything below them
 */
export function coverable(
  hidden: readonly Hidden[],
  canEnter: (directory: string) => boolean,
  covered: readonly string[],
): Hidden[] {
  const all = hidden.map(({ path }) => ancestors(path).find((directory) => !canEnter(directory)) ?? path)
  return outermost([...new Set(all)], covered)
}

function outermost(paths: readonly string[], covered: readonly string[]): Hidden[] {
  const hiding = [...covered, ...paths]
  const roots = paths.filter((path) => !covered.includes(path) && !hiding.some((other) => isBelow(path, other)))
  return roots.toSorted().map((path) => ({ path, directory: statSync(path).isDirectory() }))
}

/**
 * Returns the directory that must become empty to hide the data directory. That is the topmost directory above it that
 * the kernel's user may not enter, since the kernel could otherwise not reach its own files below. If there is none, it
 * is the data directory itself.
 */
export function maskFor(dataDir: string, canEnter: (directory: string) => boolean): string {
  return ancestors(dataDir).find((path) => !canEnter(path)) ?? dataDir
}

/** Whether any user may enter it. */
export function isOpenToAll(directory: string): boolean {
  return (statSync(directory).mode & 0o001) !== 0
}

/** Lists the directories above `path`, from outer to inner, without the root. */
export function ancestors(path: string): string[] {
  const { root } = parse(path)
  const above: string[] = []
  for (let at = dirname(path); at !== root; at = dirname(at)) above.unshift(at)
  return above
}

export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory + sep)
}

function realPath(path: string): string[] {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return []
  try {
    return [realpathSync(path)]
  } catch {
    return []
  }
}

const ROOT = join(import.meta.dirname, '../../../../..')

/** Node, which `npm ci` installs and commands of the image `node` run, and the programs of the demo. */
const NAMES = ['node_modules', 'src/cli/demo/programs']

/** Directories that are replaced by empty ones, or by the kernel's own. */
export const EMPTY: readonly string[] = ['/tmp', '/var/tmp', '/run', '/dev/shm']

/** Parts of the server's own package that kernels should see although its place is hidden. */
export interface OwnPrograms {
  readonly root: string
  /** Names relative to `root`, all of which exist. */
  readonly names: readonly string[]
  /** The empty directory above, in which `root` must be created. */
  readonly within: string
  /** True if `within` has yet to be made empty, because kernels may not enter it. */
  readonly empties: boolean
}

interface Around {
  mask: string
  hidden: readonly Hidden[]
  canEnter: (directory: string) => boolean
  root?: string | undefined
}

/** Returns null if kernels already see the programs, or must not see them. */
export function ownPrograms({ mask, hidden, canEnter, root = ROOT }: Around): OwnPrograms | null {
  const real = realpathSync(root)
  const covered = [...EMPTY, mask].find((directory) => isBelow(real, directory))
  const within = covered ?? ancestors(real).find((directory) => !canEnter(directory))
  if (within === undefined) return null
  const secret = [mask, ...hidden.map(({ path }) => path)]
  const names = NAMES.filter((name) => {
    const path = join(real, name)
    if (!existsSync(path) || realpathSync(path) !== path) return false
    return !secret.some((other) => other === path || isBelow(other, path) || (other !== mask && isBelow(path, other)))
  })
  return names.length === 0 ? null : { root: real, names, within, empties: covered === undefined }
}
