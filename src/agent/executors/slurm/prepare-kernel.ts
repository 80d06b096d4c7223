import { join } from 'node:path'
import type { Owner } from '../../../archive/extract-archive.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { KernelVariable } from '../../../domain/session/kernel-environment.ts'
import { pullCheckpoint } from '../chain/pull-checkpoint.ts'
import { type CodeHost, inputOf, pullCode } from '../kernels/kernel-code.ts'
import { pullInputs } from '../../outputs/place-inputs.ts'
import { createKernelDirectory, writeRunScript } from '../kernels/kernel-directory.ts'
import { kernelEnvironment, pullImage, withInterpreter } from '../process/image-preset.ts'
import { chainDirectory, openChainDirectory } from '../chain/chain-directory.ts'
import type { ChainHost } from '../chain/chain-host.ts'
import { execFault, exportsOf, programOf, quote } from '../process/shell.ts'
import { exclusion, JobArgumentsError, requestArguments } from './submit/job-arguments.ts'
import { TELL_DEVICES } from './gpu-scripts.ts'
import { asksForGpus } from './slurm-gpus.ts'
import { giveTo, type SlurmHost, type SlurmImage, type SlurmKernel } from './slurm-host.ts'
import { userOf } from './job-users.ts'

class RefusedError extends Error {
  override readonly name: string

  constructor(name: string, message: string) {
    super(message)
    this.name = name
  }
}

export async function prepareKernel(
  host: SlurmHost & ChainHost & CodeHost<SlurmKernel>,
  kernel: SlurmKernel,
): Promise<void> {
  const { assignment, spec, path } = kernel
  const isWanted = () => kernel.phase === 'PREPARING' && !host.registry.closed
  try {
    if (spec.portVariable !== null)
      throw new RefusedError(
        'submit-refused',
        'sessions that serve cannot be reached on Slurm’s nodes: it runs batch work',
      )
    giveTo(kernel, userFor(host, kernel))
    setRequest(host, kernel)
    // Slurm jobs outlive a restart of the agent's machine, so its boot id does not matter.
    const { user } = kernel
    const record = { version: 1, assignment, bootId: '', spec, port: null, user } as const
    const places = { owner: user, more: user === null ? [] : ['job'] }
    if (
      !(await host.presence.whenThere(
        () => createKernelDirectory(path, record, places, host.registry.removals),
        isWanted,
      ))
    )
      return
  } catch (error) {
    return refuse(host, kernel, error, 'the kernel’s directory could not be prepared')
  }
  // A stop or a removal may have happened meanwhile.
  if (!isWanted()) return
  const { user: owner } = kernel
  const isPlaced =
    (await pullCode(host, kernel, owner)) &&
    (await pullInputs(host, kernel, owner)) &&
    (await pullCheckpoint(host, kernel, owner))
  if (isPlaced) await host.registry.prepared(kernel)
}

function userFor({ options }: SlurmHost, { spec }: SlurmKernel): Owner | null {
  const user = userOf(options.users, spec)
  if (user !== undefined) return user
  const message = `project ${spec.projectName ?? '?'} has no Unix user on this agent: REPRISE_SLURM_USERS does not name it`
  throw new RefusedError('submit-refused', message)
}

/**
 * Renews the request of a kernel that is submitted another time. @returns false if that is impossible: the kernel has
 * then failed
 */
export function makeRequest(host: SlurmHost, kernel: SlurmKernel): boolean {
  try {
    setRequest(host, kernel)
    return true
  } catch (error) {
    refuse(host, kernel, error, 'could not be submitted again')
    return false
  }
}

function setRequest(host: SlurmHost, kernel: SlurmKernel): void {
  kernel.image = imageOf(host, kernel.spec.image)
  kernel.request = [...requestArguments(kernel.spec, host.options, host.nodes), ...kernel.image.sbatch]
  // Nodes come and go, so this is determined each time.
  kernel.exclusion = exclusion(kernel.spec, host.options, host.nodes)
}

