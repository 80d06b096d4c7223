import { once } from 'node:events'
import { connect } from 'node:net'
import { RepriseError } from '../../../../domain/errors.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import type { KernelChannel } from '../../executor.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'
import { holdsSockets, listenersOn, type Listener } from './kernel-listeners.ts'
import { isRunning } from './running-kernel.ts'

const CONNECT_WITHIN_MS = 5_000
const LIFE_CHECK_MS = 500

/**
 * On the machine's loopback interface there is also what no kernel's user may reach, such as a database. So each
 * program that listens on the port must be one of the kernel, and the same sockets must listen when the connection
 * stands: then it leads to one of them.
 *
 * @throws RepriseError PORT_NOT_SERVED
 */
export async function connectToKernel(host: ProcessHost, kernel: ProcessKernel, port: number): Promise<KernelChannel> {
  const listeners = listenersOn(port)
  const [first] = listeners
  if (first === undefined || !(await holdsSockets(host, kernel, listeners))) throw notServed(port)
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
  socket.setNoDelay()
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const watch = setInterval(() => void (isRunning(kernel) || socket.destroy()), LIFE_CHECK_MS)
  const ended = closed.then(() => {
    clearInterval(watch)
    return { exitCode: null, ...(!isRunning(kernel) && { message: 'the kernel has ended' }) }
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

function notServed(port: number): RepriseError {
  return new RepriseError('PORT_NOT_SERVED', `no program of the kernel listens on port ${port}`)
}

function isSame(before: readonly Listener[], after: readonly Listener[]): boolean {
  return before.length === after.length && before.every(({ inode }) => after.some((each) => each.inode === inode))
}
