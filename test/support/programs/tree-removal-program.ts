import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { createRemovals } from '../../../src/agent/removals.ts'
import { emptyBin, moveIntoBin, newBin, removeTree } from '../../../src/agent/remove-tree.ts'
import type { SyncPointName } from '../../../src/observability/sync-points.ts'
import { makeDeepTree } from '../deep-tree.ts'

/**
 * Removes trees as whoever runs this, in a directory of that user's: deep and locked ones, one that changes meanwhile,
 * one in passes. Prints what is left, and what became of what lies outside of them.
 */
const [base, levels] = [process.argv[2]!, Number(process.argv[3])]
const outside = join(base, 'outside')
const trees = join(base, 'trees')
mkdirSync(outside)
mkdirSync(trees)
writeFileSync(join(outside, 'file'), 'kept')
mkdirSync(join(outside, 'directory'))
writeFileSync(join(outside, 'directory', 'inner'), 'kept')
chmodSync(join(outside, 'directory'), 0o500)

const log = pino({ enabled: false })

/** All at once. */
async function whole(): Promise<string[]> {
  makeDeepTree(join(trees, 'deep'), levels, outside)
  await removeTree(join(trees, 'deep'))
  return readdirSync(trees)
}

/** A pass for each name; half of them by an instance that ends then, and the next one finds the rest. */
async function inPasses(): Promise<{ passes: number; largest: number; left: string[] }> {
  makeDeepTree(join(trees, 'slow'), 60, outside)
  const bin = newBin(join(trees, 'slow'))
  await moveIntoBin(join(trees, 'slow'), bin)
  let [passes, largest] = [0, 0]
  for (; passes < 60; passes++) largest = Math.max(largest, (await emptyBin(bin, 0)).count)
  makeDeepTree(join(trees, '.dropped-left'), 5, outside)
  mkdirSync(join(trees, '.dropping-empty'))
  const next = createRemovals({ log, passMs: 0 })
  await next.resume(trees)
  await nothingIn(trees)
  await next.close()
  return { passes, largest, left: readdirSync(trees) }
}

/** Another process replaces just inspected files of the tree with links. */
async function whileItChanges(): Promise<{ gone: boolean; swapped: number; left: string[] }> {
  const tree = join(trees, 'changing')
  mkdirSync(join(tree, 'sub', 'victim'), { recursive: true })
  for (const name of ['a', 'b', 'c']) {
    mkdirSync(join(tree, name), { mode: 0 })
    writeFileSync(join(tree, `file-${name}`), '')
  }
  process.chdir(tree)
  const bin = newBin(tree)
  await moveIntoBin(tree, bin)
  let swapped = 0
  /** By the working directory, as a program has it whose directory is moved. */
  const reached = async (point: SyncPointName) => {
    // One locked directory is left until it is about to be unlocked.
    for (const name of readdirSync('.')) {
      if (lstatSync(name).isSymbolicLink() || (name === 'c' && point !== 'removal:before-unlock')) continue
      swapped++
      if (!name.startsWith('file')) chmodSync(name, 0o700)
      renameSync(name, join(base, `moved-${name}`))
      symlinkSync(join(outside, name.startsWith('file') ? 'file' : 'directory'), name)
    }
  }
  const { gone } = await emptyBin(bin, Number.POSITIVE_INFINITY, { reached })
  process.chdir(base)
  return { gone, swapped, left: readdirSync(trees) }
}

async function nothingIn(path: string): Promise<void> {
  while (readdirSync(path).length > 0) await new Promise(setImmediate)
}

const result = {
  whole: await whole(),
  inPasses: await inPasses(),
  whileItChanges: await whileItChanges(),
  outside: {
    names: readdirSync(outside, { recursive: true, encoding: 'utf8' }).toSorted((a, b) => (a < b ? -1 : 1)),
    content: readFileSync(join(outside, 'file'), 'utf8'),
    mode: lstatSync(join(outside, 'directory')).mode & 0o777,
    links: lstatSync(join(outside, 'file')).nlink,
  },
}
process.stdout.write(JSON.stringify(result))
