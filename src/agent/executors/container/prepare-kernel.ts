import { setTimeout as sleep } from 'node:timers/promises'
import type { FailureError } from '../../../domain/session/failure.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { choosePort } from '../kernels/choose-port.ts'
import { pullCheckpoint } from '../chain/pull-checkpoint.ts'
import { pullCode } from '../kernels/kernel-code.ts'
import { createKernelDirectory, ownerOf } from '../kernels/kernel-directory.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import { linkFault, volumeBinds } from './container-volumes.ts'
import { EngineSilentError } from './engine/engine-client.ts'
import { isAllowed } from './engine/image-reference.ts'
import type { ResolvedImage } from './engine/pull-image.ts'

const ASK_AGAIN_MS = 1_000

export async function prepareKernel(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  const refusal = refusalOf(host, kernel)
  if (refusal !== null) return host.registry.fail(kernel, refusal.name, refusal.message)
  kernel.image = null
  if (!kernel.isPlaced) await makeDirectory(host, kernel)
  if (!isPreparing(host, kernel)) return
  const image = await resolveImage(host, kernel)
  if (image === null) return
  if ('message' in image) return host.registry.fail(kernel, image.name, image.message)
  kernel.image = image
  const fault = await answered(host, kernel, () => linkFault(host.engine, host.agentId, kernel))
  if (fault === undefined) return
  if (fault !== null) return host.registry.fail(kernel, 'executor-failed', fault)
  const owner = ownerOf(kernel.uid)
  kernel.isPlaced ||= (await pullCode(host, kernel, owner)) && (await pullCheckpoint(host, kernel, owner))
  if (kernel.isPlaced) await host.registry.prepared(kernel)
}

/** It fails, if that does. */
async function makeDirectory(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  const { assignment, spec } = kernel
  try {
    if (spec.portVariable) await choosePort(host.registry, kernel)
    const { port } = kernel
    kernel.uid = host.users.of(spec.projectId ?? null).uid
    const places = { owner: ownerOf(kernel.uid) }
    const record = { version: 1, assignment, bootId: host.bootId, spec, port } as const
    await createKernelDirectory(kernel.path, record, places, host.registry.removals)
  } catch (error) {
    host.registry.fail(kernel, 'executor-failed', `the kernel's directory could not be prepared: ${messageOf(error)}`)
  }
}

/** A stop or a removal may have happened meanwhile. */
function isPreparing({ registry }: ContainerHost, { phase }: ContainerKernel): boolean {
  return (phase === 'PREPARING' || phase === 'PULLING') && !registry.closed
}

function refusalOf({ options }: ContainerHost, { spec }: ContainerKernel): FailureError | null {
  const { image } = spec
  if (image === null && options.image === undefined) {
    const message = 'the session names no image, and its agent has none for such sessions (REPRISE_CONTAINER_IMAGE)'
    return { name: 'image-invalid', message }
  }
  if (image !== null && !isAllowed(image, options.allow)) {
    return { name: 'validation-failed', message: `image ${image} is not allowed here (REPRISE_CONTAINER_ALLOW)` }
  }
  const binds = volumeBinds(options.volumes, spec)
  if (typeof binds === 'string') return { name: 'executor-failed', message: binds }
  if (spec.portVariable !== null && options.network === 'none') {
    return { name: 'executor-failed', message: 'a kernel that serves needs a network (REPRISE_CONTAINER_NETWORK)' }
  }
  return null
}

/** @returns null if the kernel is not to be prepared further */
async function resolveImage(
  host: ContainerHost,
  kernel: ContainerKernel,
): Promise<ResolvedImage | FailureError | null> {
  const { spec } = kernel
  const name = spec.image ?? host.options.image!
  const request = { name, digest: spec.imageDigest ?? null, policy: host.options.pull }
  const image = await answered(host, kernel, () =>
    host.images.resolve(request, (progress) => {
      if (!isPreparing(host, kernel)) return
      kernel.phase = 'PULLING'
      note(host, kernel, progress)
    }),
  )
  if (image === undefined) return null
  return 'message' in image && request.digest !== null ? pinnedFailure(image, name, request.digest) : image
}

/** Asks again while the engine is silent. @returns undefined if the kernel is not to be prepared further */
async function answered<T>(
  host: ContainerHost,
  kernel: ContainerKernel,
  ask: () => Promise<T>,
): Promise<T | undefined> {
  while (isPreparing(host, kernel)) {
    try {
      const answer = await ask()
      return isPreparing(host, kernel) ? answer : undefined
    } catch (error) {
      if (!(error instanceof EngineSilentError)) throw error
      note(host, kernel, 'the container engine does not answer')
      await sleep(ASK_AGAIN_MS)
    }
  }
  return undefined
}

/** Somebody who sees it there under its tag would not know why. */
function pinnedFailure(failure: FailureError, name: string, digest: string): FailureError {
  if (failure.name !== 'image-not-found') return failure
  const message = `${digest}, which this session has to run as image ${name}, is not in its registry any more, nor here; with pinImage: false in its retry policy it runs what ${name} stands for now`
  return { ...failure, message }
}

export function note({ registry }: ContainerHost, kernel: ContainerKernel, text: string): void {
  if (kernel.note === text) return
  kernel.note = text
  registry.changed()
}
