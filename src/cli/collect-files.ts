import type { Stats } from 'node:fs'
import { lstat, mkdtemp, readdir, readlink, realpath, rm, stat } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { ArchiveError, checkTarget, createNames, plainName } from '../archive/archive-entry.ts'
import type { PackedEntry } from '../archive/pack-files.ts'
import { UsageError } from './present-error.ts'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import process from 'node:process'
import { promisify } from 'node:util'

/** Maximum number of files, the same as the server's limit. */
const FILES_MAX = 20_000

/** A file that cannot be uploaded. */
export interface LeftOut {
  /** Its path in the archive; characters that are not valid are replaced. */
  name: string
  reason: string
}

/** What was found below the named paths. */
interface Found {
  entries: Map<string, PackedEntry>
  leftOut: LeftOut[]
}

/**
 * Lists all files of the named paths, sorted by name, so that the same files always make the same archive. Names in the
 * archive are relative to the working directory; a path outside of it has only its last part there.
 *
 * @param onLeftOut called once with the files that cannot be uploaded, if there are any
 * @throws UsageError
 */
export async function collectFiles(
  paths: readonly string[],
  from: string,
  onLeftOut: (files: readonly LeftOut[]) => void = () => {},
): Promise<PackedEntry[]> {
  const found: Found = { entries: new Map(), leftOut: [] }
  const { entries, leftOut } = found
  const here = await realpath(from)
  for (const given of paths) {
    const path = await realpath(resolve(from, given)).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`--upload ${given}: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`)
    })
    const inside = relative(here, path)
    const prefix = inside === '..' || inside.startsWith('../') ? basename(path) : inside
    await add(found, path, prefix)
  }
  if (leftOut.length > 0) onLeftOut(leftOut)
  if (entries.size === 0) throw new UsageError(`--upload ${paths.join(', ')}: there are no files`)
  const sorted = [...entries.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  refusing(() => {
    const names = createNames()
    for (const entry of sorted) names.take(entry)
  })
  return sorted
}

/** Refuses files that the server would refuse. */
function refusing<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof ArchiveError) throw new UsageError(`--upload: ${error.message}`)
    throw error
  }
}

async function add(found: Found, path: string, name: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) return take(found, await entryOf(path, name))
  const { files, ignored } = await gitFiles(path)
  for (const file of files) {
    const inner = join(path, file)
    const there = await lstat(inner).catch(ifMissing)
    if (there?.isDirectory() === true) {
      // A repository within this one is listed as a directory.
      await add(found, inner, join(name, file))
    } else if (there !== null) take(found, await entryOf(inner, join(name, file)))
    // Otherwise git lists a file that was deleted, or one whose name was not decoded.
    else if (file.includes(REPLACED)) take(found, { name: join(name, file), reason: 'its name is not UTF-8' })
  }
  for (const special of await specialFiles(path, ignored)) take(found, { ...special, name: join(name, special.name) })
}

/** Stands for bytes that are not UTF-8. */
const REPLACED = '\uFFFD'

function take({ entries, leftOut }: Found, entry: PackedEntry | LeftOut): void {
  if ('reason' in entry) {
    if (leftOut.every(({ name }) => name !== entry.name)) leftOut.push(entry)
    return
  }
  const known = entries.get(entry.name)
  if (known !== undefined && known.path !== entry.path) {
    throw new UsageError(`--upload: ${known.path} and ${entry.path} would both be ${entry.name}`)
  }
  entries.set(entry.name, entry)
  if (entries.size > FILES_MAX) {
    throw new UsageError(`--upload: there are more than ${FILES_MAX} files; exclude some with a .gitignore`)
  }
}

/** Describes one path, or says why it cannot be copied. */
async function entryOf(path: string, given: string): Promise<PackedEntry | LeftOut> {
  const found = await lstat(path)
  const name = refusing(() => plainName(given))
  if (found.isSymbolicLink()) {
    const target = await readlink(path)
    refusing(() => checkTarget(name, target))
    return { kind: 'link', name, path, target, bytes: 0, executable: false }
  }
  if (!found.isFile()) return { name, reason: kindOf(found) }
  return { kind: 'file', name, path, target: null, bytes: found.size, executable: (found.mode & 0o100) !== 0 }
}

