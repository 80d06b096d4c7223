import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { UsageError } from '../present-error.ts'

const run = promisify(execFile)

/** Of the list of files. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * The files and links of a directory, relative to it, without those that git ignores: by its own rules, whether the
 * directory is in a repository or only has `.gitignore`. Directories are named where they are repositories of their own.
 *
 * @throws UsageError
 */
export async function gitFiles(directory: string): Promise<string[]> {
  try {
    if (await isTaken(directory)) return await list(directory, ['--cached', '--others'])
    return await listWithoutRepository(directory)
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string }
    if (code === 'ENOENT') return listWithoutGit(directory)
    if (stderr === undefined) throw error
    throw new UsageError(`git cannot list the files of ${directory}: ${stderr.trim()}`)
  }
}

/** Whether it is in a repository that does not ignore it as a whole: whoever names it wants what is in it. */
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

async function list(directory: string, which: readonly string[], before: readonly string[] = []): Promise<string[]> {
  const text = await git(directory, ['ls-files', '-z', '--exclude-standard', ...which], before)
  return [...new Set(text.split('\0').filter(Boolean))]
}

/** With an empty repository elsewhere, whose working tree the directory is. */
async function listWithoutRepository(directory: string): Promise<string[]> {
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

/** All files, where nothing says which are not wanted. */
async function listWithoutGit(directory: string): Promise<string[]> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name))
  const ignore = files.find((path) => path.endsWith('/.gitignore'))
  if (ignore !== undefined) {
    throw new UsageError(`git is needed to do what ${ignore} says: install it, or --upload the files one by one.`)
  }
  const names = files.map((path) => path.slice(directory.length + 1))
  return names.filter((name) => !name.split('/').includes('.git'))
}
