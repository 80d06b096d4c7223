import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, parse, sep } from 'node:path'

export interface Hidden {
  readonly path: string
  readonly directory: boolean
}

/** Where people and services keep credentials, below their home. Programs and data of theirs stay visible. */
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

/** Covered as a whole for each kernel, or not a place to mount on. */
const REPLACED = ['/proc', '/sys', '/dev', '/run', '/tmp', '/var/tmp']

/** Those that exist, by their real paths, each once, and none below another one or `mask`. */
export function hiddenPaths(paths: readonly string[], mask: string, home = homedir()): Hidden[] {
  const all = new Set([...paths, ...IN_HOME.map((name) => join(home, name))].flatMap(realPath))
  return outermost([...all], [...REPLACED, mask])
}

/**
 * The same with fewer mounts: in place of what lies below a directory that the kernel's user may not enter, the topmost
 * such directory, which hides nothing from that user but what was out of its reach.
 *
 * @param covered hidden already, and what lies below
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
 * The directory that must become empty for the data directory to be hidden: the topmost one on the way to it that the
 * kernel's user may not enter, since within it the kernel could not reach its own; else the data directory itself.
 */
export function maskFor(dataDir: string, canEnter: (directory: string) => boolean): string {
  return ancestors(dataDir).find((path) => !canEnter(path)) ?? dataDir
}

/** Whether anybody may enter it. */
export function isOpenToAll(directory: string): boolean {
  return (statSync(directory).mode & 0o001) !== 0
}

/** From below the root down to the directory above `path`. */
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

/** Its Node, which `npm ci` has brought and commands of the image `node` run; and what the demo runs. */
const NAMES = ['node_modules', 'src/cli/demo/programs']

/** Replaced by empty ones. */
const EMPTY = ['/tmp', '/var/tmp', '/run', '/dev/shm']

/** What kernels see of the server's own package where they would see nothing of it. */
export interface OwnPrograms {
  readonly root: string
  /** Relative to `root`. They exist. */
  readonly names: readonly string[]
  /** The directory above that has become empty, and that `root` must be made in. */
  readonly within: string
  /** `within` must be made empty for it: kernels may not enter it. */
  readonly empties: boolean
}

interface Around {
  mask: string
  hidden: readonly Hidden[]
  canEnter: (directory: string) => boolean
  root?: string | undefined
}

/** Null if kernels see them as they are, or where they must not. */
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
