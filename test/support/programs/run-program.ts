import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Runs a program of this directory to its end. Unhandled errors end it with a status other than 0. */
export async function runProgram(name: string, args: readonly string[]) {
  const program = join(import.meta.dirname, name)
  const child = spawn(process.execPath, ['--unhandled-rejections=strict', program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  let printedAt = 0
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    printedAt = performance.now()
  })
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, output, ms: { afterOutput: performance.now() - printedAt } }
}
