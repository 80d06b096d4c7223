import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
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
import { type ProcStat, signalProcess } from '../proc-stat.ts'
import type { ProcessHost, ProcessKernel } from '../process-host.ts'
import { execFault, withoutInherited, withPipes } from '../shell.ts'
import {
  type CountedOutput,
  endWhenQuiet,
  hangUpSession,
  keyboardOf,
  openTerminal,
  sessionMembers,
} from './command-streams.ts'
import { commandScript, enterKernel, type Entry, entryScript, hasBegun, isRunning, userOf } from './enter-kernel.ts'
import { readStatus } from '../../kernels/kernel-directory.ts'
import { parseStatus } from '../../kernels/shim-status.ts'
import { pullImage } from '../image-preset.ts'
import { environmentOf } from '../launch-kernel.ts'

/** Tells a command beside the kernel's own the process id of that one, as it is known inside. */
const COMMAND_PID_VARIABLE = 'REPRISE_PID'

/** Interval at which the command checks whether the kernel has ended. */
const LIFE_CHECK_MS = 500

/**
 * Runs the command in a new process session. Processes that it leaves behind belong to the kernel, and end with it,
 * since they are in its cgroup or its PID namespace, or have its id in the environment.
 */
export async function execInKernel(
  host: ProcessHost,
  kernel: ProcessKernel,
  request: ExecRequest,
): Promise<KernelChannel> {
  const begun = await hasBegun(kernel)
  const environ = fullEnvironment(host, kernel)
  if (request.tty) environ.set('TERM', request.term)
  environ.set(COMMAND_PID_VARIABLE, ownPidOf(commandPid(kernel)))
  const fault = execFault(request.command, environ)
  if (fault !== null) throw new RepriseError('CHANNEL_NOT_OPENED', fault)
  const entry = enterKernel(host, kernel, begun)
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
    // The script contains secrets. Only a started script removes its file, so it is removed here.
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
  /** In Node, output of a terminal or a pipe is a socket, which counts its bytes. */
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
    host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'a command failed unexpectedly')
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

/**
 * Lists the command's process session. Its id is the child's process id, which cannot be reused until Node has
 * collected the child's exit status; after that, the list is empty.
 */
function membersOf({ pid, exitCode, signalCode }: ChildProcess): ProcStat[] {
  return pid === undefined || exitCode !== null || signalCode !== null ? [] : sessionMembers(pid)
}

/**
 * Returns the environment of the kernel's command. Secrets come with the order to start and are not written to disk.
 * After a restart of the agent they are read from the command's process, which may have changed them.
 */
function fullEnvironment(host: ProcessHost, kernel: ProcessKernel): Map<string, string> {
  if (kernel.token !== '') return environmentOf(host, kernel)
  const image = pullImage(host.presets, kernel.spec.image, host.path)
  kernel.image ??= typeof image === 'string' ? null : image
  return new Map([...commandEnvironment(kernel), ...environmentOf(host, kernel)])
}

/** Returns the process id of the kernel's command; empty if it has ended. */
function commandPid({ path, namespaced, shim }: ProcessKernel): string {
  const parent = namespaced ? parseStatus(readStatus(path)).innerPid : (shim?.pid ?? null)
  return readIfThere(`/proc/${parent}/task/${parent}/children`).split(' ')[0] ?? ''
}

/** Returns the process id in the innermost PID namespace that the process is in. */
function ownPidOf(pid: string): string {
  return /^NSpid:.*?(\d+)$/m.exec(readIfThere(`/proc/${pid}/status`))?.[1] ?? pid
}

function commandEnvironment(kernel: ProcessKernel): [string, string][] {
  return readIfThere(`/proc/${commandPid(kernel)}/environ`)
    .split('\0')
    .flatMap((entry): [string, string][] => {
      const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(entry) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    })
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
