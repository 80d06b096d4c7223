import { DEFAULT_CAUSES, ELIGIBLE_CAUSES, type EligibleCause } from '../../session/failure.ts'
import { type RetryPolicy, type RetryRule, SHIPPED_POLICY } from './policy.ts'

/** The scopes for which retry defaults and switches are set. */
export const RETRY_SCOPES = ['CLUSTER', 'DOMAIN', 'PROJECT'] as const
export type RetryScope = (typeof RETRY_SCOPES)[number]

/** The layers of a policy, strongest first. */
export const POLICY_SOURCES = ['SESSION', 'PROJECT', 'DOMAIN', 'CLUSTER', 'SHIPPED'] as const
export type PolicySource = (typeof POLICY_SOURCES)[number]
export type PolicySources = Record<keyof RetryPolicy, PolicySource>

export interface PolicyLayer {
  source: Exclude<PolicySource, 'SHIPPED'>
  policy: Partial<RetryPolicy> | null
}

export interface ResolvedPolicy {
  policy: RetryPolicy
  sources: PolicySources
}

/**
 * Resolves field by field: the strongest layer that gives a field wins, regardless of the order in which the layers are
 * passed. 0, false, null and empty lists are given values; only undefined is not. `rules` is taken as a whole. A layer
 * with a table of delays also gives the fields that follow from it.
 */
export function resolvePolicy(layers: readonly PolicyLayer[]): ResolvedPolicy {
  const policy: RetryPolicy = { ...SHIPPED_POLICY }
  const sources = Object.fromEntries(POLICY_FIELDS.map((field) => [field, 'SHIPPED'])) as PolicySources
  for (const layer of weakestFirst(layers)) {
    const given = layer.policy === null ? {} : withTableBudget(exactTable(layer.policy))
    for (const field of POLICY_FIELDS) {
      if (given[field] === undefined) continue
      Object.assign(policy, { [field]: given[field] })
      sources[field] = layer.source
    }
  }
  return withHung({ policy, sources })
}

/** A table of delays that is given without a jitter is followed exactly. */
export function exactTable(given: Partial<RetryPolicy>): Partial<RetryPolicy> {
  return given.delays == null || given.jitter !== undefined ? given : { ...given, jitter: 'NONE' }
}

/** A table of delays that is given without a budget allows as many retries as it has entries. */
export function withTableBudget(given: Partial<RetryPolicy>): Partial<RetryPolicy> {
  return given.delays == null || given.maxRetries !== undefined ? given : { ...given, maxRetries: given.delays.length }
}

/** Replaces the fields of a resolved policy that somebody gives for one session. */
export function overlayPolicy({ policy, sources }: ResolvedPolicy, given: Partial<RetryPolicy>): ResolvedPolicy {
  const changed = exactTable(given)
  const own = Object.keys(changed).map((field) => [field, 'SESSION'] as const)
  return withHung({
    policy: { ...policy, ...changed },
    sources: { ...sources, ...(Object.fromEntries(own) as PolicySources) },
  })
}

/** A policy with a `progressTimeout` also retries hung programs, unless it or the defaults list the causes. */
function withHung(resolved: ResolvedPolicy): ResolvedPolicy {
  const { policy, sources } = resolved
  if (sources.eligibleCauses !== 'SHIPPED') return resolved
  const eligibleCauses: EligibleCause[] = policy.progressTimeout === null ? DEFAULT_CAUSES : [...ELIGIBLE_CAUSES]
  return { policy: { ...policy, eligibleCauses }, sources }
}

/** Selects the sources that a session stores: a field without a stored source has its shipped default. */
export function statedSources(sources: PolicySources): Partial<PolicySources> {
  return Object.fromEntries(Object.entries(sources).filter(([, source]) => source !== 'SHIPPED'))
}

/** What a session stores of its policy. */
export type StatedPolicy = Partial<RetryPolicy> & Pick<RetryPolicy, 'maxRetries'>

