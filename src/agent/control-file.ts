import {
  type Stats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { dropSync } from './remove-tree.ts'

/**
 * The agent's own files, opened so that other writers in the same directory can do no harm. With isolation `none`,
 * every kernel is such a writer. Links are not followed, pipes do not block, and only regular files are read.
 */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Largest control file. A kernel's `spec.json` is the largest, and the limits of session fields keep it well below. */
const BYTES_MAX = 64 * 1024 * 1024

/** @returns null if there is no such file, or if it is too large or not a regular file */
export function readControlFile(path: string, bytesMax = BYTES_MAX): string | null {
  const fd = openIfRegular(path)
  if (fd === null) return null
  try {
    const stat = fstatSync(fd)
    return stat.isFile() && stat.size <= bytesMax ? readUpTo(fd, stat.size) : null
  } finally {
    closeSync(fd)
  }
}

/** Reads the beginning of a file that a program may have replaced. @returns null unless it is a regular file */
export function readBeginning(path: string, bytesMax: number): string | null {
  const fd = openIfRegular(path)
  if (fd === null) return null
  try {
    const stat = fstatSync(fd)
    return stat.isFile() ? readUpTo(fd, Math.min(stat.size, bytesMax)) : null
  } finally {
    closeSync(fd)
  }
}

/**
 * Reads the end of a file that a program may have replaced, for people who see that program's results.
 *
 * @returns '' unless it is a regular file with one name: where users may link files of others, one with further names
 * may be anybody's
 */
export function readEnd(path: string, bytesMax: number): string {
  const fd = openIfRegular(path)
  if (fd === null) return ''
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.nlink > 1) return ''
    const from = Math.max(0, stat.size - bytesMax)
    return readUpTo(fd, stat.size - from, from)
  } finally {
    closeSync(fd)
  }
}

/** Writes the file in one step, replacing an existing one. */
export function writeControlFile(path: string, text: string): void {
  const draft = `${path}.new`
  const fd = createAnew(draft)
  try {
    writeFileSync(fd, text)
  } finally {
    closeSync(fd)
  }
  try {
    renameSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error
    takeAway(path)
    renameSync(draft, path)
  }
}

/** Creates the file. If something exists at the path, for example after a crash, removes it first. */
function createAnew(path: string): number {
  try {
    return openSync(path, CREATE, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    takeAway(path)
    return openSync(path, CREATE, 0o600)
  }
}

/**
 * Frees a path. A directory, which may contain anything, is renamed, and removed by the agent's next start at the
 * latest.
 */
function takeAway(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!['EISDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    dropSync(path)
  }
}

/** Returns the size of a regular file, or 0 if there is none. */
export function regularFileSize(path: string): number {
  const stat = statIfThere(path)
  return stat?.isFile() === true ? stat.size : 0
}

/**
 * Returns the stat of the entry itself, even of a link. Returns null if there is none, or if something else than a
 * directory is in its path.
 */
export function statIfThere(path: string): Stats | null {
  try {
    return lstatSync(path)
  } catch (error) {
    if (isNoFile(error)) return null
    throw error
  }
}

/**
 * Opens a regular file for reading.
 *
 * @param single refuses a file with further names, because it may be another user's file
 * @throws if there is no such file, or if it is not a regular file
 */
export async function openRegularFile(path: string, { single = false } = {}): Promise<FileHandle> {
  const file = await open(path, READ)
  try {
    const stat = await file.stat()
    if (stat.isFile() && (!single || stat.nlink <= 1)) return file
    throw new Error(`${path} is not a regular file`)
  } catch (error) {
    await file.close()
    throw error
  }
}

/** ELOOP means a link, ENXIO a socket. */
const NO_FILE = new Set(['ENOENT', 'ELOOP', 'ENXIO', 'ENOTDIR'])

/**
 * Whether the error means that there is no such file, or that something else took its place or that of a directory in
 * its path.
 */
export function isNoFile(error: unknown): boolean {
  return NO_FILE.has((error as NodeJS.ErrnoException).code ?? '')
}

function openIfRegular(path: string): number | null {
  try {
    return openSync(path, READ)
  } catch (error) {
    if (isNoFile(error)) return null
    throw error
  }
}

function readUpTo(fd: number, size: number, from = 0): string {
  const buffer = Buffer.allocUnsafe(size)
  let filled = 0
  while (filled < size) {
    const read = readSync(fd, buffer, filled, size - filled, from + filled)
    if (read === 0) break
    filled += read
  }
  return buffer.toString('utf8', 0, filled)
}
