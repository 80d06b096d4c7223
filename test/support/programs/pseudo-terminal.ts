import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cleanEnvironment, MAIN } from './command-line.ts'

/** `script` of util-linux provides a terminal, even without an interactive session, to any user. */
export const PSEUDO_TERMINAL = findScript()

function findScript(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
}

/** Runs a command in a terminal of this width: its screen output, and keys to press. `main`: what runs it, if not ours. */
export function startInTerminal(
  args: readonly string[],
  options: { columns: number; environment: Readonly<Record<string, string>>; main?: readonly string[] },
) {
  const words = [process.execPath, ...(options.main ?? [MAIN]), ...args].map(
    (word) => `'${word.replaceAll("'", `'\\''`)}'`,
  )
  const command = `stty cols ${options.columns} rows 24; exec ${words.join(' ')}`
  const env = cleanEnvironment({ TERM: 'xterm-256color', SHELL: '/bin/sh', ...options.environment })
  const child = spawn('script', ['-qefc', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const seen = { text: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (seen.text += text))
  const ended = once(child, 'close').then(([status]) => ({ status: status as number, text: seen.text }))
  return { seen, ended, press: (keys: string) => child.stdin.write(keys) }
}

export const CTRL_C = '\u0003'
