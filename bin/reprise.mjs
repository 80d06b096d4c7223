#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Starts `reprise`. In a checkout it runs the source; if this Node is too old for that, it uses the one that `npm ci`
 * has installed. In an installed package it runs the bundle of `npm run build`, with this Node or one installed beside
 * it.
 */
const NODE_MIN = [22, 18]
const NODE_PACKAGE = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..')
const source = join(root, 'src/main.ts')
const isCheckout = existsSync(source)
const program = isCheckout ? source : join(root, 'dist/program/reprise.mjs')

if (!existsSync(program)) {
  fail('This package was packed without a build. Where it was packed, run: npm run build && npm pack')
}
if (process.getuid?.() === 0 && isNewEnough()) await confineModules()

if (!isNewEnough()) {
  runWithNewerNode()
} else if (isCheckout) {
  const { enableCompileCache } = await import('node:module')
  // The cache is enabled before the first file with types: stripping them from that file alone would take a third of a
  // command's start.
  enableCompileCache(join(root, '.cache/compiled'))
  await import('../src/main.ts')
} else {
  await import('../dist/program/reprise.mjs')
}

/**
 * As root, loads modules from this package, and otherwise only files that no other user can change. Node also searches
 * `node_modules` of all directories above, which other users may be able to create.
 */
async function confineModules() {
  const { registerHooks } = await import('node:module')
  const own = realpathSync(root)
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      if (!found.url.startsWith('file:')) return found
      const path = fileURLToPath(found.url)
      if (path.startsWith(`${own}/`) || isOfRoot(path)) return found
      throw Object.assign(new Error(`${path} can be changed by other users: root does not load it`), {
        code: context.conditions.includes('require') ? 'MODULE_NOT_FOUND' : 'ERR_MODULE_NOT_FOUND',
      })
    },
  })
}

/** Whether only root can change this file: no other user owns it or a directory above it, or can write there. */
function isOfRoot(path) {
  const { uid, mode } = lstatSync(path)
  // In a directory with the sticky bit, no user can replace files of another user.
  const isClosed = uid === 0 && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0)
  return isClosed && (dirname(path) === path || isOfRoot(dirname(path)))
}

function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])
}

function runWithNewerNode() {
  const name = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node'
  const places = [join(root, 'node_modules', NODE_PACKAGE), join(root, '..', NODE_PACKAGE)]
  const node = places.map((place) => join(place, name)).find((path) => existsSync(path))
  if (node === undefined) fail(`Node ${process.version} is too old for Reprise. ${howToGetNode()}`)
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // A terminal sends its signals to both processes, other senders only to this one; the other process treats two
  // signals at once as one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (status, signal) => {
    if (signal === null) process.exit(status)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** What to do for a Node that `runWithNewerNode` then finds. */
function howToGetNode() {
  if (!['linux-arm64', 'linux-x64', 'win-x64'].some((platform) => NODE_PACKAGE === `node-${platform}`)) {
    return `Install Node ${NODE_MIN.join('.')} or later from https://nodejs.org.`
  }
  if (isCheckout) return 'Run: npm ci --include=optional'
  const parent = join(root, '../..')
  const place = existsSync(join(parent, 'package.json'))
    ? `--prefix ${JSON.stringify(parent)}`
    : `--global --prefix ${JSON.stringify(process.platform === 'win32' ? parent : dirname(parent))}`
  return `Run: npm install ${place} ${NODE_PACKAGE}@24`
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