/**
 * Selects the fields that a session stores: those that somebody stated, and `maxRetries`. The others have their shipped
 * default, which `readStoredPolicy` adds. A whole policy takes 600 of a session's 1,000 bytes, which PostgreSQL copies
 * with each move of the session.
 */
export function statedPolicy(policy: RetryPolicy, sources: Readonly<Partial<Record<string, string>>>): StatedPolicy {
  const isShipped = (field: keyof RetryPolicy) =>
    (sources[field] ?? 'SHIPPED') === 'SHIPPED' && isSame(policy[field], SHIPPED_POLICY[field])
  const stated = POLICY_FIELDS.filter((field) => field === 'maxRetries' || !isShipped(field))
  return Object.fromEntries(stated.map((field) => [field, policy[field]])) as StatedPolicy
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other)
}

const POLICY_FIELDS = Object.keys(SHIPPED_POLICY) as (keyof RetryPolicy)[]

function weakestFirst(layers: readonly PolicyLayer[]): PolicyLayer[] {
  return layers.toSorted((a, b) => POLICY_SOURCES.indexOf(b.source) - POLICY_SOURCES.indexOf(a.source))
}

/** Names of predefined policies. */
export const RETRY_POLICY_PRESETS = ['CMS_EXIT_CODES'] as const
export type RetryPolicyPreset = (typeof RETRY_POLICY_PRESETS)[number]

const MEMORY_BYTES_MAX = 7500 * 2 ** 20
const RUNTIME_SECONDS_MAX = 47 * 3600
const DELAY_SECONDS = 900

/**
 * Rules for the exit codes of CMS jobs. Removals by a watchdog come first: such a job would be removed again. Then come
 * the recoverable codes: the wrapper's long codes beside their low 8 bits, because a process can exit with these only.
 * Other codes are final; failures without an exit code are left to `eligibleCauses`.
 */
const CMS_RULES: RetryRule[] = [
  { match: { reason: 'Removed due to job being held*' }, action: 'RETRY' },
  { match: { reason: 'Removed due to memory use*' }, action: 'FAIL' },
  { match: { reason: 'Removed due to wall clock limit*' }, action: 'FAIL' },
  { match: { reason: '*CPU usage over limit*' }, action: 'FAIL' },
  { match: { reason: 'Removed due to disk usage*' }, action: 'FAIL' },
  { match: { reason: 'Removed due to idle time limit*' }, action: 'FAIL' },
  // The same removals, as agents report them.
  { match: { causes: ['OOM_KILLED'] }, action: 'FAIL' },
  { match: { reason: 'task-timeout' }, action: 'FAIL' },
  {
    match: { exitCodes: [50115, 195] },
    action: 'RETRY',
    delay: DELAY_SECONDS,
    scaleResources: [{ slot: 'mem', factor: 1.3, max: String(MEMORY_BYTES_MAX) }],
  },
  {
    match: { exitCodes: [60403, 243] },
    action: 'RETRY',
    delay: DELAY_SECONDS,
    scaleTimeout: { factor: 1.3, max: RUNTIME_SECONDS_MAX },
  },
  { match: { exitCodes: [8020, 84, 8021, 85] }, action: 'RETRY', delay: DELAY_SECONDS, avoid: 'RESOURCE_GROUP' },
  {
    match: {
      exitCodes: [1, 50513, 81, 137, 10034, 50, 10040, 56, 60307, 147, 60311, 151, 8028, 92, 8022, 86, 134, 8001, 65],
    },
    action: 'RETRY',
    delay: DELAY_SECONDS,
  },
  { match: { exitCodesNotIn: [0] }, action: 'FAIL' },
]

export const PRESETS: Readonly<Record<RetryPolicyPreset, Readonly<Partial<RetryPolicy>>>> = {
  CMS_EXIT_CODES: {
    // The source's budget of 10 counts attempts, including the first.
    maxRetries: 9,
    retryDelay: DELAY_SECONDS,
    backoff: 'FIXED',
    jitter: 'NONE',
    rules: CMS_RULES,
  },
}
