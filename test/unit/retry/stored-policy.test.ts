import { describe, expect, it } from 'vitest'
import { SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import {
  type PolicyLayer,
  resolvePolicy,
  statedPolicy,
  statedSources,
} from '../../../src/domain/retry/policy/resolve-policy.ts'
import { readStoredPolicy, showStoredPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'

describe('a stored policy', () => {
  it('has shipped values for fields that came later', () => {
    expect(readStoredPolicy({ maxRetries: 2 })).toEqual({ ...SHIPPED_POLICY, maxRetries: 2 })
  })

  it('has what somebody stated, what differs from the shipped value, and the number of retries', () => {
    const given: PolicyLayer = { source: 'PROJECT', policy: { retryDelay: 60, progressTimeout: 5 } }
    const { policy, sources } = resolvePolicy([given])
    const stored = statedPolicy(policy, sources)
    expect(Object.keys(stored).toSorted()).toEqual(['eligibleCauses', 'maxRetries', 'progressTimeout', 'retryDelay'])
    expect(statedPolicy(policy, statedSources(sources))).toEqual(stored)
    expect(readStoredPolicy(stored)).toEqual(policy)
    expect(showStoredPolicy(stored, statedSources(sources))).toEqual({ policy, sources })
  })

  it('has the shipped values of its time: to change one, write the old one into the policies that lack the field', () => {
    expect(SHIPPED_POLICY).toEqual({
      maxRetries: 0,
      delays: null,
      retryDelay: 60,
      backoff: 'FIXED',
      backoffMultiplier: 2,
      maxRetryDelay: 3600,
      jitter: 'DETERMINISTIC',
      jitterRatio: 0.25,
      eligibleCauses: [
        'AGENT_TRANSIENT',
        'SCHEDULER_TIMEOUT',
        'IMAGE_PULL_FAILURE',
        'KERNEL_NONZERO_EXIT',
        'OOM_KILLED',
        'UNKNOWN',
      ],
      emitRetryEvents: true,
      maxElapsed: null,
      countPreStartFailures: true,
      maxUncountedRetries: 10,
      trustVerdicts: true,
      checkpoint: 'PREFER',
      checkpointWait: 3600,
      pinImage: true,
      oomIsFailure: true,
      progressTimeout: null,
      rules: [],
    })
  })

  it('reports its faults', () => {
    expect(readStoredPolicy({ jitterRatio: 2 })).toMatch(/not valid \(jitterRatio: /)
  })
})

describe('a stored policy is shown', () => {
  it('as it is, with the sources stored with it', () => {
    const { policy, sources } = resolvePolicy([{ source: 'PROJECT', policy: { maxRetries: 0, rules: [] } }])
    expect(showStoredPolicy(policy, sources)).toEqual({ policy, sources })
  })

  it('without its unreadable parts', () => {
    const stored = { maxRetries: 2, jitter: 'SOME', tomorrow: true, maxElapsed: null }
    const { policy, sources } = showStoredPolicy(stored, { maxRetries: 'DOMAIN', jitter: 'SESSION', maxElapsed: 'X' })
    expect(policy).toEqual({ ...SHIPPED_POLICY, maxRetries: 2 })
    expect(sources).toMatchObject({ maxRetries: 'DOMAIN', jitter: 'SHIPPED', maxElapsed: 'SHIPPED' })
  })

  it.each([[null], [[]], ['{}'], [7]])('as the shipped one where it is %j', (stored) => {
    const shown = showStoredPolicy(stored, null)
    expect(shown.policy).toEqual(SHIPPED_POLICY)
    expect(new Set(Object.values(shown.sources))).toEqual(new Set(['SHIPPED']))
  })
})
