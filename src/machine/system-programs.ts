import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, type Stats } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path'

/**
 * Programs and directories that only root, or this process's own user, can change. The server and its agent look up the
 * programs that they run with their own rights once, here, and start them by their absolute path. So they never run a
 * program that somebody planted on the PATH or in a kernel's file system.
 */

/** Directories of the system's programs on most distributions. */
export const SYSTEM_DIRECTORIES = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** npm adds this directory of every package above the current one to the PATH. */
const OF_PACKAGES = `${sep}node_modules${sep}`

/** The overflow user: its files belong to users that this process's user namespace does not know. */
const UNKNOWN_USER = 65_534

const found = new Map<string, string>()

/**
 * Returns the PATH of programs that run with the server's or the agent's rights: `path` without relative directories,
 * directories of npm packages, and directories that another user can write. If none remains, the directories of the
 * system.
 */
export function systemPath(path = process.env['PATH'] ?? ''): string {
  const known = found.get(path)
  if (known !== undefined) return known
  // An empty PATH would mean the current directory.
  const made = safeDirectories(path) || safeDirectories(SYSTEM_DIRECTORIES) || '/usr/bin'
  found.set(path, made)
  return made
}

function safeDirectories(path: string): string {
  const safe = path
    .split(delimiter)
    .filter((directory) => isAbsolute(directory) && !isOfPackage(directory) && isSafe(directory))
  // Links are resolved because other users may be able to change them.
  return [...new Set(safe.map((directory) => realpathSync(directory)))].join(delimiter)
}

/**
 * Returns the PATH of kernels that set none: `path` without the programs of npm packages, followed by Node's directory.
 */
export function kernelPath(path = process.env['PATH'] ?? SYSTEM_DIRECTORIES, node = dirname(process.execPath)): string {
  const own = path.split(delimiter).filter((directory) => isAbsolute(directory) && !isOfPackage(directory))
  return [...new Set([...own, node])].join(delimiter)
}

function isOfPackage(directory: string): boolean {
  return `${directory}${sep}`.includes(OF_PACKAGES)
}

/**
 * @returns the absolute path of a program that runs with this process's rights. If there is none, returns a path at
 * which nothing exists, so that starting it fails with ENOENT.
 */
export function systemProgram(name: string, path = systemPath()): string {
  const key = `${name}\0${path}`
  const known = found.get(key)
  if (known !== undefined) return known
  const place = path
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find((file) => isProgram(file))
  if (place === undefined) return join('/nonexistent', name)
  found.set(key, place)
  return place
}

function isProgram(file: string): boolean {
  const status = lstatSync(file, { throwIfNoEntry: false })
  if (status === undefined) return false
  try {
    const real = realpathSync(file)
    const { mode } = lstatSync(real)
    return (mode & 0o111) !== 0 && isSafe(file) && isSafe(real)
  } catch {
    return false
  }
}

/** Whether only root and this process's user can change this file, or the entries of this directory. */
function isSafe(path: string): boolean {
  try {
    return unsafePath(path) === null
  } catch {
    return false
  }
}

/** A file or directory that another user can write. */
export interface UnsafePath {
  path: string
  /** `directory of user 1000 and group 1000 with mode 0755` */
  what: string
}

/**
 * Returns the outermost directory above a path, or the path itself, that another user can write. That user can then
 * change everything below it. In a directory with the sticky bit, like /tmp, no user can replace files of another user.
 * Such a directory is therefore safe above the path, but not as the path itself.
 *
 * @returns null if there is none
 * @throws if the path does not exist
 */
export function unsafePath(path: string): UnsafePath | null {
  const real = realpathSync(path)
  return (
    [...ancestorsOf(real), real].map((each) => unsafeItself(each, each !== real)).find((each) => each !== null) ?? null
  )
}

/** Like `unsafePath`, but for a path that may not exist yet: checks the place where it would be created. */
export function unsafeAbove(path: string): UnsafePath[] {
  const absolute = resolve(path)
  try {
    const unsafe = unsafePath(absolute)
    return unsafe === null ? [] : [unsafe]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const parent = dirname(absolute)
  const [unsafe] = unsafeAbove(parent)
  // In such a directory, no other user can replace what this user creates.
  const isSticky = unsafe !== undefined && unsafe.path === parent && unsafeItself(parent, true) === null
  return unsafe === undefined || isSticky ? [] : [unsafe]
}

/**
 * Lists what another user can write in an installed package or a checkout. Looks two levels deep, three in `dist`,
 * which takes about 50 ms.
 */
export function unsafeInPackage(root: string): UnsafePath[] {
  const built = join(root, 'dist')
  const paths = [...filesOf(root, 2), ...(existsSync(built) ? filesOf(built, 2) : [])]
  return [...new Set(paths)].flatMap((path) => unsafeItself(path, false) ?? [])
}

function filesOf(directory: string, levels: number): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    // The mode of a link has no effect: the mode of its directory decides who may replace it.
    if (entry.isSymbolicLink()) return []
    return entry.isDirectory() && levels > 1 ? [path, ...filesOf(path, levels - 1)] : [path]
  })
}

/** @param sticky whether the sticky bit makes a directory safe */
function unsafeItself(path: string, sticky: boolean): UnsafePath | null {
  const status = lstatSync(path)
  const isSticky = sticky && (status.mode & 0o1000) !== 0
  const unsafe = !trustedOwners().has(status.uid) || (othersCanWrite(status) && !isSticky)
  return unsafe ? { path, what: describe(status) } : null
}

/** Root, this user, and the owner of the root directory, which is root under another number in some user namespaces. */
function trustedOwners(): Set<number> {
  const { uid } = lstatSync('/')
  return new Set([0, process.getuid?.() ?? 0, ...(uid === UNKNOWN_USER ? [uid] : [])])
}

function othersCanWrite({ mode, gid }: Stats): boolean {
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && hasOtherMembers(gid))
}

/** Whether the group may have other members, which holds for groups that no file of this machine names. */
function hasOtherMembers(gid: number): boolean {
  const own = process.getuid?.() ?? 0
  const rows = (file: string) =>
    readFileSync(file, 'latin1')
      .split('\n')
      .map((line) => line.split(':'))
  try {
    const users = rows('/etc/passwd')
    const group = rows('/etc/group').find(([, , number]) => Number(number) === gid)
    const name = users.find(([, , uid]) => Number(uid) === own)?.[0]
    const primary = users.filter(([, , uid, first]) => Number(first) === gid && ![0, own].includes(Number(uid)))
    const members = (group?.[3] ?? '').split(',').filter((member) => !['', 'root', name].includes(member))
    return (group === undefined && gid !== 0) || primary.length + members.length > 0
  } catch {
    return true
  }
}

function describe({ mode, uid, gid }: Stats): string {
  const kind = (mode & 0o170_000) === 0o040_000 ? 'directory' : 'file'
  return `${kind} of user ${uid} and group ${gid} with mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`
}

/** Lists the directories from the root to the parent. */
function ancestorsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...ancestorsOf(parent), parent]
}
