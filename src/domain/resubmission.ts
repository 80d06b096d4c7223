import { environFault, resubmissionCreationId } from './session/session-spec.ts'
import { mergeSealed, type SealedVariable } from './session/kernel-environment.ts'
import { changeNeed, GPU_SLOTS, type GpuChange, type GpuNeed } from './gpu.ts'
import { ENVIRON_ENTRIES_MAX, SLOTS_MAX } from './limits.ts'
import type { RetryPolicy } from './retry/policy/policy.ts'
import { exactTable, type PolicySource, statedPolicy, withTableBudget } from './retry/policy/resolve-policy.ts'
import { readStoredPolicy } from './retry/policy/stored-policy.ts'
import type { FailureCause } from './session/failure.ts'
import type { ErrorCode } from './errors.ts'
import { isTerminal, type SessionResult, type SessionStatus, type SessionType } from './session/lifecycle.ts'

/** A person's changes in a resubmission; missing fields keep their values. */
export interface ResubmissionOverrides {
  /** Exact decimals by slot. Each given slot replaces its value; 0 removes the slot. */
  resourceSlots?: Record<string, string>
  /** What the GPUs must be like; their number is a slot. */
  gpus?: GpuChange
  /** Seconds; null removes the timeout. */
  batchTimeout?: number | null
  /** Each given variable replaces an existing one of its name, or is added. */
  environ?: { name: string; value: string }[]
  /** Merged like `environ`. A secret variable replaces a plain one of the same name, and the other way round. */
  secretEnviron?: SealedVariable[]
  /** Digest of an archive of the session's project. */
  codeSha256?: string
  priority?: number
  resourceGroup?: string
  /** Replaces the existing list; an empty list removes the restriction. */
  allowAgents?: string[]
  avoidAgents?: string[]
  excludeAgents?: string[]
  /** Applied field by field over the resolved policy. */
  retryPolicy?: Partial<RetryPolicy>
  /** The first new attempt starts without the checkpoint of earlier attempts. */
  freshCheckpoint?: boolean
}

/** The part of a session's spec that overrides can change. */
interface OverridableSpec extends Size {
  batchTimeout: number | null
  environ: { name: string; value: string }[]
  secretEnviron: SealedVariable[]
  codeSha256: string | null
  priority: number
  resourceGroup: string
  allowAgents: string[]
  avoidAgents: string[]
  excludeAgents: string[]
  avoidGroups: string[]
  retryPolicy: object & { maxRetries: number }
  retryPolicySources: Record<string, string>
}

/** Applies overrides. Returns the child's spec, or the reason why they cannot be applied to this session. */
export function applyOverrides(spec: OverridableSpec, overrides: ResubmissionOverrides): OverridableSpec | string {
  // A resubmission begins a new budget.
  const overridden = overridePolicy(spec, withTableBudget(overrides.retryPolicy ?? {}))
  if (typeof overridden === 'string') return overridden
  const { retryPolicySources } = overridden
  // An unchanged policy is kept as it is stored: attempts differ in their policies only where somebody changed them.
  const policy = overrides.retryPolicy
    ? { retryPolicySources, retryPolicy: statedPolicy(overridden.retryPolicy, retryPolicySources) }
    : { retryPolicySources: spec.retryPolicySources, retryPolicy: spec.retryPolicy }
  const { batchTimeout, priority, resourceGroup = spec.resourceGroup } = overrides
  const { allowAgents, avoidAgents, excludeAgents } = overrides
  const { resourceSlots, gpuNeed } = mergeSize(spec, overrides)
  if (Object.keys(resourceSlots).length > SLOTS_MAX) return `it would have more than ${SLOTS_MAX} resource slots`
  const environ = mergeEnviron(without(spec.environ, overrides.secretEnviron), overrides.environ)
  const secretEnviron = mergeSealed(without(spec.secretEnviron, overrides.environ), overrides.secretEnviron)
  if (environ.length + secretEnviron.length > ENVIRON_ENTRIES_MAX)
    return `it would have more than ${ENVIRON_ENTRIES_MAX} variables`
  // An environment that does not change is not checked here: its agent reports its faults.
  const changed = overrides.environ ? 'environ' : overrides.secretEnviron ? 'secretEnviron' : null
  const fault = changed === null ? null : environFault(environ, secretEnviron)
  if (fault !== null) return `overrides.${changed}: ${fault}`
  return {
    resourceSlots,
    gpuNeed,
    environ,
    secretEnviron,
    batchTimeout: batchTimeout === undefined ? spec.batchTimeout : batchTimeout,
    codeSha256: overrides.codeSha256 ?? spec.codeSha256,
    priority: priority ?? spec.priority,
    resourceGroup,
    allowAgents: allowAgents ?? spec.allowAgents,
    avoidAgents: avoidAgents ?? spec.avoidAgents,
    excludeAgents: excludeAgents ?? spec.excludeAgents,
    // A group that a person chose is no longer avoided.
    avoidGroups: overrides.resourceGroup ? spec.avoidGroups.filter((name) => name !== resourceGroup) : spec.avoidGroups,
    ...policy,
  }
}

