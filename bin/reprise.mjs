#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * `reprise`. In a checkout it runs the source, with the Node that `npm ci` has brought where this one is too old for it.
 * Where the package is installed it runs what `npm run build` has bundled, with this Node or one installed beside it.
 */
const NODE_MIN = [22, 18]
const NODE_PACKAGE = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..')
const source = join(root, 'src/main.ts')
const isCheckout = existsSync(source)
const program = isCheckout ? source : join(root, 'dist/program/reprise.mjs')

if (process.getuid?.() === 0 && isNewEnough()) await confineModules()

if (!isNewEnough()) {
  runWithNewerNode()
} else if (isCheckout) {
  const { enableCompileCache } = await import('node:module')
  // Before the first file with types: to strip them from one alone is a third of a command's start.
  enableCompileCache(join(root, '.cache/compiled'))
  await import('../src/main.ts')
} else {
  await import('../dist/program/reprise.mjs')
}

/**
 * Root loads modules from this package, and otherwise only what no other user can change: Node also looks in
 * `node_modules` of all directories above, which other users may be able to make.
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

/** Whether only root can change this file: nobody else owns it, or a directory above, or can write there. */
function isOfRoot(path) {
  const { uid, mode } = lstatSync(path)
  // In a directory with the sticky bit, nobody can replace what belongs to somebody else.
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
  if (node === undefined) {
    const how = isCheckout
      ? '`npm ci` brings one on Linux and Windows, unless optional packages are left out.'
      : `Install one, for example by \`npm install --global ${NODE_PACKAGE}@24\`: it is found there.`
    process.stderr.write(`Node ${process.version} is too old: ${NODE_MIN.join('.')} or later is needed.\n${how}\n`)
    process.exit(1)
  }
  const child = spawn(node, [program, ...process.argv.slice(2)], { stdio: 'inherit' })
  // A terminal sends its signals to both, other senders to this one alone; the other takes two at once for one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (status, signal) => {
    if (signal === null) process.exit(status)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
