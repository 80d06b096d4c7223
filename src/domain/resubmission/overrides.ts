import { environFault } from '../session/exec-bytes.ts'
import { mergeSealed, type SealedVariable } from '../session/sealed-variable.ts'
import { ENVIRON_ENTRIES_MAX, SLOTS_MAX } from '../limits.ts'
import type { RetryPolicy } from '../retry/policy/policy.ts'
import type { PolicySource } from '../retry/policy/resolve-policy.ts'
import { readStoredPolicy } from '../retry/policy/stored-policy.ts'

/** What a person changes in a resubmission; fields that are not given stay as they are. */
export interface ResubmissionOverrides {
  /** Exact decimals by slot; each given slot replaces its value, and 0 removes it. */
  resourceSlots?: Record<string, string>
  /** Seconds; null removes it. */
  batchTimeout?: number | null
  /** Each given variable replaces or joins the existing ones. */
  environ?: { name: string; value: string }[]
  /** Likewise. A variable of either kind replaces one of the other. */
  secretEnviron?: SealedVariable[]
  /** Of an archive that its project has. */
  codeSha256?: string
  priority?: number
  resourceGroup?: string
  /** Replaces the existing list; an empty list removes the restriction. */
  allowAgents?: string[]
  avoidAgents?: string[]
  excludeAgents?: string[]
  /** Applied field by field over the resolved policy. */
  retryPolicy?: Partial<RetryPolicy>
  /** The first new attempt starts without what earlier ones have left in their directory. */
  freshCheckpoint?: boolean
}

/** The part of a session's spec that overrides can change. */
export interface OverridableSpec {
  resourceSlots: Record<string, string>
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

/** The child's spec, or a description of why these overrides cannot be applied to this session. */
export function applyOverrides(spec: OverridableSpec, overrides: ResubmissionOverrides): OverridableSpec | string {
  const policy = overridePolicy(spec, overrides.retryPolicy)
  if (typeof policy === 'string') return policy
  const { batchTimeout, priority, resourceGroup = spec.resourceGroup } = overrides
  const { allowAgents, avoidAgents, excludeAgents } = overrides
  const resourceSlots = mergeSlots(spec.resourceSlots, overrides.resourceSlots)
  if (Object.keys(resourceSlots).length > SLOTS_MAX) return `it would have more than ${SLOTS_MAX} resource slots`
  const environ = mergeEnviron(without(spec.environ, overrides.secretEnviron), overrides.environ)
  const secretEnviron = mergeSealed(without(spec.secretEnviron, overrides.environ), overrides.secretEnviron)
  if (environ.length + secretEnviron.length > ENVIRON_ENTRIES_MAX)
    return `it would have more than ${ENVIRON_ENTRIES_MAX} variables`
  // As it was, it is for its agent to judge.
  const changed = overrides.environ ? 'environ' : overrides.secretEnviron ? 'secretEnviron' : null
  const fault = changed === null ? null : environFault(environ, secretEnviron)
  if (fault !== null) return `overrides.${changed}: ${fault}`
  return {
    resourceSlots,
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

type OverridablePolicy = Pick<OverridableSpec, 'retryPolicy' | 'retryPolicySources'>

/** The policy with the given fields in place of its own, or why it cannot be read. */
export function overridePolicy(
  { retryPolicy, retryPolicySources }: { retryPolicy: unknown; retryPolicySources: Record<string, string> },
  given: Partial<RetryPolicy> = {},
): (OverridablePolicy & { retryPolicy: RetryPolicy }) | string {
  const stored = readStoredPolicy(retryPolicy)
  if (typeof stored === 'string') return stored
  const changed = Object.fromEntries(Object.keys(given).map((field) => [field, 'SESSION' satisfies PolicySource]))
  return { retryPolicy: { ...stored, ...given }, retryPolicySources: { ...retryPolicySources, ...changed } }
}
