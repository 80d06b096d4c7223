import { setTimeout as sleep } from 'node:timers/promises'
import type { FailureError } from '../../../domain/session/failure.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { choosePort } from '../kernels/choose-port.ts'
import { pullCheckpoint } from '../chain/pull-checkpoint.ts'
import { pullCode } from '../kernels/kernel-code.ts'
import { pullInputs } from '../../outputs/place-inputs.ts'
import { createKernelDirectory, ownerOf, writeRunScript } from '../kernels/kernel-directory.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import { linkFault, type VolumeBind, volumeBinds, volumeFault } from './container-volumes.ts'
import { type CreateBody, EngineError, EngineSilentError } from './engine/engine-client.ts'
import { isAllowed } from './engine/registry.ts'
import type { ResolvedImage } from './engine/pull-image.ts'
import { join } from 'node:path'
import { chainDirectory, openChainDirectory } from '../chain/chain-directory.ts'
import type { ContainerGroup } from './container-groups.ts'
import { chooseGpus } from './container-gpus.ts'
import { type ClusterPlace, containerSpec, ContainerSpecError } from './container-spec.ts'
import { GpuShortageError, gpuVariables } from '../../gpus/kernel-gpus.ts'

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
  kernel.isPlaced ||=
    (await pullCode(host, kernel, owner)) &&
    (await pullInputs(host, kernel, owner)) &&
    (await pullCheckpoint(host, kernel, owner))
  if (kernel.isPlaced) await host.registry.prepared(kernel)
}

/** Creates the directory. If that fails, the kernel fails. */
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

/** Whether the kernel is still being prepared: it may have been stopped or removed meanwhile. */
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

/** @returns null if the kernel must not be prepared further */
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

/** Repeats the request while the engine is silent. @returns undefined if the kernel must not be prepared further */
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

/**
 * Explains the failure of a pinned image. The explanation names the digest, because an image with the same tag may
 * still exist.
 */
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

const NETWORK_WITHIN_MS = 600_000
const NO_NETWORK = 'the container engine has no network left for the kernels of this session'
const NETWORK_ADVICE =
  'Give the engine more subnets (default-address-pools, default_subnet_pools), or set REPRISE_CONTAINER_NETWORK=host to ' +
  'let kernels of a session use the network of the machine.'

/**
 * Writes to the directory what the container will be; from here on, a later instance can continue. A crash leaves
 *
 *   no run script                      prepared again, also if GPUs were chosen already
 *   run script, no `status`            the container is created, or found by its name, and claimed
 *   `status` with `claimed <id>`       the container is started, if it was not; only the agent starts containers, and
 *                                      its name is unique, so there is no second one
 *   `status` with `began …`            it runs, or the engine reports how it ended
 *   `status` with `exit <code>`        it has ended, and its output is complete
 */
export async function launchKernel(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  const { spec, path } = kernel
  try {
    await host.keeper.ready()
    kernel.found = await openChainDirectory(host, spec, ownerOf(kernel.uid))
    const cluster = await joinNetwork(host, kernel)
    if (cluster === undefined) return
    kernel.beginsAt = new Date()
    const gpus = chooseGpus(host.gpus, [...host.registry.kernels.values()], kernel)
    kernel.body = containerSpec(kernel, host.options, host.description, {
      agentId: host.agentId,
      work: join(path, 'work'),
      chain: chainDirectory(host, spec),
      user: host.users.of(spec.projectId ?? null).inside,
      group: (kernel.group = createGroup(host, kernel)),
      gpus,
      gpuEnvironment: gpuVariables(host.gpus, kernel),
      cluster,
      volumes: volumesOf(host, kernel),
    })
    const script: RunScript = { digest: kernel.image!.digest, body: kernel.body }
    await writeRunScript(path, kernel.token, JSON.stringify(script))
  } catch (error) {
    if (error instanceof GpuShortageError) return host.registry.fail(kernel, 'gpu-unavailable', error.message)
    const what = error instanceof ContainerSpecError ? error.message : `could not be started: ${messageOf(error)}`
    return host.registry.fail(kernel, 'executor-failed', what)
  }
  if (host.registry.closed) return
  kernel.handedOver = true
  kernel.launchedAt = performance.now()
  host.advance(kernel)
}

/**
 * Waits until the engine has a network for the kernel's session, which may require that other sessions end.
 *
 * @returns undefined if the kernel must not be started any more
 * @throws EngineError if there is none for too long
 */
async function joinNetwork(host: ContainerHost, kernel: ContainerKernel): Promise<ClusterPlace | null | undefined> {
  const until = performance.now() + NETWORK_WITHIN_MS
  while (kernel.phase === 'LAUNCHING' && !host.registry.closed) {
    try {
      return await host.networks.join(kernel.spec)
    } catch (error) {
      if (error instanceof EngineError) {
        if (performance.now() > until) throw new EngineError(error.status, `${NO_NETWORK}. ${NETWORK_ADVICE}`)
        if (kernel.note !== NO_NETWORK) host.log.warn({ error: error.message, advice: NETWORK_ADVICE }, NO_NETWORK)
        note(host, kernel, NO_NETWORK)
      } else if (!(error instanceof EngineSilentError)) throw error
      await sleep(ASK_AGAIN_MS)
    }
  }
  return undefined
}

/** Checks the volumes again, since they may have changed since the agent was started and the kernel was prepared. */
function volumesOf({ options }: ContainerHost, { spec }: ContainerKernel): VolumeBind[] {
  const binds = volumeBinds(options.volumes, spec)
  if (typeof binds === 'string') throw new ContainerSpecError(binds)
  for (const bind of binds) {
    const fault = volumeFault(bind)
    if (fault !== null) throw new ContainerSpecError(`its volume for ${bind.target} cannot be mounted: ${fault}`)
  }
  return binds
}

/** Content of the run script, from which a later instance continues. The process executor has a shell script there. */
export interface RunScript {
  /** Digest of the image. */
  digest: string
  body: CreateBody
}

/** Creates the kernel's group. If that fails, only the engine limits the kernel. */
function createGroup(host: ContainerHost, { id, memoryLimitBytes }: ContainerKernel): ContainerGroup | null {
  try {
    const limits = { memoryBytes: memoryLimitBytes, processes: host.options.processes }
    return host.groups?.create(id, limits) ?? null
  } catch (error) {
    host.log.warn({ kernelId: id, error: messageOf(error) }, 'no cgroup for a kernel; the engine alone limits it')
    return null
  }
}
