import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { ExecRequest } from '../../../../domain/agent/channel-protocol.ts'
import { RepriseError } from '../../../../domain/errors.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import { systemPath } from '../../../../machine/system-programs.ts'
import { guarded } from '../../../../waiting/wait.ts'
import type { KernelChannel } from '../../executor.ts'
import type { ProcStat } from '../proc-stat.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'
import { execFault } from '../shell/exec-fault.ts'
import { withoutInherited } from '../shell/inherited-descriptors.ts'
import { withPipes } from '../shell/with-pipes.ts'
import { signalProcess } from '../signal-process.ts'
import { type CountedOutput, endWhenQuiet, hangUpSession, keyboardOf, sessionMembers } from './command-streams.ts'
import { fullEnvironment } from './full-environment.ts'
import { commandScript, enterKernel, type Entry, entryScript, hasBegun, userOf } from './enter-kernel.ts'
import { openTerminal } from './pseudo-terminal.ts'
import { isRunning } from './running-kernel.ts'

/** How soon it is seen that the kernel ends. */
const LIFE_CHECK_MS = 500

/**
 * The command has a process session of its own. What it leaves behind belongs to the kernel, and ends with it: it is in
 * its cgroup or its PID namespace, or has its id in the environment.
 */
export async function execInKernel(
  host: ProcessHost,
  kernel: ProcessKernel,
  request: ExecRequest,
): Promise<KernelChannel> {
  const begun = await hasBegun(kernel)
  const environ = fullEnvironment(host, kernel)
  if (request.tty) environ.set('TERM', request.term)
  const fault = execFault(request.command, environ)
  if (fault !== null) throw new RepriseError('CHANNEL_NOT_OPENED', fault)
  const entry = enterKernel(kernel, begun)
  try {
    return start(host, kernel, entry, { request, environ })
  } catch (error) {
    entry.close()
    throw error
  }
}

function start(
  host: ProcessHost,
  kernel: ProcessKernel,
  entry: Entry,
  { request, environ }: { request: ExecRequest; environ: ReadonlyMap<string, string> },
): KernelChannel {
  const { path } = kernel
  const uid = userOf(kernel)
  const bounds = `ulimit -c 0; ulimit -n ${host.limits.openFiles} 2>/dev/null`
  const file = join(path, `exec.${randomBytes(8).toString('hex')}`)
  const script = commandScript(entry, { work: join(path, 'work'), argv: request.command, environ, bounds })
  const command = ['/bin/sh', '-c', entryScript(entry, kernel, file), 'reprise-exec']
  const env = { PATH: systemPath() }
  try {
    writeFileSync(file, script, { mode: 0o600, flag: 'wx' })
    return started()
  } catch (error) {
    // Otherwise its program removes it, with the secrets that it holds.
    rmSync(file, { force: true })
    throw error
  }

  function started(): KernelChannel {
    if (request.tty) {
      const { columns, rows } = request
      const { child, stream, resize } = openTerminal(command, { cwd: path, env, uid, columns, rows })
      return {
        ...channelOf(host, kernel, entry, child, { stdin: keyboardOf(stream), stdout: stream, stderr: null }),
        resize,
      }
    }
    const [program = '', ...args] = command
    const stdio = withoutInherited(['pipe', 'pipe', 'pipe'])
    const child = withPipes(spawn(program, args, { cwd: path, env, detached: true, stdio }))
    const [stdout, stderr] = [child.stdout as Socket, child.stderr as Socket]
    return channelOf(host, kernel, entry, child, { stdin: child.stdin!, stdout, stderr })
  }
}

interface Streams {
  stdin: Writable
  /** Node has all of them as sockets. */
  stdout: CountedOutput
  stderr: CountedOutput | null
}

function channelOf(
  host: ProcessHost,
  kernel: ProcessKernel,
  entry: Entry,
  child: ChildProcess,
  streams: Streams,
): KernelChannel {
  const { stdin, stdout, stderr } = streams
  const outputs = stderr === null ? [stdout] : [stdout, stderr]
  let hungUp: Promise<void> | undefined
  const failed = (error: unknown) =>
    host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'a command met a fault')
  for (const stream of [stdin, ...outputs]) stream.on('error', () => undefined)
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('error', () => resolve({ code: 127, signal: null }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const look = () => isRunning(kernel) || (hungUp ??= hangUp())
  const watch = setInterval(guarded(look, failed), LIFE_CHECK_MS)
  const ended = exited.then(({ code, signal }) => {
    clearInterval(watch)
    entry.close()
    for (const output of outputs) endWhenQuiet(output).catch(() => output.destroy())
    const exitCode = code ?? 128 + constants.signals[signal!]
    return isRunning(kernel) ? { exitCode } : { exitCode, message: 'the kernel has ended' }
  })

  async function hangUp(): Promise<void> {
    stdin.destroy()
    await hangUpSession(child.pid ?? 0, membersOf(child))
    await ended
    for (const output of outputs) output.destroy()
  }

  return {
    ...streams,
    ended,
    signal: (signal) => membersOf(child).forEach(({ pid }) => signalProcess(pid, signal)),
    hangUp: () => (hungUp ??= hangUp()),
  }
}

/** The command's process session, which has the child's number for as long as nobody has waited for the child. */
function membersOf({ pid, exitCode, signalCode }: ChildProcess): ProcStat[] {
  return pid === undefined || exitCode !== null || signalCode !== null ? [] : sessionMembers(pid)
}
