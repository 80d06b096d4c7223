import { createHash, type Hash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

const UI = 'src/ui'
/** Name of the file that starts a bundle. */
export const PROGRAM = 'reprise.mjs'
/** The files from which the bundle of the program is made; below, those of the web UI. */
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
    'scripts/bundle-graphiql.ts',
    'src/http/graphiql-files.ts',
  ],
}

const PYTHON_SOURCES = {
  directories: ['clients/python/src'],
  files: ['package.json', 'LICENSE', 'clients/python/README.md', 'scripts/bundle-python.ts'],
}

interface Sources {
  directories: readonly string[]
  without?: string
  files: readonly string[]
}

/**
 * Returns the path of the bundle of the present sources, which may not exist. The path depends on the size and time of
 * change of all sources, so an outdated bundle is never found. Takes about 10 ms.
 */
export function bundlePath(checkout: string): string {
  return join(resolve(checkout), '.cache/bundle', hashOf(checkout, PROGRAM_SOURCES), PROGRAM)
}

/** Like `bundlePath`, for the directory of the web UI. */
export function uiBundlePath(checkout: string): string {
  return join(resolve(checkout), '.cache/ui', hashOf(checkout, UI_SOURCES))
}

/** Returns the directory of a web UI that can be served: the bundle of the present sources, or that of a release. */
export function findUi(checkout: string): string | undefined {
  const made = existsSync(join(checkout, UI)) ? [uiBundlePath(checkout)] : []
  return [...made, uiReleasePath(checkout)].find((path) => existsSync(join(path, 'index.html')))
}

/** Like `bundlePath`, for the directory with the wheel of the Python client. */
export function pythonBundlePath(checkout: string): string {
  return join(resolve(checkout), '.cache/python', hashOf(checkout, PYTHON_SOURCES))
}

/** Returns the directory of the wheel: the bundle of the present sources, or that of a release. */
export function pythonPath(checkout: string): string {
  return existsSync(join(checkout, 'clients')) ? pythonBundlePath(checkout) : pythonReleasePath(checkout)
}

export function pythonReleasePath(checkout: string): string {
  return join(resolve(checkout), 'dist/python')
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
    // Python writes such directories while it runs the client from its sources.
    if (inside === without || entry.name === '__pycache__') continue
    if (entry.isDirectory()) addDirectory(hash, inside, without)
    else addFile(hash, inside)
  }
}

/** Adds a file to the hash. A missing one is no error: not every way to install packages leaves a lockfile. */
function addFile(hash: Hash, path: string): void {
  const file = statSync(path, { throwIfNoEntry: false })
  hash.update(`${path} ${file?.size} ${file?.mtimeMs}\n`)
}
