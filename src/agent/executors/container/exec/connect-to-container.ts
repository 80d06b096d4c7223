import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { RepriseError } from '../../../../domain/errors.ts'
import { systemPath, systemProgram } from '../../../../machine/system-programs.ts'
import type { KernelChannel } from '../../executor.ts'
import { connectionChannel, connectToListener, holdSockets, inNamespaceOf, notServed } from '../../process/exec/connect-to-kernel.ts'
import { isRunning, openAll } from '../../process/exec/enter-kernel.ts'
import { isAlive } from '../../process/proc-stat.ts'
import type { ContainerHost } from '../container-host.ts'
import type { ContainerKernel } from '../container-kernel.ts'
import { isOnHostNetwork } from '../container-spec.ts'
import { withPipes } from '../../process/shell.ts'

const CONNECT_WITHIN_MS = 15_000

/**
 * Run in the container's network, with nothing else of it: connects to the port, and hands the connection over before
 * it has read anything. In one of its own, whatever listens is the kernel's.
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
    // Were it another's number by now, nobody would enter that one's.
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
