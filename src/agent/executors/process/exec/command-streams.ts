import type { Socket } from 'node:net'
import { type Readable, Writable } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { CHANNEL_GRACE_MS } from '../../../../domain/limits.ts'
import { isAlive, type ProcStat, scanProcesses, signalProcess } from '../proc-stat.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fchownSync } from 'node:fs'
import { createRequire } from 'node:module'
import { ReadStream } from 'node:tty'
import { RepriseError } from '../../../../domain/errors.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import { systemProgram } from '../../../../machine/system-programs.ts'
import { withoutInherited } from '../shell.ts'

/** How long to wait for output after a command has ended, while other programs keep its terminal or pipe open. */
const OUTPUT_QUIET_MS = 300
const GRACE_CHECK_MS = 50
const END_OF_TRANSMISSION = '\x04'

/** A stream that counts the bytes that it has received. */
export type CountedOutput = Pick<Socket, 'bytesRead'> & Readable

/**
 * Returns the input of a terminal. Its end is sent as the end-of-transmission key, because a terminal has no other end
 * of input.
 */
export function keyboardOf(terminal: Writable): Writable {
  return new Writable({
    write: (chunk, _, done) => void terminal.write(chunk, done),
    final: (done) => void terminal.write(END_OF_TRANSMISSION, done),
  })
}

export function sessionMembers(sessionId: number): ProcStat[] {
  return scanProcesses().filter(({ session }) => session === sessionId)
}

/** Hangs up a process session, and kills what does not end by itself. @param members its present processes */
export async function hangUpSession(sessionId: number, members: readonly ProcStat[]): Promise<void> {
  for (const { pid } of members) signalProcess(pid, 'SIGHUP')
  const until = performance.now() + CHANNEL_GRACE_MS
  while (members.some(isAlive) && performance.now() < until) await sleep(GRACE_CHECK_MS)
  // While one of these processes exists, the session's id is not reused.
  if (members.some(isAlive)) for (const { pid } of sessionMembers(sessionId)) signalProcess(pid, 'SIGKILL')
}

/**
 * Ends the output of a command that has ended. Programs that the command left behind may keep the output open for as
 * long as they run, so it is ended once nothing more arrives for OUTPUT_QUIET_MS. All output that has arrived by then
 * is delivered, however slow this process is.
 */
export async function endWhenQuiet(output: CountedOutput): Promise<void> {
  let read = -1
  while (!output.destroyed && (output.bytesRead !== read || output.readableLength > 0)) {
    read = output.bytesRead
    output.read(0)
    await sleep(OUTPUT_QUIET_MS)
    // The event loop runs timers before it reads what has arrived.
    for (let turns = 0; turns < 2; turns++) await nextTurn()
  }
  output.destroy()
}

/**
 * The native functions of @lydell/node-pty. The package's own class is not used: it loses output that a program wrote
 * just before its end, and has no backpressure.
 */
interface Terminals {
  open(columns: number, rows: number): { master: number; slave: number }
  resize(master: number, columns: number, rows: number): void
}

interface PseudoTerminal {
  child: ChildProcess
  /** Carries both directions. */
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
 * Starts a program in a new session with a new terminal. The terminal belongs to `uid`, so that its programs may open
 * it by name. The child gets no other descriptors of this process; in particular, it cannot read the terminals of other
 * commands.
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
