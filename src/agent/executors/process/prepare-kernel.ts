import { messageOf } from '../../../observability/error-message.ts'
import { pullImage } from './image-preset.ts'
import { createKernelDirectory } from '../kernel-directory/kernel-directory.ts'
import { pullCode } from '../kernel-book/pull-code.ts'
import type { ProcessHost } from './process-host.ts'
import { hasEnded } from '../kernel-book/kernel-entry.ts'
import type { ProcessKernel } from './process-kernel.ts'
import { once } from 'node:events'
import { createServer } from 'node:net'

const TRIES_MAX = 20

export async function prepareKernel(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  const { assignment, spec } = kernel
  try {
    if (spec.portVariable) await choosePort(host, kernel)
    const { port } = kernel
    const { namespaces, uids } = host.isolation
    kernel.uid = uids?.of(spec.projectId ?? null) ?? null
    const owner = { uid: kernel.uid, withTmp: namespaces !== null }
    await createKernelDirectory(kernel.path, { version: 1, assignment, bootId: host.bootId, spec, port }, owner)
  } catch (error) {
    return host.book.fail(
      kernel,
      'executor-failed',
      `the kernel's directory could not be prepared: ${messageOf(error)}`,
    )
  }
  // A stop or a removal may have happened meanwhile.
  if (kernel.phase !== 'PREPARING' || host.book.closed) return
  const image = pullImage(host.presets, spec.image, host.path)
  if (typeof image === 'string') return host.book.fail(kernel, 'image-pull-failed', image)
  kernel.image = image
  if (await pullCode(host, kernel, kernel.uid)) await host.book.prepared(kernel)
}

/**
 * Picks a port on which nothing on this machine listens, and which no other live kernel has been given, since its
 * program may not listen yet. Another process may take the port before the program binds it; the program then fails and
 * reports it.
 */
async function choosePort(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = await freePort()
    const given = [...host.book.kernels.values()].some(
      (other) => other.port === port && other !== kernel && !hasEnded(other),
    )
    if (given) continue
    kernel.port = port
    return
  }
  throw new Error('no free port was found')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
