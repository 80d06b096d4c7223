import { join } from 'node:path'
import { messageOf } from '../../../observability/error-message.ts'
import { chainDirectory, openChainDirectory } from '../chain/chain-directory.ts'
import { execFault } from './shell.ts'
import { kernelEnvironment, type PulledImage, pullImage, withInterpreter } from './image-preset.ts'
import { isBelow } from './isolation/hidden-paths.ts'
import { devicesFor, type Launch } from './isolation/isolation.ts'
import { claimStatus, createKernelDirectory, ownerOf, writeRunScript } from '../kernels/kernel-directory.ts'
import { cpus, type ProcessHost, type ProcessKernel } from './process-host.ts'
import { shimScript } from './shim.ts'
import { choosePort } from '../kernels/choose-port.ts'
import { pullCheckpoint } from '../chain/pull-checkpoint.ts'
import { inputOf, pullCode } from '../kernels/kernel-code.ts'
import { closedNodes, GpuShortageError, gpuNodes, gpuVariables, takeGpus } from '../../gpus/kernel-gpus.ts'
import { pullInputs } from '../../outputs/place-inputs.ts'

/** How long a shim may take to begin before the agent claims the start itself. */
export const LAUNCH_TIMEOUT_MS = 30_000

const NO_IMAGE: PulledImage = { environ: {}, interpreter: [] }

let launches = 0

class TooLargeError extends Error {}

/**
 * Until the script is written, the order exists only in memory. A stop during LAUNCHING takes effect when the shim
 * begins. If the executor is closed before the hand-over, the next instance starts the kernel.
 */
export async function launchKernel(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  kernel.token = `${host.tokenPrefix}${(launches++).toString(36)}`
  try {
    await host.keeper.ready()
    await orderStart(host, kernel)
  } catch (error) {
    if (error instanceof TooLargeError) return host.registry.fail(kernel, 'environment-too-large', error.message)
    if (error instanceof GpuShortageError) return host.registry.fail(kernel, 'gpu-unavailable', error.message)
    return host.registry.fail(kernel, 'executor-failed', `could not be started: ${messageOf(error)}`)
  }
  if (host.registry.closed) return
  kernel.handedOver = true
  kernel.launchedAt = performance.now()
  host.forkServer.launch(kernel.id, kernel.token)
  host.wake()
}

/** Returns the environment that programs of the kernel get. */
export function environmentOf(host: ProcessHost, kernel: ProcessKernel): Map<string, string> {
  const { spec, path } = kernel
  const [work, chain] = [join(path, 'work'), chainDirectory(host, spec)]
  const places = { work, chain, path: host.path }
  const environ = kernelEnvironment(spec, kernel.image ?? NO_IMAGE, places, kernel)
  return new Map([...environ, ...gpuVariables(host.gpus, kernel)])
}

async function orderStart(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  const { spec, path } = kernel
  const chain = chainDirectory(host, spec)
  kernel.found = await openChainDirectory(host, spec, ownerOf(kernel.uid))
  const work = join(path, 'work')
  const image = kernel.image ?? NO_IMAGE
  takeGpus(host.gpus, host.registry.kernels.values(), kernel)
  kernel.beginsAt = new Date()
  const environ = environmentOf(host, kernel)
  if (spec.command.length === 0) throw new Error('the command is empty')
  if ([...environ.entries(), spec.command].flat().some((text) => text.includes('\0'))) {
    throw new Error('a command or a variable contains a NUL byte')
  }
  const argv = withInterpreter(image, spec.command, environ.get('PATH') ?? host.path)
  const fault = execFault(argv, environ)
  if (fault !== null) throw new TooLargeError(fault)
  enterCgroup(host, kernel)
  const launch = launchOf(host, kernel, { work, chain })
  kernel.namespaced = launch?.isolation.namespaces != null
  const tag = `${kernel.id} ${kernel.token}`
  const script = shimScript({
    tag,
    argv,
    environ,
    input: inputOf(kernel),
    cgroup: kernel.cgroup,
    launch,
    limits: host.limits,
  })
  await writeRunScript(path, kernel.token, script)
}

function launchOf(
  { isolation, chainsDir, gpus }: ProcessHost,
  kernel: ProcessKernel,
  { work, chain }: { work: string; chain: string },
): Launch | null {
  const { uid, path, spec, memoryLimitBytes } = kernel
  if (isolation.namespaces === null && uid === null) return null
  const { nodes: devices, groups: deviceGroups } = devicesFor(spec.resourceSlots, gpuNodes(gpus, kernel))
  const tmp = join(path, 'tmp')
  const mask = isolation.namespaces?.mask
  const chains = mask === undefined || isBelow(chainsDir, mask) ? null : chainsDir
  const places = { work, tmp, chain, chains, uid, shmBytes: memoryLimitBytes, devices, deviceGroups }
  return { isolation, places: { ...places, closedDevices: closedNodes(gpus, kernel) } }
}

/**
 * Creates the kernel's cgroup. If that fails, the memory watch enforces the limit, and leftovers are searched for at
 * the end.
 */
function enterCgroup(host: ProcessHost, kernel: ProcessKernel): void {
  if (host.cgroups === null) return
  const { processes } = host.limits
  try {
    const limits = { memoryBytes: kernel.memoryLimitBytes, processes, cpus: cpus(kernel.spec) }
    kernel.cgroup = host.cgroups.create(kernel.id, limits)
  } catch (error) {
    host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'no cgroup for a kernel; its memory is watched')
  }
}

/**
 * Gives up a shim that has not reported. Claiming the start in its place ensures that the command will not run later.
 */
export function giveUpLaunch(host: ProcessHost, kernel: ProcessKernel, reason: string): void {
  if (kernel.phase !== 'LAUNCHING' || !kernel.handedOver) return
  if (claimStatus(kernel.path, 'failed')) host.registry.fail(kernel, 'executor-failed', reason)
}

export async function prepareKernel(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  const { assignment, spec } = kernel
  try {
    if (spec.portVariable) await choosePort(host.registry, kernel)
    const { port } = kernel
    const { namespaces, uids } = host.isolation
    kernel.uid = uids?.of(spec.projectId ?? null) ?? null
    const places = { owner: ownerOf(kernel.uid), more: namespaces !== null ? ['tmp'] : [] }
    const record = { version: 1, assignment, bootId: host.bootId, spec, port } as const
    await createKernelDirectory(kernel.path, record, places, host.registry.removals)
  } catch (error) {
    return host.registry.fail(
      kernel,
      'executor-failed',
      `the kernel's directory could not be prepared: ${messageOf(error)}`,
    )
  }
  // A stop or a removal may have happened meanwhile.
  if (kernel.phase !== 'PREPARING' || host.registry.closed) return
  const image = pullImage(host.presets, spec.image, host.path)
  if (typeof image === 'string') return host.registry.fail(kernel, 'image-pull-failed', image)
  kernel.image = image
  const owner = ownerOf(kernel.uid)
  const isPlaced =
    (await pullCode(host, kernel, owner)) &&
    (await pullInputs(host, kernel, owner)) &&
    (await pullCheckpoint(host, kernel, owner))
  if (isPlaced) await host.registry.prepared(kernel)
}
