import process from 'node:process'
import { pipeline } from 'node:stream/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { type Channel, checkConnect, connectToSession, execInSession } from './open-channel.ts'
import { act, type ClientContext, describedCommand, programAfterDashes } from './client-command.ts'
import { findSession, SESSION_ARGUMENT } from './find.ts'
import { UsageError } from './present-error.ts'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { ForbiddenError, type FoundServer, InvalidStateError, NotFoundError } from '../client/node/index.ts'
import { messageOf } from '../observability/error-message.ts'
import { exitStatus } from './exit-codes.ts'

interface ExecOptions {
  kernel?: string
  stdin: boolean
  tty?: boolean
}

export function execCommand(): Command {
  const command = describedCommand('exec', 'run an additional command in a running session', [
    'reprise exec nightly -- sh',
    'reprise exec nightly --kernel main1 -- ps ax',
    'reprise exec nightly --no-stdin -- env > variables.txt',
  ])
    .argument('<session>', SESSION_ARGUMENT)
    .argument('[command...]', 'command to run, after --')
    .option('--kernel <name>', 'in this kernel: main1, sub1, …; the default is the first')
    .option('-i, --stdin', 'forward standard input to the command (the default)', true)
    .option('--no-stdin', 'do not read standard input')
    .option('-t, --tty', 'run in a terminal; the default if standard input and output are a terminal')
    .option('--no-tty', 'run without a terminal: standard output and standard error stay separate and unchanged')
  return act<ExecOptions>(
    command,
    async ({ client, server, out, signal }, { kernel, stdin, tty: wanted }, args) => {
      const { names, program: words } = programAfterDashes(command, args)
      const [session] = names
      if (session === undefined) throw new UsageError('Give the session before --.')
      if (words.length === 0) throw new UsageError('Give the command to run after --.')
      const tty = wanted ?? (stdin && process.stdin.isTTY && process.stdout.isTTY)
      const sessionId = await findSession(client, session)
      const { columns, rows } = process.stdout
      const term = process.env['TERM'] || undefined
      const channel = await execInSession(server, { sessionId, kernel, command: words, tty, term, columns, rows })
      const giveBack = tty ? takeTerminal(channel) : () => {}
      const interrupt = () => channel.signal('SIGINT')
      signal.addEventListener('abort', interrupt, { once: true })
      try {
        if (stdin) process.stdin.pipe(channel.stdin)
        else channel.stdin.end()
        const options = { end: false }
        const [{ exitCode, message }] = await Promise.all([
          channel.ended,
          pipeline(channel.stdout, process.stdout, options),
          pipeline(channel.stderr, process.stderr, options),
        ])
        giveBack()
        if (message !== undefined) out.note(message)
        return exitCode ?? 0
      } finally {
        giveBack()
        signal.removeEventListener('abort', interrupt)
        process.stdin.unpipe(channel.stdin)
        process.stdin.destroy()
        channel.close()
      }
    },
    { endsItself: true },
  )
}

/**
 * Sends every key to the other side, including Ctrl-C. Returns a function that restores the terminal, and may be called
 * twice.
 */
function takeTerminal(channel: Channel): () => void {
  const { stdin, stdout } = process
  const resize = () => channel.resize(stdout.columns, stdout.rows)
  const restore = () => void (stdin.isTTY && stdin.setRawMode(false))
  stdout.on('resize', resize)
  process.on('exit', restore)
  if (stdin.isTTY) stdin.setRawMode(true)
  // The size may have changed while the channel was opened.
  if (stdout.isTTY) resize()
  return () => {
    stdout.off('resize', resize)
    process.off('exit', restore)
    restore()
  }
}

interface PortForwardOptions {
  kernel?: string
}

interface Ports {
  local: number
  remote: number
}

/**
 * Maximum number of connections that wait for the kernel. Each is a channel, and a session has a limited number of
 * channels.
 */
const BACKLOG = 32
const LOCALHOST = '127.0.0.1'

