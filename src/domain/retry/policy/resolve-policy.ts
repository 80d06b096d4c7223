import { SHIPPED_POLICY, type RetryPolicy } from './policy.ts'

/** Strongest first. */
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
 * Resolves field by field: the strongest layer that gives a field wins, in whatever order the layers come. 0, false,
 * null and empty lists are given values; only undefined is not. `rules` is taken as a whole.
 */
export function resolvePolicy(layers: readonly PolicyLayer[]): ResolvedPolicy {
  const policy: RetryPolicy = { ...SHIPPED_POLICY }
  const sources = Object.fromEntries(POLICY_FIELDS.map((field) => [field, 'SHIPPED'])) as PolicySources
  for (const layer of weakestFirst(layers)) {
    for (const field of POLICY_FIELDS) {
      if (layer.policy?.[field] === undefined) continue
      Object.assign(policy, { [field]: layer.policy[field] })
      sources[field] = layer.source
    }
  }
  return { policy, sources }
}

/** The sources that a session stores: a field without one has its shipped default. */
export function statedSources(sources: PolicySources): Partial<PolicySources> {
  return Object.fromEntries(Object.entries(sources).filter(([, source]) => source !== 'SHIPPED'))
}

const POLICY_FIELDS = Object.keys(SHIPPED_POLICY) as (keyof RetryPolicy)[]

function weakestFirst(layers: readonly PolicyLayer[]): PolicyLayer[] {
  return layers.toSorted((a, b) => POLICY_SOURCES.indexOf(b.source) - POLICY_SOURCES.indexOf(a.source))
}
