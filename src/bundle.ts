import { createHash, type Hash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

const DIRECTORY = 'src'
/** With the directory, everything that a bundle is made from. */
const FILES = ['package.json', 'node_modules/.package-lock.json', 'scripts/bundle.ts']

/**
 * Where the bundle of the sources as they are now is kept, if it has been made. They are compared by size and time of
 * change, in about 10 ms: after a change the path is another one, so that an outdated bundle is never found.
 */
export function bundlePath(checkout: string): string {
  const root = resolve(checkout)
  const hash = createHash('sha256').update(root)
  for (const file of FILES) addFile(hash, join(root, file))
  addDirectory(hash, join(root, DIRECTORY))
  return join(root, '.cache/bundle', hash.digest('hex').slice(0, 16), 'reprise.mjs')
}

function addDirectory(hash: Hash, path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name)
    if (entry.isDirectory()) addDirectory(hash, inside)
    else addFile(hash, inside)
  }
}

/** One that is missing counts as such: not every way to install packages leaves a lockfile, and servers start anyway. */
function addFile(hash: Hash, path: string): void {
  const file = statSync(path, { throwIfNoEntry: false })
  hash.update(`${path} ${file?.size} ${file?.mtimeMs}\n`)
}
