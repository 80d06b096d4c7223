import type { KernelSpec } from '../../../../domain/agent/protocol.ts'
import { GPU_SLOTS } from '../../../../domain/gpu.ts'
import { EXECUTOR_OPTION_VALUE } from '../../../../domain/session/kernel-environment.ts'
import { PRIORITY_DEFAULT } from '../../../../domain/session/session-spec.ts'
import type { Node } from '../capacity.ts'
import type { SlurmOptions } from '../slurm-host.ts'

const MIB = 1024 * 1024
/**
 * Extra time of Slurm's limit. The server ends a session exactly at its time-out; Slurm's limit is a second safeguard,
 * and lets Slurm fill gaps.
 */
const TIME_SLACK_MS = 120_000
/** Options that a resource group may allow its sessions to set. Values are words, and never pass through a shell. */
export const SESSION_OPTIONS = ['partition', 'account', 'qos', 'constraint', 'reservation', 'exclusive'] as const
const NICE_PER_PRIORITY = 10

export interface JobPlaces {
  /** The file to which `sbatch` writes Slurm's own messages; Slurm replaces `%a` by a task's number. */
  output: string
  directory: string
  name: string
  comment: string
}

/** The kernel cannot be submitted as it is. The message is for people. */
export class JobArgumentsError extends Error {}

/**
 * Returns the arguments of `sbatch` that depend on the session. Kernels with equal arguments may share an array.
 *
 * @param nodes those of the partition, as last seen; empty while unknown
 * @throws JobArgumentsError
 */
export function requestArguments(spec: KernelSpec, options: SlurmOptions, nodes: readonly Node[] = []): string[] {
  return [
    ...slotArguments(spec, options, nodes),
    ...gangArguments(spec),
    ...timeArguments(spec),
    ...niceArguments(spec),
    ...siteArguments(spec, options),
    ...options.args,
  ]
}

/** Returns the remaining arguments, for one job. */
export function submissionArguments({ output, directory, name, comment }: JobPlaces): string[] {
  return [
    '--parsable',
    '--no-requeue',
    // `NONE` and `NIL` would run a login shell for each job.
    '--export=ALL',
    '--input=/dev/null',
    '--open-mode=append',
    `--output=${output}`,
    `--chdir=${directory}`,
    `--job-name=${name}`,
    `--comment=${comment}`,
  ]
}

/** Returns the processors of one kernel. Slurm only assigns whole ones. */
export function cpusOf({ resourceSlots }: KernelSpec): number {
  return Math.max(1, Math.ceil(Number(resourceSlots['cpu'] ?? 0)))
}

function slotArguments(spec: KernelSpec, { gres }: SlurmOptions, nodes: readonly Node[]): string[] {
  const { resourceSlots, gang } = spec
  const cpus = cpusOf(spec)
  const mebibytes = Math.ceil(Number(resourceSlots['mem'] ?? 0) / MIB)
  const unknown = Object.keys(resourceSlots).find(
    (slot) => slot !== 'cpu' && slot !== 'mem' && !Object.hasOwn(gres, slot) && Number(resourceSlots[slot]) > 0,
  )
  if (unknown !== undefined) throw new JobArgumentsError(`REPRISE_SLURM_GRES does not say what ${unknown} is in Slurm`)
  // A gang's memory is given per processor, because Slurm may spread its tasks unevenly over nodes.
  const memory = gang == null ? [`--mem=${mebibytes}M`] : [`--mem-per-cpu=${Math.ceil(mebibytes / cpus)}M`]
  return [`--cpus-per-task=${cpus}`, ...(mebibytes > 0 ? memory : []), ...genericArguments(spec, gres, nodes)]
}

/** Returns the generic resources. In a gang, each task should see only its own, which Slurm supports only for GPUs. */
function genericArguments(spec: KernelSpec, gres: SlurmOptions['gres'], nodes: readonly Node[]): string[] {
  const { resourceSlots, gang } = spec
  const wanted = Object.entries(gres).flatMap(([slot, name]) => {
    const amount = Math.ceil(Number(resourceSlots[slot] ?? 0))
    return amount > 0 ? [{ slot, name: withType(spec, { slot, name, amount }, nodes), amount }] : []
  })
  if (wanted.length === 0) return []
  if (gang == null) return [`--gres=${wanted.map(({ name, amount }) => `${name}:${amount}`).join()}`]
  const other = wanted.find(({ name }) => !/^gpu(:|$)/.test(name))
  if (other !== undefined) {
    throw new JobArgumentsError(
      `${other.slot} cannot be shared out among ${gang.size} kernels: in a session of several, Slurm knows only GPUs by the task`,
    )
  }
  const each = wanted.map(({ name, amount }) => `${name.slice('gpu'.length)}:${amount}`.replace(/^:/, ''))
  return [`--gpus-per-task=${each.join()}`]
}

