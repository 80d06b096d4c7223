import { describe, expect, it } from 'vitest'
import { decideRetry, type DecidedSession } from '../../../src/domain/retry/decide.ts'
import type { RetryPolicy, RetryRule } from '../../../src/domain/retry/policy/policy.ts'
import type { ProgramVerdict } from '../../../src/domain/session/program-verdict.ts'
import { ENDED_AT, failedSession, policyOf } from './sessions.ts'

/** Decisions about an attempt that exited with 3 and said this. */
function decide(
  said: Partial<ProgramVerdict>,
  policy: Partial<RetryPolicy> = {},
  session: Partial<DecidedSession> = {},
) {
  const verdict = { reason: null, retry: null, delaySeconds: null, fault: null, ...said }
  const error = { name: 'kernel-exited', message: said.reason ?? 'exited with 3', exitCode: 3, verdict }
  const failed = failedSession({ exitCode: 3, statusReason: error.message, statusData: { error }, ...session })
  return decideRetry({ session: failed, policy: policyOf({ jitter: 'NONE', ...policy }), now: ENDED_AT, random: 0 })
}

const rule = (action: RetryRule['action']): Partial<RetryPolicy> => ({ rules: [{ match: {}, action }] })
const ineligible: Partial<RetryPolicy> = { eligibleCauses: [] }

describe('whether it is retried, and counted', () => {
  it.each([
    ['no', {}, 'NOT_ELIGIBLE', true],
    ['no', rule('RETRY'), 'NOT_ELIGIBLE', true],
    ['no', { ...rule('RETRY'), trustVerdicts: false }, 'SCHEDULED', true],
    ['yes', {}, 'SCHEDULED', true],
    ['yes', ineligible, 'SCHEDULED', true],
    ['yes', { ...ineligible, trustVerdicts: false }, 'NOT_ELIGIBLE', true],
    ['yes', rule('FAIL'), 'NOT_ELIGIBLE', true],
    ['yes', rule('RETRY_UNCOUNTED'), 'SCHEDULED', false],
    ['uncounted', {}, 'SCHEDULED', false],
    ['uncounted', ineligible, 'SCHEDULED', false],
    ['uncounted', { trustVerdicts: false }, 'SCHEDULED', true],
    ['uncounted', rule('RETRY'), 'SCHEDULED', true],
    ['uncounted', rule('FAIL'), 'NOT_ELIGIBLE', true],
    ['uncounted', { maxUncountedRetries: 0 }, 'EXHAUSTED', false],
    [null, ineligible, 'NOT_ELIGIBLE', true],
  ] as const)('%s with %o: %s, counted %s', (retry, policy, phase, counted) => {
    expect(decide({ retry }, policy)).toMatchObject({ phase, counted })
  })

  it.each(['yes', 'uncounted'] as const)('%s beats no cause that is never retried', (retry) => {
    const verdict = decide({ retry }, {}, { terminatedBy: 'ann', status: 'TERMINATED', result: 'UNDEFINED' })
    expect(verdict).toMatchObject({ phase: 'NOT_ELIGIBLE', cause: 'USER_CANCELLED' })
  })

  it('extends no budget', () => {
    const used = { retryCount: 3, maxRetries: 3 }
    expect(decide({ retry: 'yes' }, {}, used).phase).toBe('EXHAUSTED')
    expect(decide({ retry: 'yes' }, {}, { maxRetries: 0 }).phase).toBe('NONE')
    expect(decide({ retry: 'uncounted' }, { maxUncountedRetries: 2 }, { uncountedRetries: 2 }).phase).toBe('EXHAUSTED')
    expect(decide({ delaySeconds: 60 }, { maxElapsed: 50 }, { epochStartedAt: ENDED_AT }).phase).toBe('EXHAUSTED')
  })
})

describe('the delay that it asks for', () => {
  it.each([
    [30, {}, 30_000],
    [0, {}, 0],
    [30, { rules: [{ match: {}, action: 'RETRY', delay: 5 }] }, 30_000],
    [30, { trustVerdicts: false, retryDelay: 7 }, 7_000],
    [500, { maxRetryDelay: 100 }, 100_000],
    [86_400, { maxRetryDelay: null }, 86_400_000],
  ] as const)('%d s with %o: %d ms', (delaySeconds, policy, delayMs) => {
    expect(decide({ delaySeconds }, policy as Partial<RetryPolicy>)).toMatchObject({ phase: 'SCHEDULED', delayMs })
  })
})

describe('the reason', () => {
  it.each([true, false])('is matched by rules (trustVerdicts %s)', (trustVerdicts) => {
    const rules: RetryRule[] = [{ match: { reason: 'license*' }, action: 'FAIL' }]
    expect(decide({ reason: 'license expired' }, { rules, trustVerdicts })).toMatchObject({ matchedRule: 0 })
    expect(decide({ reason: 'disk full' }, { rules, trustVerdicts })).toMatchObject({ matchedRule: null })
  })
})

it.each([
  [
    { reason: 'busy', retry: 'uncounted', delaySeconds: 30 },
    {},
    'uncounted retry 1 of 10: exit code 3 (busy); its program asks for an uncounted retry after 30 s; waits 30 s',
  ],
  [{ retry: 'no' }, {}, 'not retried: exit code 3; its program asks for no retry'],
  [
    { retry: 'no' },
    { trustVerdicts: false },
    'retry 1 of 3: exit code 3; its program asks for no retry, which trustVerdicts ignores; waits 60 s',
  ],
  [
    { fault: 'it is not JSON' },
    {},
    'retry 1 of 3: exit code 3; its verdict file cannot be used: it is not JSON; waits 60 s',
  ],
] as const)('%o with %o is explained', (said, policy, explanation) => {
  expect(decide(said, policy, { maxRetries: 3 }).explanation).toBe(explanation)
})
