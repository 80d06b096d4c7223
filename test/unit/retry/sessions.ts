import fc from 'fast-check'
import { ELIGIBLE_CAUSES, FAILURE_CAUSES, FAILURE_NAMES } from '../../../src/domain/session/failure.ts'
import type { DecidedSession } from '../../../src/domain/retry/decide.ts'
import {
  AVOIDANCES,
  BACKOFFS,
  GROWTH_STARTS,
  JITTERS,
  type RetryPolicy,
  type RetryRule,
  RULE_ACTIONS,
  SHIPPED_POLICY,
} from '../../../src/domain/retry/policy/policy.ts'

export const ENDED_AT = new Date('2026-05-01T12:00:00.000Z')

/** A batch session that ran and exited with 1, with a budget of 3. */
export function failedSession(given: Partial<DecidedSession> = {}): DecidedSession {
  return {
    id: '0190b5a4-7c1e-7d3a-9f42-1c2d3e4f5a6b',
    status: 'ERROR',
    result: 'FAILURE',
    sessionType: 'BATCH',
    origin: 'INITIAL',
    retryCount: 0,
    uncountedRetries: 0,
    maxRetries: 3,
    attempt: 1,
    exitCode: 1,
    statusReason: 'kernel main1 exited with 1',
    statusData: { error: { name: 'kernel-exited', message: 'kernel main1 exited with 1', exitCode: 1 } },
    terminatedBy: null,
    startedAt: new Date('2026-05-01T11:59:00.000Z'),
    terminatedAt: ENDED_AT,
    epochStartedAt: new Date('2026-05-01T11:58:00.000Z'),
    delayBeforeMs: null,
    resourceSlots: { cpu: '1', mem: '2147483648' },
    batchTimeout: 60,
    gpuNeed: null,
    hadGpuMemoryBytes: null,
    peakMemoryBytes: null,
    failedAgents: ['agent-a'],
    avoidAgents: [],
    resourceGroup: 'default',
    ...given,
  }
}

export function policyOf(given: Partial<RetryPolicy> = {}): RetryPolicy {
  return { ...SHIPPED_POLICY, maxRetries: 3, jitter: 'NONE', ...given }
}

const seconds = fc.double({ min: 0.001, max: 1e7, noNaN: true })

const anyExitCodes = fc.constantFrom(0, 1, 2, 3, '0-1', '1-2', '2-300')

export const anyRule: fc.Arbitrary<RetryRule> = fc
  .record(
    {
      match: fc.record(
        {
          causes: fc.subarray([...FAILURE_CAUSES]),
          exitCodes: fc.array(anyExitCodes, { maxLength: 3 }),
          exitCodesNotIn: fc.array(anyExitCodes, { maxLength: 3 }),
          reason: fc.constantFrom('*', '*exited*', 'oom*', '?'),
        },
        { requiredKeys: [] },
      ),
      action: fc.constantFrom(...RULE_ACTIONS),
      delay: fc.double({ min: 0, max: 1e6, noNaN: true }),
      scaleResources: fc.uniqueArray(
        fc.record(
          {
            slot: fc.constantFrom('cpu', 'mem', 'gpu'),
            from: fc.constantFrom(...GROWTH_STARTS),
            factor: fc.double({ min: 0.1, max: 5, noNaN: true }),
          },
          { requiredKeys: ['slot', 'factor'] },
        ),
        { selector: ({ slot }) => slot },
      ),
      scaleGpuMemory: fc.record({ factor: fc.double({ min: 0.1, max: 5, noNaN: true }) }),
      scaleTimeout: fc.record({ factor: fc.double({ min: 0.1, max: 5, noNaN: true }) }),
      avoid: fc.constantFrom(...AVOIDANCES),
    },
    { requiredKeys: ['match', 'action'] },
  )
  .map(({ match, action, ...retry }) => (action === 'FAIL' ? { match, action } : { match, action, ...retry }))

export const anyPolicy: fc.Arbitrary<RetryPolicy> = fc.record({
  maxRetries: fc.integer({ min: 0, max: 6 }),
  delays: fc.option(fc.array(fc.double({ min: 0, max: 86_400, noNaN: true }), { minLength: 1, maxLength: 7 })),
  retryDelay: seconds,
  backoff: fc.constantFrom(...BACKOFFS),
  backoffMultiplier: fc.double({ min: 0.1, max: 100, noNaN: true }),
  maxRetryDelay: fc.option(seconds),
  jitter: fc.constantFrom(...JITTERS),
  jitterRatio: fc.double({ min: 0, max: 1, noNaN: true }),
  eligibleCauses: fc.subarray([...ELIGIBLE_CAUSES]),
  emitRetryEvents: fc.boolean(),
  maxElapsed: fc.option(fc.double({ min: 1, max: 1e6, noNaN: true })),
  countPreStartFailures: fc.boolean(),
  maxUncountedRetries: fc.integer({ min: 0, max: 6 }),
  trustVerdicts: fc.boolean(),
  checkpoint: fc.constantFrom('PREFER', 'REQUIRE', 'IGNORE'),
  checkpointWait: fc.integer({ min: 1, max: 1_000_000 }),
  pinImage: fc.boolean(),
  oomIsFailure: fc.boolean(),
  progressTimeout: fc.option(fc.integer({ min: 1, max: 86_400 })),
  rules: fc.array(anyRule, { maxLength: 4 }),
})

/** The ways in which an attempt fails. */
export const anyFailure: fc.Arbitrary<Partial<DecidedSession>> = fc
  .record({
    name: fc.constantFrom(...FAILURE_NAMES, 'something-new'),
    exitCode: fc.option(fc.integer({ min: 0, max: 3 })),
    started: fc.boolean(),
  })
  .map(({ name, exitCode, started }) => ({
    exitCode,
    statusReason: name,
    statusData: { error: { name, message: name } },
    startedAt: started ? ENDED_AT : null,
  }))
