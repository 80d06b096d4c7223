import { type FileHandle, open, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError } from '../../../archive/archive-entry.ts'
import { RELAY_ENTRIES_MAX } from '../../../domain/limits.ts'
import { isPublishFile } from './publish-files.ts'
import { constants } from 'node:fs'

/**
 * Visits all that is in the directory of a chain and belongs to its checkpoint, in the order of its names, each by a
 * path that no link is part of: programs of the same project may reach into it meanwhile.
 *
 * @param visit returns whether to go into it
 * @throws ArchiveError if there is more than may travel
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
 * Opens what is in a directory whose programs may still be about: no link is followed, on the way to a file or in its
 * place.
 *
 * @throws ELOOP, ENOTDIR where a link has come in between
 */
export async function openBelow(root: string, name: string, flags = O_NONBLOCK): Promise<FileHandle> {
  const parts = name.split('/').filter((part) => part !== '')
  let at = await open(root, O_RDONLY | O_NOFOLLOW | O_DIRECTORY)
  for (const [index, part] of parts.entries()) {
    const last = index === parts.length - 1
    await using parent = at
    at = await open(join(pathOf(parent), part), O_RDONLY | O_NOFOLLOW | (last ? flags : O_DIRECTORY))
  }
  return at
}

export function openDirectoryBelow(root: string, name: string): Promise<FileHandle> {
  return openBelow(root, name, O_DIRECTORY)
}

/** Of what it has open, whatever has its name now. */
export function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`
}
