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
 * The agent's own files, opened so that nobody who can write beside them can do harm: with isolation `none` that is
 * every kernel. A link is not followed, a pipe does not block, and only a regular file is read.
 */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** The largest is a kernel's `spec.json`: the limits of a session's texts keep it well below. */
const BYTES_MAX = 64 * 1024 * 1024

/** @returns null if there is no such file, or if what is there is no regular file or too large */
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

/** The beginning of a file of which a program may have made anything. @returns null if there is no regular one */
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

/** Replaces whatever is there, in one step. */
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

/** Instead of what a crash has left there, or somebody has put there. */
function createAnew(path: string): number {
  try {
    return openSync(path, CREATE, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    takeAway(path)
    return openSync(path, CREATE, 0o600)
  }
}

/** A directory may have anything in it: it is renamed, and removed by the agent's next start at the latest. */
function takeAway(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!['EISDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    dropSync(path)
  }
}

/** 0 if there is no such file, or if it is no regular one. */
export function regularFileSize(path: string): number {
  const stat = statIfThere(path)
  return stat?.isFile() === true ? stat.size : 0
}

/** Of the entry itself, be it a link; null where there is none, or something else in the place of a directory above it. */
export function statIfThere(path: string): Stats | null {
  try {
    return lstatSync(path)
  } catch (error) {
    if (isNoFile(error)) return null
    throw error
  }
}

/**
 * Open for reading.
 *
 * @param single it may not have another name: then it may be somebody else's file
 * @throws if there is no such file, or if it is no regular one
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

/** ELOOP: a link. ENXIO: a socket. */
const NO_FILE = new Set(['ENOENT', 'ELOOP', 'ENXIO', 'ENOTDIR'])

/** There is no such file, or something else is in its place, or in that of a directory above it. */
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

function readUpTo(fd: number, size: number): string {
  const buffer = Buffer.allocUnsafe(size)
  let filled = 0
  while (filled < size) {
    const read = readSync(fd, buffer, filled, size - filled, filled)
    if (read === 0) break
    filled += read
  }
  return buffer.toString('utf8', 0, filled)
}
