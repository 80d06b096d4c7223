#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

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
