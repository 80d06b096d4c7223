import { constants } from 'node:fs'
import { lchown, mkdir, open, symlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveEntry } from './archive-entry.ts'
import { createArchiveReader, type ArchiveBounds } from './read-archive.ts'

export interface ExtractOptions extends ArchiveBounds {
  /** The owner of all extracted files, or null for the user of this process. */
  owner: Owner | null
}

/** The user and group that own files. */
export interface Owner {
  uid: number
  gid: number
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/**
 * Extracts into a new directory, and gives it to its owner last. Until then only this process may reach into it, so
 * names stay what they were when they were checked.
 *
 * @throws ArchiveError; EEXIST if the directory already exists
 */
export async function extractArchive(
  source: AsyncIterable<Uint8Array>,
  directory: string,
  options: ExtractOptions,
): Promise<void> {
  const { owner } = options
  await mkdir(directory, 0o700)
  const reader = createArchiveReader(options)
  let file: FileHandle | null = null
  let left = 0

  const own = (path: string) => (owner === null ? undefined : lchown(path, owner.uid, owner.gid))

  async function make(name: string): Promise<void> {
    const path = join(directory, name)
    await mkdir(path, 0o755)
    await own(path)
  }

  async function begin({ kind, name, bytes, executable, target }: ArchiveEntry): Promise<void> {
    if (kind === 'directory') return
    const path = join(directory, name)
    if (kind === 'link') {
      await symlink(target!, path)
      return own(path)
    }
    file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, executable ? 0o755 : 0o644)
    if (owner !== null) await file.chown(owner.uid, owner.gid)
    left = bytes
    await closeIfWhole()
  }

  async function closeIfWhole(): Promise<void> {
    if (left > 0) return
    await file?.close()
    file = null
  }

  try {
    for await (const chunk of source) {
      for await (const piece of reader.read(chunk)) {
        if ('entry' in piece) {
          for (const name of piece.directories) await make(name)
          await begin(piece.entry)
        } else {
          await writeAll(file!, piece.bytes)
          left -= piece.bytes.length
          await closeIfWhole()
        }
      }
    }
    reader.end()
  } finally {
    await (file as FileHandle | null)?.close()
  }
  await own(directory)
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at)).bytesWritten
}
