import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError } from '../../../archive/archive-entry.ts'
import { RELAY_ENTRIES_MAX } from '../../../domain/limits.ts'
import { openDirectoryBelow, pathOf } from './open-below.ts'
import { isPublishFile } from './publish-files.ts'

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
