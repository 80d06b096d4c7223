import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { RepriseError } from '../../../domain/errors.ts'
import { systemPath, systemProgram } from '../../../machine/system-programs.ts'
import type { KernelChannel } from '../executor.ts'
import {
  connectionChannel,
  connectToListener,
  holdSockets,
  inNamespaceOf,
  notServed,
} from '../process/exec/connect-to-kernel.ts'
import { isRunning, openAll } from '../process/exec/enter-kernel.ts'
import { isAlive, type ProcStat, readProcStat, signalProcess } from '../process/proc-stat.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import { isOnHostNetwork, WORK } from './container-spec.ts'
import { execFault, withPipes } from '../process/shell.ts'
import { PassThrough, Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExecRequest } from '../../../domain/agent/channel-protocol.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { endWhenQuiet, hangUpSession, keyboardOf, sessionMembers } from '../process/exec/command-streams.ts'
import { plain, readFrames } from './engine/engine-client.ts'
import type { Engine } from './engine/engine.ts'
import type { EngineCommand, ExecDescription } from './engine/engine-answers.ts'
import { refusedProgram } from './judge-container.ts'
import { guarded } from '../../../waiting/wait.ts'

const CONNECT_WITHIN_MS = 15_000

/**
 * A program that runs in the container's network namespace, but with nothing else of the container. It connects to the
 * port, and hands over the connection before it has read anything. In the container's own network, every listener is
 * the kernel's.
 */
const CONNECT = `
const { connect } = require('node:net')
const port = Number(process.argv[1])
const reach = ([host, ...more]) => {
  const socket = connect({ host, port, allowHalfOpen: true }).pause()
  socket.once('error', ({ code }) => more.length > 0 ? reach(more) : process.stderr.write(code, () => process.exit(1)))
  socket.once('connect', () => process.send('connected', socket, () => process.disconnect()))
}
reach(['127.0.0.1', '::1'])`

/** @throws RepriseError SESSION_NOT_RUNNING, PORT_NOT_SERVED, CHANNEL_UNSUPPORTED */
export async function connectToContainer(
  { description }: ContainerHost,
  kernel: ContainerKernel,
  port: number,
): Promise<KernelChannel> {
  const { first, uid } = kernel
  if (first === null) {
    throw new RepriseError('CHANNEL_UNSUPPORTED', 'this agent does not see the processes of its container engine')
  }
  const socket = isOnHostNetwork(kernel.body)
    ? await connectToListener(port, (listeners) => holdSockets(uid, () => inNamespaceOf(first.pid), listeners))
    : await connectInside(first, port, description.rootless)
  return connectionChannel(socket, () => isRunning(kernel))
}

async function connectInside(
  first: NonNullable<ContainerKernel['first']>,
  port: number,
  rootless: boolean,
): Promise<Socket> {
  const names = rootless ? ['user', 'net'] : ['net']
  const opened = openAll(names.map((name) => `/proc/${first.pid}/ns/${name}`))
  try {
    // Checked after the namespaces were opened, so that those of another process that got the same pid are never
    // entered.
    if (!isAlive(first)) throw new RepriseError('SESSION_NOT_RUNNING', 'the kernel has ended')
    const enter = names.map((name, index) => `--${name}=${opened.paths[index]}`)
    return await handedOver([...enter, ...(rootless ? ['--preserve-credentials'] : []), '--'], port)
  } finally {
    opened.close()
  }
}

async function handedOver(enter: readonly string[], port: number): Promise<Socket> {
  const started = spawn(systemProgram('nsenter'), [...enter, process.execPath, '-e', CONNECT, String(port)], {
    env: { PATH: systemPath() },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    timeout: CONNECT_WITHIN_MS,
    killSignal: 'SIGKILL',
  })
  const child = withPipes(started)
  const said = text(child.stderr!)
  const connected = Promise.withResolvers<Socket>()
  child.once('error', connected.reject)
  child.once('message', (_, socket) => {
    if (!(socket instanceof Socket)) return
    socket.allowHalfOpen = true
    socket.on('error', () => undefined)
    connected.resolve(socket)
  })
  const closed = once(child, 'close').then(async () => {
    throw /^E[A-Z]+$/.test(await said)
      ? notServed(port)
      : new RepriseError(
          'PORT_NOT_SERVED',
          `no connection to port ${port}: ${(await said).trim() || 'nothing answers'}`,
        )
  })
  closed.catch(() => undefined)
  return Promise.race([connected.promise, closed])
}

