import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bundlePath } from '../../../src/program/bundle.ts'
import { heapFlags } from '../../../src/cli/demo/server-process.ts'

const ROOT = join(import.meta.dirname, '../../..')
const BUNDLE = bundlePath(ROOT)
/**
 * `reprise`: its bundle, which `npm test` has made. bin/reprise.mjs looks at all sources before it runs the same file,
 * which takes a quarter of a command's time while other tests keep the processors busy.
 */
export const MAIN = existsSync(BUNDLE) ? BUNDLE : join(ROOT, 'bin/reprise.mjs')

export interface Ended {
  status: number | null
  stdout: string
  stderr: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** The environment of this process, without variables that affect the command line. */
export function cleanEnvironment(environment: Environment): NodeJS.ProcessEnv {
  // Node's detection of colours also reads CI and variables of terminal multiplexers.
  const heeded =
    /^(REPRISE_|((NODE_DISABLE_|NO_|FORCE_)COLORS?|COLORTERM|COLUMNS|CI|TMUX|TEAMCITY_VERSION|TF_BUILD|XDG_CONFIG_HOME|VIRTUAL_ENV|CONDA_PREFIX|LOADEDMODULES)$)/
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !heeded.test(name))), ...environment }
}

/** A running command, with its output so far. */
export function startCommand(args: readonly string[], environment: Environment, input?: string, cwd?: string) {
  const child = spawn(process.execPath, [...heapFlags(), MAIN, ...args], { env: cleanEnvironment(environment), cwd })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  child.stdin.end(input)
  const ended = once(child, 'close').then(([status]): Ended => ({ status: status as number | null, ...output }))
  return { child, output, ended }
}

/** A command line for one server: `reprise('list', '--json')`. */
export function commandLine(environment: Environment, cwd?: string) {
  return (...args: string[]): Promise<Ended> => startCommand(args, environment, undefined, cwd).ended
}
