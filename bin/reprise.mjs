#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, sep } from 'node:path'

/**
 * `reprise`. Where the package is installed, what `npm run build` has compiled: the commands that talk to a server.
 * In a checkout the source itself, everything, with the Node that `npm ci` has brought where this one is too old for it.
 */
const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..')
const installed = root.split(sep).includes('node_modules')

if (installed) {
  const { Command } = await import('commander')
  const { readFileSync } = await import('node:fs')
  const { addClientCommands } = await import('../dist/cli/program.js')
  const { runProgram } = await import('../dist/cli/run-program.js')
  const { version, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const program = new Command('reprise').description(description).version(version)
  await runProgram(await addClientCommands(program, process.argv[2]))
} else if (process.features.typescript) {
  const { enableCompileCache } = await import('node:module')
  // Before the first file with types: to strip them from one alone is a third of a command's start.
  enableCompileCache(join(root, '.cache/compiled'))
  await import('../src/main.ts')
} else {
  runWithNewerNode()
}

function runWithNewerNode() {
  const node = join(root, 'node_modules/.bin', process.platform === 'win32' ? 'node.cmd' : 'node')
  if (!existsSync(node)) {
    process.stderr.write(`Node ${process.version} is too old for the source: 22.18 or later is needed.\n`)
    process.exit(1)
  }
  const args = [join(root, 'src/main.ts'), ...process.argv.slice(2)]
  const child = spawn(node, args, { stdio: 'inherit', shell: process.platform === 'win32' })
  // A terminal sends its signals to both, other senders to this one alone; the other takes two at once for one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (status, signal) => {
    if (signal === null) process.exit(status)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