/** Writes what the job runs. From here on a later instance can continue. */
export async function launchKernel(host: SlurmHost & ChainHost, kernel: SlurmKernel): Promise<void> {
  const { spec, path } = kernel
  const isWanted = () => kernel.phase === 'LAUNCHING' && kernel.killAt === null && !host.registry.closed
  const write = async () => {
    kernel.found = await openChainDirectory(host, spec, kernel.user)
    setRequest(host, kernel)
    const script = scriptOf(host, kernel, chainDirectory(host, spec))
    await writeRunScript(path, kernel.token, script, kernel.user)
  }
  try {
    if (!(await host.presence.whenThere(write, isWanted))) return endUnstarted(host, kernel)
  } catch (error) {
    return refuse(host, kernel, error, 'could not be started')
  }
  if (!host.registry.closed) host.enqueue(kernel)
}

/** Ends a kernel whose stop came before its start. */
function endUnstarted({ registry }: SlurmHost, kernel: SlurmKernel): void {
  if (kernel.phase === 'LAUNCHING' && !registry.closed) registry.endBeforeRunning(kernel, kernel.stopError)
}

function scriptOf(host: SlurmHost, kernel: SlurmKernel, chain: string): string {
  const { spec, path } = kernel
  const image = kernel.image ?? imageOf(host, spec.image)
  const places = { work: join(path, 'work'), chain, path: host.path }
  const hasGpus = mayHaveGpus(host, spec, image)
  const environ = kernelEnvironment(spec, image, places, kernel)
  // A session cannot change which GPUs it has.
  if (hasGpus) for (const name of OF_SLURM) environ.delete(name)
  if (spec.command.length === 0) throw new Error('the command is empty')
  if ([...environ.entries(), spec.command].flat().some((text) => text.includes('\0'))) {
    throw new Error('a command or a variable contains a NUL byte')
  }
  const argv = withInterpreter(image, spec.command, environ.get('PATH') ?? host.path)
  const fault = execFault(argv, environ)
  if (fault !== null) throw new RefusedError('environment-too-large', fault)
  const lines = [
    ...(hasGpus ? [TELL_DEVICES] : []),
    `cd ${quote(places.work)} || exit 126`,
    'ulimit -c 0',
    exportsOf(environ),
    timesOf(spec),
    ...image.prolog,
    programOf(environ, argv, inputOf(kernel)),
  ]
  return `${lines.join('\n')}\n`
}

/** Variables by which Slurm tells a job its GPUs. */
const OF_SLURM = ['CUDA_VISIBLE_DEVICES', 'GPU_DEVICE_ORDINAL', 'ROCR_VISIBLE_DEVICES']

/** Whether its job may have GPUs: it asks for some, or the site's arguments of `sbatch` do. */
function mayHaveGpus({ options }: SlurmHost, spec: SlurmKernel['spec'], { sbatch }: SlurmImage): boolean {
  return asksForGpus(spec) || [...options.args, ...sbatch].some((argument) => /gpu/i.test(argument))
}

/**
 * Exports the times that other executors know when they write the script: a job may wait for days before it begins. Its
 * `job.sh` passes the time on; one of an older version does not.
 */
function timesOf({ batchTimeoutMs }: SlurmKernel['spec']): string {
  const started = 'REPRISE_STARTED_AT' satisfies KernelVariable
  const deadline = 'REPRISE_DEADLINE' satisfies KernelVariable
  const seconds = batchTimeoutMs == null ? null : Math.floor(batchTimeoutMs / 1000)
  return `instant() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
began_at=\${began_at:-$(date +%s)}
export ${started}="$(instant "$began_at")" ${deadline}=${seconds === null ? '' : `"$(instant $((began_at + ${seconds})))"`}
unset began_at; unset -f instant`
}

function imageOf({ options, presets, path }: SlurmHost, name: string | null): SlurmImage {
  const own = name !== null && Object.hasOwn(options.images, name) ? options.images[name] : undefined
  if (own !== undefined) return own
  const image = pullImage(presets, name, path)
  if (typeof image === 'string') throw new RefusedError('image-pull-failed', image)
  return { ...image, prolog: [], sbatch: [] }
}

function refuse(host: SlurmHost, kernel: SlurmKernel, error: unknown, what: string): void {
  if (error instanceof RefusedError) return host.registry.fail(kernel, error.name, error.message)
  if (error instanceof JobArgumentsError) {
    return host.registry.fail(kernel, 'submit-refused', error.message)
  }
  host.registry.fail(kernel, 'executor-failed', `${what}: ${messageOf(error)}`)
}
