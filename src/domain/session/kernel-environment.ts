import type { ClusterMode } from './lifecycle.ts'

/**
 * The variables that kernels find in their environment, each with its meaning for people; docs/executors.md has
 * the same table. Names that begin with REPRISE_ are refused from clients.
 */
export const KERNEL_VARIABLES = {
  REPRISE_SESSION_ID: "The session's id",
  REPRISE_CHAIN_ID: 'Id of the chain: of its first session',
  REPRISE_ATTEMPT: 'Position in the chain, from 1. Never reset, also not by a resubmission',
  REPRISE_MAX_ATTEMPTS:
    'The position that the chain can reach with what is left of `maxRetries`; never less than `REPRISE_ATTEMPT`. Uncounted retries and resubmissions move it on',
  REPRISE_RETRY_COUNT: 'Retries used of `maxRetries`: 0 for a first attempt, and again after a resubmission',
  REPRISE_RETRY_OF_BUDGET: 'The same beside `maxRetries`, like `1 of 3`',
  REPRISE_PARENT_SESSION_ID: 'Id of the attempt before; empty for the first',
  REPRISE_RETRY_CAUSE: 'Cause of its failure, like `OOM_KILLED`; empty if there is none',
  REPRISE_KERNEL_NAME: 'Name of this kernel: `main1`, `sub1`, `sub2`, …',
  REPRISE_KERNEL_ROLE: '`main` or `sub`',
  REPRISE_KERNEL_INDEX: 'Its number within its role, from 1',
  REPRISE_CLUSTER_MODE: '`SINGLE_NODE` or `MULTI_NODE`',
  REPRISE_CLUSTER_SIZE: "Number of the session's kernels",
  REPRISE_CLUSTER_RANK: 'Position of this one among them, from 0',
  REPRISE_CLUSTER_HOSTS: "Addresses of the kernels' agents, like `main1=10.0.0.4,sub1=10.0.0.5`",
  REPRISE_KERNEL_ID: "The kernel's id",
  REPRISE_CHAIN_DIR: 'A directory that all attempts of the chain share, for [checkpoints](checkpoints.md)',
  REPRISE_CHECKPOINT:
    'The checkpoint of earlier attempts in it: `none`, `here`, `fetched` (copied from elsewhere), or `missing` (there is one, but it could not be obtained)',
  REPRISE_CHECKPOINT_ATTEMPT: 'The attempt that left it, also if it is missing; empty for `none`, and if it is unknown',
  REPRISE_OUTPUT_DIR: 'A directory whose whole content is an [output](outputs.md) of this attempt',
  REPRISE_STOP_GRACE: 'Seconds between the request to stop (SIGTERM) and SIGKILL',
  REPRISE_CPUS: 'The CPUs that it may use, as a whole number: its `cpu` slot rounded up, and at least 1',
  REPRISE_MEMORY_BYTES: 'The memory that it may use, its `mem` slot; empty if it has no limit',
  REPRISE_SLOTS: 'All its resource slots as a JSON object of exact amounts, like `{"cpu":"0.5","mem":"1073741824"}`',
  REPRISE_GPUS:
    'Its GPUs as JSON, with `index`, `uuid`, `name` and `memoryBytes` of each; missing if the agent does not know them',
  REPRISE_STARTED_AT: 'When this attempt of the program began, like `2026-11-28T09:15:00Z`',
  REPRISE_DEADLINE: 'When its batch timeout will end it, in the same form; empty if it has none',
  REPRISE_INDEX: 'The number of this member of its [group](groups.md); empty without a group',
  REPRISE_GROUP_SIZE: 'Number of members that the group has when the program starts; empty without a group',
  REPRISE_PROGRESS_FILE:
    'A file that the program may write; its last line, like `step 1200/5000`, is [shown while it runs](executors.md#programs-that-hang)',
  REPRISE_LAST_PROGRESS: 'The last such line of the attempt before; empty if there is none',
  REPRISE_VERDICT_FILE:
    'A file that the program may write to say why it failed ([format](retry-policy.md#what-a-program-says))',
} as const

export type KernelVariable = keyof typeof KERNEL_VARIABLES

/** One kernel of a session; `address` is its agent's address, empty if it has none. */
export interface ClusterMember {
  role: string
  /** 1-based within its role. */
  index: number
  address: string
}

