import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { openTerminal } from '../../../src/agent/executors/process/exec/command-streams.ts'
import { eventually } from '../eventually.ts'
import { cleanEnvironment, type commandLine, MAIN } from './command-line.ts'

/** Helpers for tests of `reprise exec` and `reprise port-forward`. */

const SLOWLY_MS = 120_000

/** Says its size when asked, minds no Ctrl-C, and ends when told to. */
export const SHELL =
  'trap "echo interrupted" INT; echo ready; while :; do read -r word || continue; [ $word = size ] && stty size; [ $word = end ] && exit 5; done'

/** `reprise …` in a terminal of this machine, of which it is said at the end how it is left. */
export function startInTerminal(args: readonly string[], environment: Record<string, string>, cwd: string) {
  const program = ['sh', '-c', `"$@"; echo "status $?"; stty -a`, 'sh', process.execPath, MAIN, ...args]
  const env = cleanEnvironment(environment)
  const { child, stream, resize } = openTerminal(program, { cwd, env, uid: null, columns: 91, rows: 31 })
  const exited = once(child, 'exit')
  let shown = ''
  stream.setEncoding('utf8').on('data', (more: string) => (shown += more))
  stream.on('error', () => undefined)
  return {
    resize,
    write: (keys: string) => void stream.write(keys),
    /** Presses keys until it shows this. */
    shows: (what: RegExp, keys = '') =>
      eventually(
        () => {
          stream.write(keys)
          return what.test(shown)
        },
        { what: `${what}`, withinMs: SLOWLY_MS },
      ).catch((error: Error) => {
        throw new Error(`${error.message}; it shows ${shown.slice(-2_000)}`)
      }),
    async ended() {
      await exited
      stream.destroy()
    },
  }
}

/** `reprise exec` in a terminal of this machine is one there: keys, Ctrl-C and its size; and it is given back. */
export async function walkTerminal(sessionId: string, environment: Record<string, string>, cwd: string): Promise<void> {
  const terminal = startInTerminal(['exec', sessionId, '--', 'sh', '-c', SHELL], environment, cwd)
  await terminal.shows(/ready/)
  await terminal.shows(/31 91/, 'size\r')
  terminal.write('\x03')
  await terminal.shows(/interrupted/)
  terminal.resize(61, 21)
  await terminal.shows(/21 61/, 'size\r')
  terminal.write('end\r')
  await terminal.shows(/status 5[^]* icanon[^]* echo /)
  await terminal.ended()
}

/** A token, and its secret, as the command line makes it. */
export async function makeToken(reprise: ReturnType<typeof commandLine>, ...args: string[]) {
  const { stdout, stderr } = await reprise('tokens', 'create', `t${Math.random()}`, ...args, '--json')
  const { secret, token } = JSON.parse(stdout || stderr) as { secret: string; token: { tokenId: string } }
  return { secret, tokenId: token.tokenId }
}

/** The number of processes of this machine, also in containers, with this text in their command. */
export function countRunning(mark: string): number {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(mark)).length
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
