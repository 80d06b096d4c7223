import { createHash, type Hash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

const UI = 'src/ui'
/** Of the file that a bundle begins with. */
export const PROGRAM = 'reprise.mjs'
/** Everything that the bundle of the program is made from, and that of the web UI. */
const PROGRAM_SOURCES = {
  directories: ['src'],
  without: UI,
  files: ['package.json', 'node_modules/.package-lock.json', 'scripts/bundle.ts'],
}
const UI_SOURCES = {
  directories: [UI, 'src/client'],
  files: [
    'node_modules/.package-lock.json',
    'scripts/bundle-ui.ts',
    'scripts/ui-documents.ts',
    'src/graphql/transport/graphiql-page.ts',
  ],
}

interface Sources {
  directories: readonly string[]
  without?: string
  files: readonly string[]
}

/**
 * Where the bundle of the sources as they are now is kept, if it has been made. They are compared by size and time of
 * change, in about 10 ms: after a change the path is another one, so that an outdated bundle is never found.
 */
export function bundlePath(checkout: string): string {
  return join(resolve(checkout), '.cache/bundle', hashOf(checkout, PROGRAM_SOURCES), PROGRAM)
}

/** The same for the web UI: a directory. */
export function uiBundlePath(checkout: string): string {
  return join(resolve(checkout), '.cache/ui', hashOf(checkout, UI_SOURCES))
}

/** Where the web UI is that can be served: the bundle of the sources as they are, or what a release carries. */
export function findUi(checkout: string): string | undefined {
  const made = existsSync(join(checkout, UI)) ? [uiBundlePath(checkout)] : []
  return [...made, uiReleasePath(checkout)].find((path) => existsSync(join(path, 'index.html')))
}

export function uiReleasePath(checkout: string): string {
  return join(resolve(checkout), 'dist/ui')
}

function hashOf(checkout: string, { directories, without, files }: Sources): string {
  const root = resolve(checkout)
  const hash = createHash('sha256').update(root)
  for (const file of files) addFile(hash, join(root, file))
  for (const directory of directories) addDirectory(hash, join(root, directory), without && join(root, without))
  return hash.digest('hex').slice(0, 16)
}

function addDirectory(hash: Hash, path: string, without?: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name)
    if (inside === without) continue
    if (entry.isDirectory()) addDirectory(hash, inside, without)
    else addFile(hash, inside)
  }
}

/** One that is missing counts as such: not every way to install packages leaves a lockfile, and servers start anyway. */
function addFile(hash: Hash, path: string): void {
  const file = statSync(path, { throwIfNoEntry: false })
  hash.update(`${path} ${file?.size} ${file?.mtimeMs}\n`)
}
