import { messageOf } from '../../../observability/error-message.ts'
import { failKernel } from './end-kernel.ts'
import { pullImage } from './image-preset.ts'
import { createKernelDirectory } from '../kernel-directory/kernel-directory.ts'
import { placeCode } from '../kernel-directory/place-code.ts'
import { launchKernel } from './launch-kernel.ts'
import type { ProcessHost } from './process-host.ts'
import { type ProcessKernel, hasEnded } from './process-kernel.ts'
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
    return failKernel(
      host,
      kernel,
      'executor-failed',
      `the kernel's directory could not be prepared: ${messageOf(error)}`,
    )
  }
  // A stop or a removal may have happened meanwhile.
  if (kernel.phase !== 'PREPARING' || host.closed) return
  const image = pullImage(host.presets, spec.image, host.path)
  if (typeof image === 'string') return failKernel(host, kernel, 'image-pull-failed', image)
  kernel.image = image
  if (!(await pullCode(host, kernel))) return
  kernel.phase = 'PREPARED'
  const launched = kernel.startWanted ? launchKernel(host, kernel) : null
  host.changed()
  await launched
}

/** @returns false if the kernel is not to be prepared further */
async function pullCode(host: ProcessHost, kernel: ProcessKernel): Promise<boolean> {
  const { id: kernelId, assignment, spec, path, uid } = kernel
  if (spec.codeSha256 == null) return true
  const { fetchCode } = host
  if (fetchCode === undefined) {
    failKernel(host, kernel, 'executor-failed', 'this agent has no server to fetch the uploaded code from')
    return false
  }
  kernel.phase = 'PULLING'
  host.changed()
  const isWanted = () => kernel.phase === 'PULLING' && !host.closed
  const error = await placeCode({
    path,
    uid,
    sha256: spec.codeSha256,
    bytesMax: host.codeBytesMax,
    isWanted,
    fetch: (signal) => fetchCode({ kernelId, assignment }, signal),
    log: host.log.child({ kernelId }),
  })
  if (!isWanted()) return false
  if (error !== null) failKernel(host, kernel, error.name, error.message)
  return error === null
}

/**
 * Picks a port on which nothing on this machine listens, and which no other live kernel has been given, since its
 * program may not listen yet. Another process may take the port before the program binds it; the program then fails and
 * reports it.
 */
async function choosePort(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = await freePort()
    const given = [...host.kernels.values()].some(
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
