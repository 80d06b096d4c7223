import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, fchownSync } from 'node:fs'
import { createRequire } from 'node:module'
import { ReadStream } from 'node:tty'
import { RepriseError } from '../../../../domain/errors.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import { systemProgram } from '../../../../machine/system-programs.ts'
import { withoutInherited } from '../shell/inherited-descriptors.ts'

/** Of the package: below its own class, which drops what an ended program has written, and has no backpressure. */
interface Terminals {
  open(columns: number, rows: number): { master: number; slave: number }
  resize(master: number, columns: number, rows: number): void
}

export interface PseudoTerminal {
  child: ChildProcess
  /** Both directions. */
  stream: ReadStream
  resize(columns: number, rows: number): void
}

interface NativeModule {
  requireBinary(name: string): Terminals
}

let terminals: Terminals | undefined

function load(): Terminals {
  try {
    const native = createRequire(import.meta.url)('@lydell/node-pty/requireBinary.js') as NativeModule
    return (terminals ??= native.requireBinary('pty.node'))
  } catch (error) {
    const message = `this agent has no terminals, only commands without one: ${messageOf(error).split('\n', 1)[0]}`
    throw new RepriseError('CHANNEL_UNSUPPORTED', message)
  }
}

/**
 * Starts a program in a session and a terminal of its own. The terminal belongs to `uid`, so that its programs may open
 * it by its name. `spawn` closes to the child what else is open here, above all the other side of other terminals.
 */
export function openTerminal(
  command: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; uid: number | null; columns: number; rows: number },
): PseudoTerminal {
  const { cwd, env, uid, columns, rows } = options
  const { open, resize } = load()
  const { master, slave } = open(columns, rows)
  const stream = new ReadStream(master)
  try {
    if (uid !== null) fchownSync(slave, uid, -1)
    const stdio = withoutInherited([slave, slave, slave])
    const child = spawn(systemProgram('setsid'), ['--ctty', ...command], { cwd, env, stdio })
    return { child, stream, resize: (wide, high) => resize(master, wide, high) }
  } catch (error) {
    stream.destroy()
    throw error
  } finally {
    closeSync(slave)
  }
}
