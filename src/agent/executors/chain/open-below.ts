import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

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