type OverridablePolicy = Pick<OverridableSpec, 'retryPolicy' | 'retryPolicySources'>

/**
 * Applies the given fields to a stored policy, and the jitter of a table of delays. Returns the new policy, or the reason why the stored one cannot be read.
 */
export function overridePolicy(
  { retryPolicy, retryPolicySources }: { retryPolicy: unknown; retryPolicySources: Record<string, string> },
  given: Partial<RetryPolicy> = {},
): (OverridablePolicy & { retryPolicy: RetryPolicy }) | string {
  const stored = readStoredPolicy(retryPolicy)
  if (typeof stored === 'string') return stored
  const fields = exactTable(given)
  const changed = Object.fromEntries(Object.keys(fields).map((field) => [field, 'SESSION' satisfies PolicySource]))
  return { retryPolicy: { ...stored, ...fields }, retryPolicySources: { ...retryPolicySources, ...changed } }
}

interface ResubmittedParent {
  id: string
  chainId: string
  /** The creation id of the chain's first session; null if that session is gone. */
  chainCreationId: string | null
  attempt: number
  epoch: number
}

/**
 * Derives the fields of a resubmission's child that do not come from its parent: the budget starts again, the history
 * continues. `epochStartedAt` null means now.
 * @throws if a counter or the chain's creation id is missing or unreadable; no value is ever assumed
 */
export function deriveResubmission(parent: ResubmittedParent, cause: FailureCause | null) {
  const { chainCreationId, attempt, epoch } = parent
  if (chainCreationId === null) throw new Error(`the first session of chain ${parent.chainId} is missing`)
  if (!Number.isSafeInteger(attempt) || attempt < 1) throw new Error(`its attempt is ${attempt}`)
  if (!Number.isSafeInteger(epoch) || epoch < 0) throw new Error(`its epoch is ${epoch}`)
  return {
    parentSessionId: parent.id,
    chainId: parent.chainId,
    creationId: resubmissionCreationId(chainCreationId, epoch + 1),
    attempt: attempt + 1,
    retryCount: 0,
    uncountedRetries: 0,
    epoch: epoch + 1,
    epochStartedAt: null,
    origin: 'RESUBMISSION' as const,
    retryCause: cause,
  }
}

/** A session to resubmit, read while it is locked against other decisions. */
export interface ResubmissionTarget {
  id: string
  sessionType: SessionType
  status: SessionStatus
  result: SessionResult
  /** False if the session had not ended when the locks were taken. */
  locked: boolean
  childSessionId: string | null
  /** Milliseconds until all kernels are certain to be gone; 0 if they are. */
  parentAliveMs: number
}

export interface TargetRefusal {
  code: ErrorCode
  message: string
}

/**
 * Explains why a session cannot be resubmitted; null if it can. Only the finished last session of a chain can be, and
 * one that succeeded only on request.
 */
export function refuseTarget(target: ResubmissionTarget, includeSucceeded: boolean): TargetRefusal | null {
  const { id, sessionType, status, result, childSessionId, parentAliveMs } = target
  if (sessionType !== 'BATCH') return refusal('SESSION_NOT_BATCH', `session ${id} is ${sessionType}, not BATCH`)
  if (!isTerminal(status)) return refusal('SESSION_NOT_FINISHED', `session ${id} is ${status}`)
  if (!target.locked) return refusal('SESSION_NOT_FINISHED', `session ${id} has only just ended: try again`)
  if (result === 'SUCCESS' && !includeSucceeded) {
    return refusal('SESSION_SUCCEEDED', `session ${id} succeeded; includeSucceeded would run it again`)
  }
  if (childSessionId !== null) return hasChild(id, childSessionId)
  if (parentAliveMs > 0) {
    const seconds = Math.ceil(parentAliveMs / 1000)
    return refusal('SESSION_MAY_BE_ALIVE', `session ${id} may still run on a silent agent for ${seconds} s`)
  }
  return null
}

