import { type FileHandle, open, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError } from '../../../archive/archive-entry.ts'
import { RELAY_ENTRIES_MAX } from '../../../domain/limits.ts'
import { isPublishFile } from './publish-files.ts'
import { constants } from 'node:fs'

/**
 * Visits everything in a chain's directory that belongs to its checkpoint, ordered by name. No link is part of the
 * paths that it visits: programs of the same project may change the directory meanwhile.
 *
 * @param visit returns whether to enter the directory
 * @throws ArchiveError if there are more entries than can be sent
 */
export async function walkBelow(
  root: string,
  visit: (name: string, at: string) => Promise<boolean>,
  name = '',
): Promise<void> {
  await using directory = await openDirectoryBelow(root, name)
  const here = pathOf(directory)
  const found: string[] = []
  for await (const entry of await opendir(here)) {
    if (name === '' && isPublishFile(entry.name)) continue
    if (found.push(entry.name) > RELAY_ENTRIES_MAX) throw tooMany()
  }
  for (const base of found.toSorted()) {
    const own = name === '' ? base : `${name}/${base}`
    if (await visit(own, join(here, base))) await walkBelow(root, visit, own)
  }
}

export function tooMany(): ArchiveError {
  return new ArchiveError(`it has more than ${RELAY_ENTRIES_MAX} files and directories`)
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants

/**
 * Opens an entry of a directory whose programs may still run. No link is followed on the way to it or in its place.
 *
 * @throws ELOOP, ENOTDIR if a link was put in between
 */
export async function openBelow(root: string, name: string, flags = O_NONBLOCK): Promise<FileHandle> {
  const parts = name.split('/').filter((part) => part !== '')
  let at = await open(root, O_RDONLY | O_NOFOLLOW | O_DIRECTORY)
  for (const [index, part] of parts.entries()) {
    await using parent = at
    at = await openIn(parent, part, index === parts.length - 1 ? flags : O_DIRECTORY)
  }
  return at
}

/** Opens an entry of an open directory, unless it is a link. @throws ELOOP, ENOTDIR */
export function openIn(parent: FileHandle, name: string, flags = O_DIRECTORY): Promise<FileHandle> {
  return open(join(pathOf(parent), name), O_RDONLY | O_NOFOLLOW | flags)
}

export function openDirectoryBelow(root: string, name: string): Promise<FileHandle> {
  return openBelow(root, name, O_DIRECTORY)
}

/** Returns a path to the open file itself, even if another file has its name now. */
export function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`
}
