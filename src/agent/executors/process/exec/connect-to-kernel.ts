import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { RepriseError } from '../../../../domain/errors.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import type { KernelChannel } from '../../executor.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'
import { kernelHolds, type Listener, listenersOn } from './kernel-listeners.ts'
import { isRunning } from './running-kernel.ts'
import { guarded } from '../../../../waiting/wait.ts'

const CONNECT_WITHIN_MS = 5_000
const LIFE_CHECK_MS = 500

/** @throws RepriseError PORT_NOT_SERVED */
export async function connectToKernel(host: ProcessHost, kernel: ProcessKernel, port: number): Promise<KernelChannel> {
  const socket = await connectToListener(port, (listeners) => kernelHolds(host, kernel, listeners))
  return connectionChannel(socket, () => isRunning(kernel))
}

/**
 * On the machine's loopback interface there is also what no kernel's user may reach, such as a database. So each
 * program that listens on the port must be one of the kernel, and the same sockets must listen when the connection
 * stands: then it leads to one of them.
 *
 * @throws RepriseError PORT_NOT_SERVED
 */
export async function connectToListener(
  port: number,
  areOfKernel: (listeners: readonly Listener[]) => Promise<boolean>,
): Promise<Socket> {
  const listeners = listenersOn(port)
  const [first] = listeners
  if (first === undefined || !(await areOfKernel(listeners))) throw notServed(port)
  const socket = connect({ host: first.address, port, allowHalfOpen: true })
  socket.on('error', () => undefined)
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_WITHIN_MS) })
  } catch (error) {
    socket.destroy()
    throw new RepriseError('PORT_NOT_SERVED', `no connection to port ${port}: ${messageOf(error)}`)
  }
  if (!isSame(listeners, listenersOn(port))) {
    socket.destroy()
    throw notServed(port)
  }
  return socket
}

export function connectionChannel(socket: Socket, runs: () => boolean): KernelChannel {
  socket.setNoDelay()
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const watch = setInterval(
    guarded(
      () => runs() || socket.destroy(),
      () => socket.destroy(),
    ),
    LIFE_CHECK_MS,
  )
  const ended = closed.then(() => {
    clearInterval(watch)
    return { exitCode: null, ...(!runs() && { message: 'the kernel has ended' }) }
  })
  return {
    stdin: socket,
    stdout: socket,
    stderr: null,
    ended,
    async hangUp() {
      socket.destroy()
      await ended
    },
  }
}

export function notServed(port: number): RepriseError {
  return new RepriseError('PORT_NOT_SERVED', `no program of the kernel listens on port ${port}`)
}

function isSame(before: readonly Listener[], after: readonly Listener[]): boolean {
  return before.length === after.length && before.every(({ inode }) => after.some((each) => each.inode === inode))
}