/**
 * Environment variables that describe a kernel and the other kernels of its session. The addresses are known once all
 * kernels are placed, which is before any is prepared; a rescheduled session gets new ones. `members` are in the order
 * main1, sub1, sub2, …; a kernel's rank is its position there, from 0.
 */
export function clusterEnvironment(
  kernel: Pick<ClusterMember, 'role' | 'index'>,
  cluster: { mode: ClusterMode; members: readonly ClusterMember[] },
): { name: KernelVariable; value: string }[] {
  const { mode, members } = cluster
  const name = kernelName(kernel)
  return [
    { name: 'REPRISE_KERNEL_NAME', value: name },
    { name: 'REPRISE_KERNEL_ROLE', value: kernel.role },
    { name: 'REPRISE_KERNEL_INDEX', value: String(kernel.index) },
    { name: 'REPRISE_CLUSTER_MODE', value: mode },
    { name: 'REPRISE_CLUSTER_SIZE', value: String(members.length) },
    { name: 'REPRISE_CLUSTER_RANK', value: String(members.findIndex((member) => kernelName(member) === name)) },
    {
      name: 'REPRISE_CLUSTER_HOSTS',
      value: members.map((member) => `${kernelName(member)}=${member.address}`).join(','),
    },
  ]
}

/**
 * Options in an executor's own terms, such as the partition of a Slurm cluster. A resource group has options for all
 * its sessions, and lists those that a session may set itself.
 */
export type ExecutorOptions = Readonly<Record<string, string>>

export const EXECUTOR_OPTION_KEY = /^[a-z][A-Za-z0-9-]{0,63}$/
export const EXECUTOR_OPTION_KEY_FAULT = 'must be at most 64 letters, digits and -, and begin with a small letter'
/** Characters that are safe in every place where executors use the value. */
export const EXECUTOR_OPTION_VALUE = /^[A-Za-z0-9_.,:&|*()[\]-]{1,128}$/
export const EXECUTOR_OPTION_VALUE_FAULT = 'must be 1 to 128 letters, digits and _ . , : & | * ( ) [ ] -'

/** The options of the session's resource group, and those that it allows sessions to set. */
interface GroupExecutorOptions {
  executorOptions: ExecutorOptions
  allowedExecutorOptions: readonly string[]
}

/**
 * Merges the options of group and session. Options that the group does not allow are ignored: the session may have been
 * moved to another group, or the group may allow less than before.
 */
export function executorOptionsFor(group: GroupExecutorOptions, session: ExecutorOptions): Record<string, string> {
  const allowed = Object.entries(session).filter(([key]) => group.allowedExecutorOptions.includes(key))
  return { ...group.executorOptions, ...Object.fromEntries(allowed) }
}

/** A secret variable as it is stored: encrypted, with a digest that detects changes of the value. */
export interface SealedVariable {
  name: string
  /** Ciphertext with the id of its key, base64. */
  sealed: string
  /** Keyed digest of the value, base64: equal for equal values, and useless without the key. */
  digest: string
}

/** Bytes that encryption adds to a value: the id of its key, a nonce, and a tag. */
export const SEALED_KEY_ID_BYTES = 8
export const SEALED_NONCE_BYTES = 12
export const SEALED_TAG_BYTES = 16

/** Number of bytes of the decrypted value, computed from its ciphertext. */
export function sealedValueBytes(sealed: string): number {
  return Buffer.byteLength(sealed, 'base64') - SEALED_KEY_ID_BYTES - SEALED_NONCE_BYTES - SEALED_TAG_BYTES
}

export function secretNames(stored: unknown): string[] {
  return (stored as readonly SealedVariable[]).map(({ name }) => name)
}

/**
 * Merges secret variables. The given ones replace existing ones of the same name, which keep their positions; new ones
 * come last. An existing variable with an equal value is kept unchanged, so that it does not appear as a difference.
 */
export function mergeSealed(
  before: readonly SealedVariable[],
  given: readonly SealedVariable[] = [],
): SealedVariable[] {
  const values = new Map(before.map((variable) => [variable.name, variable]))
  for (const variable of given) {
    if (values.get(variable.name)?.digest !== variable.digest) values.set(variable.name, variable)
  }
  return [...values.values()]
}

/** `main1`, `sub1`, `sub2`, … */
function kernelName({ role, index }: Pick<ClusterMember, 'role' | 'index'>): string {
  return `${role}${index}`
}
