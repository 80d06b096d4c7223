import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { systemPath, systemProgram } from '../../../machine/system-programs.ts'
import { withPipes } from '../process/shell.ts'

const OUTPUT_MAX = 64 * 1024

export interface BackgroundCommand {
  /** Null if it was killed or could not be started. */
  code: number | null
  stdout: string
  /** It was denied something. */
  refused: boolean
}

/**
 * Runs a program of the system over what kernels have left: with low priority, in the C locale, and however much it has
 * to complain about. An agent that stops does not wait for it.
 */
export function runInBackground(
  [command, ...args]: readonly [string, ...string[]],
  { withinMs }: { withinMs?: number } = {},
): Promise<BackgroundCommand> {
  const { promise, resolve } = Promise.withResolvers<BackgroundCommand>()
  const started = spawn(systemProgram('nice'), ['-n', '19', systemProgram(command), ...args], {
    env: { PATH: systemPath(), LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(withinMs !== undefined && { timeout: withinMs, killSignal: 'SIGKILL' as const }),
  })
  let child: typeof started
  try {
    child = withPipes(started)
  } catch {
    return Promise.resolve({ code: null, stdout: '', refused: false })
  }
  let [stdout, complaints, refused] = ['', '', false]
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    if (stdout.length < OUTPUT_MAX) stdout += text
  })
  child.stderr.setEncoding('latin1').on('data', (text: string) => {
    complaints = complaints.slice(-100) + text
    refused ||= complaints.includes('Permission denied')
  })
  child.unref()
  for (const stream of [child.stdout, child.stderr]) (stream as Socket).unref()
  child.once('error', () => resolve({ code: null, stdout: '', refused: false }))
  child.once('close', (code) => resolve({ code, stdout, refused }))
  return promise
}
