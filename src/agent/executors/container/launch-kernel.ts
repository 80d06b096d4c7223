import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../../observability/error-message.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import { ownerOf, writeRunScript } from '../kernels/kernel-directory.ts'
import { chainDirectory, openChainDirectory } from '../chain/chain-directory.ts'
import type { ContainerGroup } from './limits/container-groups.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import { type ClusterPlace, containerSpec, ContainerSpecError, gpuCount, gpusOfBody } from './container-spec.ts'
import { type VolumeBind, volumeBinds, volumeFault } from './container-volumes.ts'
import type { CreateBody } from './engine/create-body.ts'
import { EngineError, EngineSilentError } from './engine/engine-client.ts'
import { note } from './prepare-kernel.ts'

const ASK_AGAIN_MS = 1_000
const NETWORK_WITHIN_MS = 600_000
const NO_NETWORK = 'the container engine has no network left for the kernels of this session'
const NETWORK_ADVICE =
  'Give the engine more subnets (default-address-pools, default_subnet_pools), or set REPRISE_CONTAINER_NETWORK=host to ' +
  'let kernels of a session use the network of the machine.'

/**
 * Writes down what the container is to be; from here on, a later instance goes on. A crash leaves
 *
 *   no run script                      prepared again
 *   run script, no `status`            the container is created, or found by its name, and claimed
 *   `status` with `claimed <id>`       the container is started, if it was not; only the agent starts containers, and
 *                                      its name is unique, so there is no second one
 *   `status` with `began …`            it runs, or the engine tells how it ended
 *   `status` with `exit <code>`        it has ended, and its output is complete
 */
export async function launchKernel(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  const { spec, path } = kernel
  try {
    await host.keeper.ready()
    kernel.found = await openChainDirectory(host, spec, ownerOf(kernel.uid))
    const cluster = await joinNetwork(host, kernel)
    if (cluster === undefined) return
    kernel.body = containerSpec(kernel, host.options, host.description, {
      agentId: host.agentId,
      work: join(path, 'work'),
      chain: chainDirectory(host, spec),
      user: host.users.of(spec.projectId ?? null).inside,
      group: (kernel.group = createGroup(host, kernel)),
      gpus: takeGpus(host, kernel),
      cluster,
      volumes: volumesOf(host, kernel),
    })
    const script: RunScript = { digest: kernel.image!.digest, body: kernel.body }
    await writeRunScript(path, kernel.token, JSON.stringify(script))
  } catch (error) {
    const what = error instanceof ContainerSpecError ? error.message : `could not be started: ${messageOf(error)}`
    return host.registry.fail(kernel, 'executor-failed', what)
  }
  if (host.registry.closed) return
  kernel.handedOver = true
  kernel.launchedAt = performance.now()
  host.advance(kernel)
}

/**
 * Waits until the engine has a network for the kernel's session, which it may have once other sessions have ended.
 *
 * @returns undefined if the kernel is not to be started any more
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

/** They may have changed since the agent was started, and since the kernel was prepared. */
function volumesOf({ options }: ContainerHost, { spec }: ContainerKernel): VolumeBind[] {
  const binds = volumeBinds(options.volumes, spec)
  if (typeof binds === 'string') throw new ContainerSpecError(binds)
  for (const bind of binds) {
    const fault = volumeFault(bind)
    if (fault !== null) throw new ContainerSpecError(`its volume for ${bind.target} cannot be mounted: ${fault}`)
  }
  return binds
}

/** For a later instance, in place of a shell's script. */
export interface RunScript {
  /** Of the image. */
  digest: string
  body: CreateBody
}

/** If the group cannot be made, the engine alone limits the kernel. */
function createGroup(host: ContainerHost, { id, memoryLimitBytes }: ContainerKernel): ContainerGroup | null {
  try {
    const limits = { memoryBytes: memoryLimitBytes, processes: host.options.processes }
    return host.groups?.create(id, limits) ?? null
  } catch (error) {
    host.log.warn({ kernelId: id, error: messageOf(error) }, 'no cgroup for a kernel; the engine alone limits it')
    return null
  }
}

/** Nobody else does: without numbers, each kernel would get the first ones. */
function takeGpus(host: ContainerHost, kernel: ContainerKernel): number[] {
  const count = gpuCount(kernel.spec)
  if (count === 0) return []
  const others = [...host.registry.kernels.values()].filter((other) => other !== kernel && !hasEnded(other))
  const taken = new Set(others.flatMap(({ body }) => gpusOfBody(body)))
  const free: number[] = []
  for (let device = 0; free.length < count; device++) if (!taken.has(device)) free.push(device)
  return free
}