/**
 * Adds the type of the GPUs that the session asks for. Of several types with such a model, that one is chosen of which
 * a node has as many as requested, and then the most frequent one: Slurm accepts only one.
 *
 * @throws JobArgumentsError if Slurm knows no such type, or does not tell what is asked for
 */
function withType(
  { gpuNeed }: KernelSpec,
  { slot, name, amount }: { slot: string; name: string; amount: number },
  nodes: readonly Node[],
): string {
  if (gpuNeed == null || name.includes(':') || !GPU_SLOTS.some((each) => each === slot)) return name
  if (gpuNeed.memoryBytes !== null)
    throw new JobArgumentsError('Slurm does not tell how much memory its GPUs have: ask for a model')
  if (gpuNeed.model === null) return name
  const model = gpuNeed.model.toLowerCase()
  const kinds = nodes.flatMap(({ gpus }) => gpus.filter((each) => each.slot === slot && each.type !== null))
  const types = [...Map.groupBy(kinds, ({ type }) => type!)]
    .filter(([type]) => type.toLowerCase().includes(model))
    .map(([type, each]) => ({
      type,
      isEnough: each.some(({ count }) => count >= amount),
      total: each.reduce((sum, { count }) => sum + count, 0),
    }))
    .toSorted((a, b) => Number(b.isEnough) - Number(a.isEnough) || b.total - a.total)
  const [best] = types
  if (best !== undefined) return `${name}:${best.type}`
  const known = [...new Set(kinds.map(({ type }) => type))].join(', ') || 'none'
  throw new JobArgumentsError(`Slurm knows no type of GPUs like ${gpuNeed.model} in this partition; it knows ${known}`)
}

function gangArguments({ gang }: KernelSpec): string[] {
  if (gang == null) return []
  return [`--ntasks=${gang.size}`, ...(gang.singleNode ? ['--nodes=1'] : [])]
}

function timeArguments({ batchTimeoutMs }: KernelSpec): string[] {
  if (batchTimeoutMs == null) return []
  return [`--time=${Math.ceil((batchTimeoutMs + TIME_SLACK_MS) / 60_000)}`]
}

/**
 * Lowers the job's priority in Slurm. A job of the usual priority competes with other jobs as any other. Only Slurm's
 * administrators may raise a priority, so higher ones count only in this server's own queue.
 */
function niceArguments({ priority }: KernelSpec): string[] {
  const nice = Math.max(0, (PRIORITY_DEFAULT - (priority ?? PRIORITY_DEFAULT)) * NICE_PER_PRIORITY)
  return nice === 0 ? [] : [`--nice=${nice}`]
}

/**
 * Returns the site's arguments. A choice of the session or its group has precedence over the project's, and that over
 * the agent's.
 */
function siteArguments(spec: KernelSpec, { partition, account, accounts, qos, constraint, reservation }: SlurmOptions) {
  const ofProject = spec.projectName === undefined ? undefined : accounts[spec.projectName]
  const chosen: Record<string, string | undefined> = {
    partition,
    account: ofProject ?? account,
    qos,
    constraint,
    reservation,
    ...spec.executorOptions,
  }
  return SESSION_OPTIONS.flatMap((name) => {
    const value = chosen[name]
    if (value === undefined || value === '') return []
    if (!EXECUTOR_OPTION_VALUE.test(value)) throw new JobArgumentsError(`${name} is no word that Slurm could take`)
    return [name === 'exclusive' && value === 'true' ? '--exclusive' : `--${name}=${value}`]
  })
}

/**
 * Excludes nodes where earlier attempts have failed, the latest first, as long as the remaining nodes could run the
 * kernel.
 */
export function exclusion(spec: KernelSpec, { gres }: SlurmOptions, nodes: readonly Node[]): string[] {
  const failed = (spec.avoidHosts ?? []).filter((host) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(host))
  for (let first = 0; first < failed.length; first++) {
    const avoided = failed.slice(first)
    if (
      couldHave(
        nodes.filter(({ usable, name }) => usable && !avoided.includes(name)),
        spec,
        gres,
      )
    ) {
      return [`--exclude=${avoided.join()}`]
    }
  }
  return []
}

/** Whether the kernel would fit if nothing else ran there. */
function couldHave(nodes: readonly Node[], { resourceSlots, gang }: KernelSpec, gres: SlurmOptions['gres']): boolean {
  const needs = Object.entries(resourceSlots).filter(
    ([slot, amount]) => Number(amount) > 0 && (slot === 'cpu' || slot === 'mem' || Object.hasOwn(gres, slot)),
  )
  const counts = nodes.map(({ amounts }) =>
    Math.min(...needs.map(([slot, amount]) => Math.floor((amounts.get(slot) ?? 0) / Number(amount))), gang?.size ?? 1),
  )
  const together = gang?.singleNode === true ? Math.max(0, ...counts) : counts.reduce((sum, count) => sum + count, 0)
  return together >= (gang?.size ?? 1)
}