const BEGUN_WITHIN_MS = 30_000
const BEGUN_CHECK_MS = 20
const END_CHECK_MS = 50
/** Interval at which the command checks whether the kernel has ended. */
const LIFE_CHECK_MS = 500
/** Time in which the engine notices an end. */
const TOLD_WITHIN_MS = 10_000
const NOT_EXECUTABLE = 126
const NOT_FOUND = 127
const KILLED = 137

/**
 * Runs a command that the engine starts in the container, with its user, rights, limits, filters and variables.
 * Processes that it leaves behind end with the container.
 *
 * @throws RepriseError SESSION_NOT_RUNNING, CHANNEL_NOT_OPENED
 */
export async function execInContainer(
  { engine }: ContainerHost,
  kernel: ContainerKernel,
  request: ExecRequest,
): Promise<KernelChannel> {
  const { tty, term, columns, rows } = request
  const command: EngineCommand = {
    argv: request.command,
    environ: tty ? [`TERM=${term}`] : [],
    directory: WORK,
    terminal: tty ? { columns, rows } : null,
  }
  const variables = [...(kernel.body?.Env ?? []), ...command.environ].map((each) => /^([^=]*)=(.*)$/s.exec(each)!)
  const fault = execFault(request.command, new Map(variables.map(([, name = '', value = '']) => [name, value])))
  if (fault !== null) throw new RepriseError('CHANNEL_NOT_OPENED', fault)
  try {
    const id = await engine.createExec(kernel.containerId!, command)
    const socket = await engine.startExec(id, command)
    const { running, pid, exitCode } = await hasBegun(engine, id, command)
    if (!running && (exitCode === NOT_EXECUTABLE || exitCode === NOT_FOUND)) {
      const refusal = await refusalOf(socket, tty)
      return typeof refusal === 'string' ? refused(refusal, request) : { ...refusal, ...endedWith(exitCode) }
    }
    return channelOf(engine, kernel, { id, socket, tty, leader: pid > 0 ? readProcStat(pid) : null })
  } catch (error) {
    if (error instanceof RepriseError) throw error
    if (!isRunning(kernel)) throw new RepriseError('SESSION_NOT_RUNNING', 'the kernel has ended')
    throw new RepriseError('CHANNEL_NOT_OPENED', `the container engine: ${messageOf(error)}`)
  }
}

/**
 * Waits until the command has begun. Engines accept the connection before that, and old engines accept the size of a
 * terminal only afterwards.
 */
async function hasBegun(engine: Engine, id: string, { terminal }: EngineCommand): Promise<ExecDescription> {
  const until = performance.now() + BEGUN_WITHIN_MS
  for (;;) {
    const found = await engine.inspectExec(id)
    if (found === null) throw new Error('it does not know the command any more')
    if (found.pid > 0 || (!found.running && found.exitCode !== null)) {
      if (terminal !== null) await engine.resizeExec(id, terminal.columns, terminal.rows).catch(() => undefined)
      return found
    }
    if (performance.now() > until) throw new Error(`the command has not begun within ${BEGUN_WITHIN_MS / 1000} s`)
    await sleep(BEGUN_CHECK_MS)
  }
}

interface Running {
  id: string
  socket: Socket
  tty: boolean
  /** Leads the command's process session; null if it has ended. */
  leader: ProcStat | null
}