function kindOf(found: Pick<Stats, 'isFIFO' | 'isSocket'>): string {
  if (found.isFIFO()) return 'a FIFO'
  return found.isSocket() ? 'a socket' : 'a device'
}

function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

const run = promisify(execFile)

/** Maximum size of git's list of files. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * Lists the files and links of a directory, relative to it, without those that git ignores. Git's own rules apply, even
 * if the directory is not in a repository but only has `.gitignore` files. A directory that is itself a repository is
 * listed as one entry.
 *
 * @throws UsageError
 */
async function gitFiles(directory: string): Promise<GitFiles> {
  try {
    if (await isTaken(directory)) return await list(directory, ['--cached', '--others'])
    return await listWithoutRepository(directory)
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string }
    if (code === 'ENOENT') return { files: await listWithoutGit(directory), ignored: new Set() }
    if (stderr === undefined) throw error
    throw new UsageError(`git cannot list the files of ${directory}: ${stderr.trim()}`)
  }
}

/**
 * Whether the directory is in a repository that does not ignore all of it. An ignored directory that the user names is
 * uploaded.
 */
async function isTaken(directory: string): Promise<boolean> {
  try {
    await git(directory, ['rev-parse', '--is-inside-work-tree'])
  } catch (error) {
    if ((error as { code?: unknown }).code === 128 && isNoRepository(error)) return false
    throw error
  }
  const ignored = await git(directory, ['check-ignore', '--quiet', '.']).catch((error: { code?: unknown }) => {
    if (error.code === 1) return null
    throw error
  })
  return ignored === null
}

function isNoRepository(error: unknown): boolean {
  return /not a git repository|must be run in a work tree/.test((error as { stderr?: string }).stderr ?? '')
}

interface GitFiles {
  files: string[]
  /** The directories that git ignores as a whole, each with a slash at its end. */
  ignored: ReadonlySet<string>
}

async function list(directory: string, which: readonly string[], before: readonly string[] = []): Promise<GitFiles> {
  const read = async (...words: string[]) => {
    const text = await git(directory, ['ls-files', '-z', '--exclude-standard', ...words], before)
    return new Set(text.split('\0').filter(Boolean))
  }
  const [files, ignored] = await Promise.all([read(...which), read('--others', '--ignored', '--directory')])
  return { files: [...files], ignored }
}

/** Uses an empty temporary repository whose working tree is the directory. */
async function listWithoutRepository(directory: string): Promise<GitFiles> {
  const elsewhere = await mkdtemp(join(tmpdir(), 'reprise-upload-'))
  try {
    await git(elsewhere, ['init', '--quiet'])
    return await list(directory, ['--others'], [`--git-dir=${join(elsewhere, '.git')}`, `--work-tree=${directory}`])
  } finally {
    await rm(elsewhere, { recursive: true, force: true })
  }
}

async function git(directory: string, args: readonly string[], before: readonly string[] = []): Promise<string> {
  const settings = ['-c', 'core.fsmonitor=false']
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...environment } = process.env
  const { stdout } = await run('git', ['-C', directory, ...settings, ...before, ...args], {
    env: { ...environment, GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' },
    maxBuffer: OUTPUT_BYTES_MAX,
  })
  return stdout
}

/**
 * Lists FIFOs, sockets and devices, which git does not know, in directories that it does not ignore. Without git nothing
 * is missing from its list.
 */
async function specialFiles(directory: string, ignored: ReadonlySet<string>): Promise<LeftOut[]> {
  const special: LeftOut[] = []
  const left = ['']
  for (let below = left.pop(); below !== undefined; below = left.pop()) {
    for (const entry of await readdir(join(directory, below), { withFileTypes: true }).catch(() => [])) {
      const name = join(below, entry.name)
      if (entry.isDirectory() && entry.name !== '.git' && !ignored.has(`${name}/`)) left.push(name)
      if (entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice())
        special.push({ name, reason: kindOf(entry) })
    }
  }
  return special.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Lists all files if there is no .gitignore; otherwise git is needed. */
async function listWithoutGit(directory: string): Promise<string[]> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name))
  const ignore = files.find((path) => path.endsWith('/.gitignore'))
  if (ignore !== undefined) {
    throw new UsageError(`git is needed to apply ${ignore}: install it, or --upload the files one by one.`)
  }
  const names = files.map((path) => path.slice(directory.length + 1))
  return names.filter((name) => !name.split('/').includes('.git'))
}