export function portForwardCommand(): Command {
  const command = describedCommand('port-forward', 'forward ports of this machine to ports of a running session', [
    'reprise port-forward notebook 8888',
    'reprise port-forward notebook 9000:8888 6006',
    'reprise port-forward notebook 0:8888    # any free port here',
  ])
    .argument('<session>', SESSION_ARGUMENT)
    .argument('<ports...>', 'port of the session, or LOCAL:PORT to use another port on this machine')
    .option('--kernel <name>', 'to this kernel: main1, sub1, …; the default is the first')
  return act<PortForwardOptions>(
    command,
    async (context, { kernel }, [session, ...texts]) => {
      const ports = texts.map(parsePorts)
      const sessionId = await findSession(context.client, session!)
      for (const { remote: port } of ports) await checkConnect(context.server, { sessionId, kernel, port })
      const ended = Promise.withResolvers<Error>()
      await using listeners = new AsyncDisposableStack()
      for (const each of ports) {
        const accept = (socket: Socket) =>
          forward(context, { sessionId, kernel, port: each.remote }, socket, ended.resolve)
        const listener = await listen(each.local, accept)
        listeners.defer(() => closeAll(listener))
        const { port } = listener.server.address() as AddressInfo
        const line = `${LOCALHOST}:${port} is forwarded to port ${each.remote} of the session`
        context.out.item({ local: port, remote: each.remote, sessionId }, () => line)
      }
      const interrupted = once(context.signal, 'abort').then(() => null)
      const end = context.signal.aborted ? null : await Promise.race([ended.promise, interrupted])
      if (end !== null) throw end
      return exitStatus('INTERRUPTED')
    },
    { endsItself: true },
  )
}

/** Parses `PORT` or `LOCAL:PORT`. @throws InvalidArgumentError */
function parsePorts(text: string): Ports {
  const [, local, remote] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text) ?? []
  const ports = { local: Number(local ?? remote), remote: Number(remote) }
  if (remote !== undefined && ports.local <= 65_535 && ports.remote >= 1 && ports.remote <= 65_535) return ports
  throw new InvalidArgumentError(`${text} is neither a port nor LOCAL:PORT.`)
}

interface Listener {
  server: Server
  sockets: Set<Socket>
}

async function listen(port: number, accept: (socket: Socket) => Promise<void>): Promise<Listener> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    void accept(socket)
  })
  server.listen({ port, host: LOCALHOST, backlog: BACKLOG })
  await once(server, 'listening').catch((error: unknown) => {
    throw new UsageError(`Port ${port} of this machine cannot be used: ${messageOf(error)}`)
  })
  return { server, sockets }
}

async function closeAll({ server, sockets }: Listener): Promise<void> {
  for (const socket of sockets) reset(socket)
  server.close()
  await once(server, 'close')
}

async function forward(
  { server, out }: Pick<ClientContext, 'out'> & { server: FoundServer },
  options: { sessionId: string; kernel: string | undefined; port: number },
  socket: Socket,
  end: (error: Error) => void,
): Promise<void> {
  try {
    const channel = await connectToSession(server, options)
    socket.once('close', () => channel.close())
    socket.pipe(channel.stdin)
    // Only a complete stream ends the socket. A broken one resets it, so that no reader takes the data for complete.
    channel.stdout.pipe(socket)
    await channel.ended
  } catch (error) {
    const hasLeft = socket.destroyed
    reset(socket)
    if (isOver(error)) end(error)
    else if (!hasLeft) out.note(`a connection to port ${options.port}: ${messageOf(error)}`)
  }
}

/** Resets a socket. If its end is already being sent, destroys it instead: Node would never exit after a reset then. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** Whether the error means that no later connection can succeed either. */
function isOver(error: unknown): error is Error {
  if (error instanceof NotFoundError || error instanceof ForbiddenError) return true
  return error instanceof InvalidStateError && error.code === 'SESSION_NOT_RUNNING'
}