function channelOf(engine: Engine, kernel: ContainerKernel, command: Running): KernelChannel {
  const { id, socket, tty, leader } = command
  const { stdin, stdout, stderr } = tty ? terminalOf(socket) : pipesOf(socket)
  for (const stream of [stdin, stdout, stderr]) stream?.on('error', () => undefined)
  let hungUp: Promise<void> | undefined
  const look = () => isRunning(kernel) || (hungUp ??= hangUp())
  // A failed check is repeated with the next interval.
  const watch = setInterval(
    guarded(look, () => {}),
    LIFE_CHECK_MS,
  )
  const ended = endOf(engine, command).then((end) => {
    clearInterval(watch)
    endWhenQuiet(socket).catch(() => socket.destroy())
    return isRunning(kernel) ? end : { exitCode: end.exitCode ?? KILLED, message: 'the kernel has ended' }
  })

  async function hangUp(): Promise<void> {
    socket.end()
    await hangUpSession(leader?.pid ?? 0, membersOf(leader))
    await ended
    for (const stream of [socket, stdout, stderr]) stream?.destroy()
  }

  return {
    stdin,
    stdout,
    stderr,
    ended,
    ...(tty && {
      resize: (columns: number, rows: number) => void engine.resizeExec(id, columns, rows).catch(() => undefined),
    }),
    signal: (signal) => membersOf(leader).forEach(({ pid }) => signalProcess(pid, signal)),
    hangUp: () => (hungUp ??= hangUp()),
  }
}

type Streams = Pick<KernelChannel, 'stdin' | 'stdout' | 'stderr'>

function terminalOf(socket: Socket): Streams {
  return { stdin: keyboardOf(socket), stdout: socket, stderr: null }
}

function pipesOf(socket: Socket): Streams {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const copy = async () => {
    for await (const { stream, bytes } of readFrames(socket)) {
      const output = stream === 'STDOUT' ? stdout : stderr
      if (!output.write(bytes) && !output.destroyed) await Promise.race([once(output, 'drain'), once(output, 'close')])
    }
  }
  const end = () => [stdout, stderr].forEach((output) => output.end())
  copy().then(end, end)
  return { stdin: socket, stdout, stderr }
}

/** Lists the command's process session, which has its leader's number while the leader exists. */
function membersOf(leader: ProcStat | null): ProcStat[] {
  return leader === null || !isAlive(leader) ? [] : sessionMembers(leader.pid)
}

/** Returns the end that the engine reports, once the command or its connection has ended. Never rejects. */
async function endOf(
  engine: Engine,
  { id, socket, leader }: Running,
): Promise<{ exitCode: number | null; message?: string }> {
  const runs = () => leader !== null && isAlive(leader)
  while (runs() && !socket.destroyed) await sleep(END_CHECK_MS)
  let until = performance.now() + TOLD_WITHIN_MS
  for (;;) {
    const found = await engine.inspectExec(id).catch(() => null)
    if (found?.running === false) return { exitCode: found.exitCode }
    // A command may close its output and continue.
    if (found?.running === true && runs()) until = performance.now() + TOLD_WITHIN_MS
    else if (performance.now() > until) break
    await sleep(END_CHECK_MS)
  }
  for (const { pid } of membersOf(leader)) signalProcess(pid, 'SIGKILL')
  return { exitCode: null, message: 'the container engine does not know how the command has ended' }
}

/**
 * Returns the engine's message if it could not start the command. It sends the message instead of the command's output.
 * A command may also end with one of these codes by itself, and its output is then its own.
 */
async function refusalOf(socket: Socket, tty: boolean): Promise<string | Streams> {
  const { stdin, stdout, stderr } = tty ? terminalOf(socket) : pipesOf(socket)
  const [said, aside] = await Promise.all([buffer(stdout), stderr === null ? Buffer.alloc(0) : buffer(stderr)])
  const words = `${said.toString()} ${aside.toString()}`
  if (/OCI (runtime|permission)/.test(words)) return plain(words)
  return { stdin, stdout: Readable.from(said), stderr: stderr === null ? null : Readable.from(aside) }
}

/** Reports the refusal in the way of a shell. */
function refused(words: string, { command, tty }: ExecRequest): KernelChannel {
  const missing = refusedProgram(words) !== null
  const message = `${command[0]}: ${missing ? 'not found in the image' : words}\n`
  const [output, nothing] = [Readable.from([Buffer.from(message)]), Readable.from([])]
  return {
    ...(tty ? { stdout: output, stderr: null } : { stdout: nothing, stderr: output }),
    ...endedWith(missing ? NOT_FOUND : NOT_EXECUTABLE),
  }
}

function endedWith(exitCode: number): Pick<KernelChannel, 'stdin' | 'ended' | 'hangUp'> {
  const stdin = new Writable({ write: (_chunk, _encoding, done) => done() })
  return { stdin, ended: Promise.resolve({ exitCode }), hangUp: () => Promise.resolve() }
}
