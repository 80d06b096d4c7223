import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { RepriseError } from '../../../../domain/errors.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import type { KernelChannel } from '../../executor.ts'
import type { ProcessHost, ProcessKernel } from '../process-host.ts'
import { isRunning, userOf } from './enter-kernel.ts'
import { guarded } from '../../../../waiting/wait.ts'
import { readFileSync, readlinkSync } from 'node:fs'
import { readdir, readlink } from 'node:fs/promises'
import { readStatus } from '../../kernels/kernel-directory.ts'
import { parseStatus } from '../../kernels/shim-status.ts'
import { kernelIdOf, scanProcesses } from '../proc-stat.ts'

const CONNECT_WITHIN_MS = 5_000
const LIFE_CHECK_MS = 500

/** @throws RepriseError PORT_NOT_SERVED */
export async function connectToKernel(host: ProcessHost, kernel: ProcessKernel, port: number): Promise<KernelChannel> {
  const socket = await connectToListener(port, (listeners) => kernelHolds(host, kernel, listeners))
  return connectionChannel(socket, () => isRunning(kernel))
}

/**
 * Connects to a port of the machine's loopback interface, where programs listen that no kernel's user may reach, such
 * as a database. So each program that listens on the port must belong to the kernel. The same sockets must still listen
 * once the connection is open: then it leads to one of them.
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

/** A socket that accepts connections to the loopback interface. */
interface Listener {
  /** The address to connect to. */
  address: '127.0.0.1' | '::1'
  inode: string
  uid: number
}

/** Largest number of descriptors that are examined for one connection. In a kernel with more, no listener is found. */
const DESCRIPTORS_MAX = 200_000
const LISTENING = '0A'

/** Patterns for addresses in /proc/net, which are in the machine's byte order, with ports in hexadecimal. */
const IPV4 = /^(00000000|.{6}7F)$/
const IPV6: Readonly<Record<string, Listener['address']>> = {
  // Such a socket also accepts IPv4, unless it is configured otherwise.
  '00000000000000000000000000000000': '127.0.0.1',
  '00000000000000000000000001000000': '::1',
  // 127.0.0.1 as an address of IPv6.
  '0000000000000000FFFF00000100007F': '127.0.0.1',
}

/** Lists all sockets that could accept a connection to this port of the loopback interface. */
function listenersOn(port: number): Listener[] {
  const four = socketsOf('/proc/net/tcp', port).flatMap(({ host, ...rest }) =>
    IPV4.test(host) ? [{ ...rest, address: '127.0.0.1' as const }] : [],
  )
  const six = socketsOf('/proc/net/tcp6', port).flatMap(({ host, ...rest }) => {
    const address = IPV6[host]
    return address === undefined ? [] : [{ ...rest, address }]
  })
  return [...four, ...six]
}

function socketsOf(path: string, port: number): { host: string; inode: string; uid: number }[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  return readIfThere(path)
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state, , , , uid, , inode = ''] = line.trim().split(/\s+/)
      const [host = '', hexPort] = local.split(':')
      return state === LISTENING && hexPort === wanted ? [{ host, inode, uid: Number(uid) }] : []
    })
}

/** Whether a process of this kernel holds each of them. */
async function kernelHolds(host: ProcessHost, kernel: ProcessKernel, listeners: readonly Listener[]): Promise<boolean> {
  return holdSockets(userOf(kernel), () => processesOf(host, kernel), listeners)
}

/**
 * Whether one of these processes holds each of them, and its user owns it.
 *
 * @param uid null for the agent's own user
 */
export async function holdSockets(
  uid: number | null,
  processes: () => number[] | Promise<number[]>,
  listeners: readonly Listener[],
): Promise<boolean> {
  const owner = uid ?? process.getuid!()
  if (listeners.some((listener) => listener.uid !== owner)) return false
  const missing = new Set(listeners.map(({ inode }) => `socket:[${inode}]`))
  let looked = 0
  for (const pid of await processes()) {
    const names = await readdir(`/proc/${pid}/fd`).catch(() => [])
    looked += names.length
    if (looked > DESCRIPTORS_MAX) return false
    const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
    for (const link of links) missing.delete(link)
    if (missing.size === 0) return true
  }
  return false
}

async function processesOf(host: ProcessHost, kernel: ProcessKernel): Promise<number[]> {
  if (kernel.cgroup !== null && host.cgroups !== null) return host.cgroups.members(kernel.cgroup)
  if (kernel.namespaced) return inNamespaceOf(parseStatus(readStatus(kernel.path)).innerPid)
  const all = scanProcesses()
  const own = await Promise.all(
    all.map(async (stat) => stat.session === kernel.shim?.pid || (await kernelIdOf(stat)) === kernel.id),
  )
  return all.filter((_, index) => own[index]).map(({ pid }) => pid)
}

/** Lists all processes of its PID namespace. */
export function inNamespaceOf(first: number | null): number[] {
  const namespace = pidNamespace(first)
  if (namespace === null) return []
  return scanProcesses().flatMap(({ pid }) => (pidNamespace(pid) === namespace ? [pid] : []))
}

/** Returns the process's PID namespace; null if it cannot be read. */
export function pidNamespace(pid: number | null): string | null {
  try {
    return pid === null ? null : readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return null
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