export function notFound(id: string): TargetRefusal {
  return refusal('SESSION_NOT_FOUND', `no session ${id}`)
}

export function hasChild(id: string, childId: string): TargetRefusal {
  return refusal('SESSION_HAS_CHILD', `session ${id} was retried or resubmitted as ${childId}`)
}

export function dependencyFailed(id: string, failedId: string): TargetRefusal {
  return refusal('DEPENDENCY_FAILED', `session ${id} depends on session ${failedId}, whose chain has failed`)
}

export function creationIdReused(creationId: string): TargetRefusal {
  return refusal('CREATION_ID_REUSED', `another session has the creation id ${creationId}`)
}

/** The newest session of a chain, and the chains that it waits for. */
export interface Dependent {
  id: string
  chainId: string
  dependsOn: readonly string[]
}

/**
 * Groups dependents into steps, so that each chain that a dependent waits for is in an earlier step, if it is among
 * these. Each step is sorted oldest first.
 */
export function dependentsInSteps<Each extends Dependent>(dependents: readonly Each[]): Each[][] {
  const steps: Each[][] = []
  let left = dependents.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  while (left.length > 0) {
    const open = new Set(left.map(({ chainId }) => chainId))
    const [ready, later] = partition(left, ({ dependsOn }) => !dependsOn.some((chainId) => open.has(chainId)))
    // Dependencies have no cycle: a session can depend only on sessions that existed before it.
    if (ready.length === 0) throw new Error(`chains depend on each other: ${[...open].join(', ')}`)
    steps.push(ready)
    left = later
  }
  return steps
}

export function partition<Each>(list: readonly Each[], wanted: (each: Each) => boolean): [Each[], Each[]] {
  const yes: Each[] = []
  const no: Each[] = []
  for (const each of list) (wanted(each) ? yes : no).push(each)
  return [yes, no]
}

/** The resources of a session. */
interface Size {
  resourceSlots: Record<string, string>
  gpuNeed: GpuNeed | null
}

/**
 * Each given slot replaces its value; 0 removes the slot. A session that gets conditions on its GPUs has one if nobody
 * gives their number, as if it was created with these conditions.
 */
export function mergeSize(
  before: Size,
  { resourceSlots: given, gpus }: Pick<ResubmissionOverrides, 'resourceSlots' | 'gpus'>,
): Size {
  const resourceSlots = mergeSlots(before.resourceSlots, given)
  if (gpus === undefined) return { resourceSlots, gpuNeed: before.gpuNeed }
  const gpuNeed = changeNeed(before.gpuNeed, gpus)
  const isCounted = GPU_SLOTS.some((slot) => resourceSlots[slot] !== undefined || given?.[slot] !== undefined)
  const asksForOne = gpuNeed !== null && !isCounted
  return { resourceSlots: asksForOne ? { ...resourceSlots, 'cuda.device': '1' } : resourceSlots, gpuNeed }
}

function mergeSlots(before: Record<string, string>, given: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries({ ...before, ...given }).filter(([slot]) => given[slot] !== '0'))
}

function without<Variable extends { name: string }>(
  variables: readonly Variable[],
  replaced: readonly { name: string }[] = [],
): Variable[] {
  const names = new Set(replaced.map(({ name }) => name))
  return variables.filter(({ name }) => !names.has(name))
}

/** Existing variables keep their positions; new ones come last. */
function mergeEnviron(before: OverridableSpec['environ'], given: OverridableSpec['environ'] = []) {
  const values = new Map(before.map(({ name, value }) => [name, value]))
  for (const { name, value } of given) values.set(name, value)
  return [...values].map(([name, value]) => ({ name, value }))
}

function refusal(code: ErrorCode, message: string): TargetRefusal {
  return { code, message }
}
