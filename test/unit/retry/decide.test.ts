import { describe, expect, it } from 'vitest'
import { retryEnvironment } from '../../../src/domain/retry/child.ts'
import { type DecidedSession, decideRetry } from '../../../src/domain/retry/decide.ts'
import type { RetryPolicy } from '../../../src/domain/retry/policy/policy.ts'
import { retryState } from '../../../src/domain/retry/retry-state.ts'
import { HOLD_REASONS, NEVER_RETRIED_CAUSES } from '../../../src/domain/session/failure.ts'
import { ENDED_AT, failedSession, policyOf } from './sessions.ts'

describe('decisions', () => {
  function decide(session: Partial<DecidedSession> = {}, policy: Partial<RetryPolicy> = {}, random = 0) {
    return decideRetry({ session: failedSession(session), policy: policyOf(policy), now: ENDED_AT, random })
  }

  function failedWith(name: string): Partial<DecidedSession> {
    return { statusData: { error: { name, message: 'm' } }, exitCode: null, statusReason: 'm' }
  }

  const NOTHING_PLANNED = { baseMs: null, jitterMs: null, delayMs: null, dueAt: null, growth: null }

  describe('success', () => {
    it('of a first attempt makes no event', () => {
      expect(decide({ result: 'SUCCESS', status: 'TERMINATED' })).toMatchObject({
        phase: 'SUCCEEDED',
        cause: null,
        emit: null,
      })
    })

    it('of a retry is used, also if the budget is 0 by now', () => {
      const retried = { result: 'SUCCESS', origin: 'AUTO_RETRY', maxRetries: 0 } as const
      expect(decide(retried)).toMatchObject({ phase: 'SUCCEEDED', emit: 'session.retry_succeeded' })
      expect(decide(retried, { emitRetryEvents: false })).toMatchObject({ phase: 'SUCCEEDED', emit: null })
    })

    it('of a resubmission is no success of a retry', () => {
      expect(decide({ result: 'SUCCESS', origin: 'RESUBMISSION' }).emit).toBeNull()
    })
  })

  describe('no budget from the start', () => {
    it.each([
      ['a failure', {}, 'KERNEL_NONZERO_EXIT'],
      ['a person', { terminatedBy: 'ann', status: 'TERMINATED', result: 'UNDEFINED' }, 'USER_CANCELLED'],
      ['nobody knows', { statusData: null }, null],
    ] as const)('is NONE without an event: %s', (_, session, cause) => {
      const verdict = decide({ ...session, maxRetries: 0 })
      expect(verdict).toMatchObject({ phase: 'NONE', cause, emit: null, ...NOTHING_PLANNED })
      expect(verdict.explanation).toMatch(/maxRetries is 0/)
    })

    it('is the same for sessions that are not BATCH', () => {
      expect(decide({ sessionType: 'INTERACTIVE' })).toMatchObject({ phase: 'NONE', cause: 'KERNEL_NONZERO_EXIT' })
    })
  })

  describe('not eligible', () => {
    it('a session that a person ended', () => {
      const verdict = decide({ terminatedBy: 'ann', status: 'TERMINATED', result: 'UNDEFINED' })
      expect(verdict).toMatchObject({ phase: 'NOT_ELIGIBLE', cause: 'USER_CANCELLED', emit: null, ...NOTHING_PLANNED })
      expect(verdict.explanation).toBe('not retried: ended by ann; a cancelled session is never retried')
    })

    it.each([
      ['oom-killed', 'used 2 GiB', 'out of memory (used 2 GiB)'],
      ['image-not-found', 'no such tag', 'image not found (no such tag)'],
      ['kernel-vanished', '', 'kernel vanished'],
      ['gremlins', 'bit a cable', 'unknown cause (gremlins: bit a cable)'],
    ])('explains %s in words', (name, message, words) => {
      const { explanation } = decide(
        { statusData: { error: { name, message } }, exitCode: null },
        { eligibleCauses: [] },
      )
      expect(explanation).toMatch(`not retried: ${words}; `)
      expect(explanation).not.toMatch(/[A-Z]{3}_/)
    })

    it.each(['user-cancelled', 'validation-failed', 'dependency-failed', 'quota-exceeded'])(
      '%s, though a rule has RETRY',
      (name) => {
        const rules = [{ match: { causes: [...NEVER_RETRIED_CAUSES] }, action: 'RETRY' as const }]
        expect(decide(failedWith(name), { rules })).toMatchObject({ phase: 'NOT_ELIGIBLE', matchedRule: null })
      },
    )

    it('a malformed envelope, though all causes are eligible', () => {
      const verdict = decide({ statusData: { error: 'oops' } })
      expect(verdict).toMatchObject({ phase: 'NOT_ELIGIBLE', cause: null })
      expect(verdict.explanation).toMatch(/without a readable reason: status data has no error/)
    })

    it('a failure of a FAIL rule', () => {
      const rules = [
        { match: { exitCodes: [2] }, action: 'RETRY' as const },
        { match: { exitCodes: [1] }, action: 'FAIL' as const },
      ]
      const verdict = decide({}, { rules })
      expect(verdict).toMatchObject({ phase: 'NOT_ELIGIBLE', matchedRule: 1, cause: 'KERNEL_NONZERO_EXIT' })
      expect(verdict.explanation).toBe('not retried: exit code 1; matched rules[1] (FAIL)')
    })

    it('a cause outside the eligible ones, unless a rule retries it', () => {
      const policy: Partial<RetryPolicy> = { eligibleCauses: ['OOM_KILLED'] }
      expect(decide({}, policy)).toMatchObject({ phase: 'NOT_ELIGIBLE', matchedRule: null })
      expect(decide({}, { ...policy, rules: [{ match: {}, action: 'RETRY' }] }).phase).toBe('SCHEDULED')
      expect(decide({}, { eligibleCauses: [] }).phase).toBe('NOT_ELIGIBLE')
    })

    it('before it is exhausted: the cause is judged first', () => {
      expect(decide({ retryCount: 3 }, { eligibleCauses: [] }).phase).toBe('NOT_ELIGIBLE')
    })

    it.each([[null], ['{}'], [{ maxRetries: 'many' }], [{ tomorrow: 1 }]])('with the stored policy %j', (policy) => {
      const verdict = decideRetry({ session: failedSession(), policy, now: ENDED_AT, random: 0 })
      expect(verdict).toMatchObject({ phase: 'NOT_ELIGIBLE', cause: 'KERNEL_NONZERO_EXIT' })
      expect(verdict.explanation).toMatch(/stored retry policy is not valid/)
    })
  })

  describe('budget', () => {
    const uncounted: RetryPolicy['rules'] = [{ match: {}, action: 'RETRY_UNCOUNTED' }]

    it('is used up', () => {
      const verdict = decide({ retryCount: 3 })
      expect(verdict).toMatchObject({
        phase: 'EXHAUSTED',
        emit: 'session.retry_exhausted',
        counted: true,
        ...NOTHING_PLANNED,
      })
      expect(verdict.explanation).toBe('retries exhausted: 3 of 3 retries used; exit code 1')
      expect(decide({ retryCount: 3 }, { emitRetryEvents: false })).toMatchObject({ phase: 'EXHAUSTED', emit: null })
    })

    it("is the session's, not the policy's", () => {
      expect(decide({ maxRetries: 1, retryCount: 1 }, { maxRetries: 9 }).phase).toBe('EXHAUSTED')
    })

    it('is not needed for an uncounted retry', () => {
      expect(decide({ retryCount: 3 }, { rules: uncounted })).toMatchObject({ phase: 'SCHEDULED', counted: false })
    })

    it('of uncounted retries has its own bound', () => {
      const policy = { rules: uncounted, maxUncountedRetries: 2 }
      expect(decide({ uncountedRetries: 1 }, policy).explanation).toMatch(/^uncounted retry 2 of 2: /)
      const verdict = decide({ uncountedRetries: 2 }, policy)
      expect(verdict).toMatchObject({ phase: 'EXHAUSTED', counted: false, matchedRule: 0 })
      expect(verdict.explanation).toMatch(/2 of 2 uncounted retries used/)
      expect(decide({}, { rules: uncounted, maxUncountedRetries: 0 }).phase).toBe('EXHAUSTED')
    })

    it.each([
      [false, null, false],
      [false, ENDED_AT, true],
      [true, null, true],
    ])('countPreStartFailures %s and started at %s: counted %s', (countPreStartFailures, startedAt, counted) => {
      expect(decide({ startedAt }, { countPreStartFailures })).toMatchObject({ phase: 'SCHEDULED', counted })
    })

    it('ends maxElapsed after the first attempt of the epoch, to the millisecond', () => {
      // 120 s have passed, the delay is 60 s.
      expect(decide({}, { maxElapsed: 180 }).phase).toBe('SCHEDULED')
      const late = decide({}, { maxElapsed: 179.999 })
      expect(late).toMatchObject({ phase: 'EXHAUSTED', emit: 'session.retry_exhausted', dueAt: null })
      expect(late.explanation).toMatch(/later than 179.999 s/)
    })
  })

  describe('scheduled', () => {
    it('is due after the delay, with its explanation', () => {
      expect(decide({ retryCount: 1, attempt: 2 }, { backoff: 'EXPONENTIAL' })).toEqual({
        phase: 'SCHEDULED',
        cause: 'KERNEL_NONZERO_EXIT',
        matchedRule: null,
        counted: true,
        baseMs: 120_000,
        jitterMs: 0,
        delayMs: 120_000,
        dueAt: new Date(ENDED_AT.getTime() + 120_000),
        explanation: 'retry 2 of 3: exit code 1; waits 120 s',
        growth: null,
        avoid: { agents: [], groups: [] },
        exclude: { agents: [] },
        emit: 'session.retry_scheduled',
      })
      expect(decide({}, { emitRetryEvents: false })).toMatchObject({ phase: 'SCHEDULED', emit: null })
    })

    it('explains rule, growth and jitter', () => {
      const rules: RetryPolicy['rules'] = [
        {
          match: { exitCodes: [137] },
          action: 'RETRY',
          delay: 61.2,
          scaleResources: [{ slot: 'mem', factor: 1.3, max: '8589934592' }],
          scaleTimeout: { factor: 1.5 },
          avoid: 'AGENT',
        },
      ]
      const verdict = decide({ exitCode: 137 }, { rules, jitter: 'RANDOM' }, 0.5)
      expect(verdict).toMatchObject({
        baseMs: 61_200,
        jitterMs: 7650,
        matchedRule: 0,
        growth: { resourceSlots: { cpu: '1', mem: '2791728742' }, batchTimeout: 90 },
        avoid: { agents: ['agent-a'], groups: [] },
      })
      expect(verdict.explanation).toBe(
        'retry 1 of 3: exit code 137 matched rules[0] (RETRY); mem 2 GiB → 2.6 GiB, timeout 60 s → 90 s; ' +
          'avoids agent agent-a; waits 68.85 s = 61.2 s + 7.65 s jitter',
      )
    })

    it.each([
      [599.9, 'waits 599.9 s'],
      [600, 'waits 10 min'],
      [3_600, 'waits 1 h'],
      [5_400.4, 'waits 1 h 30 min 0.4 s'],
      [86_400, 'waits 24 h'],
    ])('explains a delay of %d s as people say it', (delay, words) => {
      const rules: RetryPolicy['rules'] = [{ match: {}, action: 'RETRY', delay }]
      expect(decide({}, { rules, maxRetryDelay: null }).explanation).toMatch(new RegExp(`; ${words}$`))
    })

    it.each([
      [0, 'waits 20 s (delays[0])'],
      [5, 'waits 10 min (delays[1])'],
    ])('explains the delay of a table after %d retries', (retryCount, words) => {
      const table = { delays: [20, 600], maxRetries: 9 }
      expect(decide({ retryCount, maxRetries: 9 }, table).explanation).toMatch(new RegExp(`; ${escaped(words)}$`))
      const rules: RetryPolicy['rules'] = [{ match: {}, action: 'RETRY', delay: 7 }]
      expect(decide({ retryCount, maxRetries: 9 }, { ...table, rules }).explanation).toMatch(/; waits 7 s$/)
    })

    const escaped = (text: string) => text.replaceAll(/[[\]()]/g, String.raw`\$&`)

    it('may exclude the agents that failed, and reports that', () => {
      const rules: RetryPolicy['rules'] = [{ match: {}, action: 'RETRY', exclude: 'AGENT' }]
      const named = '01990000-0000-7000-8000-00000000000a'
      const error = { name: 'scheduler-timeout', message: 'm', agentId: named }
      const failed = { failedAgents: ['agent-a'], statusData: { error } }
      const verdict = decide(failed, { rules })
      expect(verdict).toMatchObject({ avoid: { agents: [], groups: [] }, exclude: { agents: ['agent-a', named] } })
      expect(verdict.explanation).toContain(`; excludes agent agent-a, ${named}; waits`)
      const agentNames = { 'agent-a': 'a1', [named]: 'a2' }
      expect(decide({ ...failed, agentNames }, { rules }).explanation).toContain('; excludes agent a1, a2; waits')
    })

    it('an avoided agent that fails once more is avoided again, whatever the rules', () => {
      const verdict = decide({ failedAgents: ['a', 'b'], avoidAgents: ['b', 'c'] }, {})
      expect(verdict).toMatchObject({ avoid: { agents: ['b'], groups: [] }, exclude: { agents: [] } })
    })

    it('has no growth where all is at its maximum, and may avoid the group', () => {
      const scaleResources = [{ slot: 'mem', factor: 2, max: '1' }]
      const rules: RetryPolicy['rules'] = [{ match: {}, action: 'RETRY', scaleResources, avoid: 'RESOURCE_GROUP' }]
      expect(decide({}, { rules })).toMatchObject({ growth: null, avoid: { agents: [], groups: ['default'] } })
    })

    it.each([
      ['agent-lost', 'AGENT_TRANSIENT', 'agent lost (m)'],
      ['image-pull-failed', 'IMAGE_PULL_FAILURE', 'image pull failed (m)'],
      ['never-heard-of', 'UNKNOWN', 'unknown cause (never-heard-of: m)'],
    ])('for %s', (name, cause, words) => {
      const verdict = decide(failedWith(name))
      expect(verdict).toMatchObject({ phase: 'SCHEDULED', cause })
      expect(verdict.explanation).toContain(words)
    })

    it('finds a batch timeout by its reason', () => {
      const timedOut = { ...failedWith('task-timeout'), statusReason: 'ran longer than 60 s', exitCode: 143 }
      const rules: RetryPolicy['rules'] = [
        { match: { reason: 'task-timeout' }, action: 'RETRY', scaleTimeout: { factor: 2 } },
      ]
      expect(decide(timedOut, { rules })).toMatchObject({ matchedRule: 0, growth: { batchTimeout: 120 } })
    })

    it('matches the exit code of the envelope where the session has none', () => {
      const rules: RetryPolicy['rules'] = [{ match: { exitCodes: [1] }, action: 'FAIL' }]
      expect(decide({ exitCode: null }, { rules }).matchedRule).toBe(0)
    })
  })
})

describe('the state of a retry', () => {
  const SESSION = { sessionType: 'BATCH', retryCount: 1, maxRetries: 3 } as const
  const DUE = new Date('2026-05-01T12:00:00Z')

  it.each([
    ['BATCH', 3, 'UNDECIDED'],
    ['BATCH', 0, 'NONE'],
    ['INTERACTIVE', 3, 'NONE'],
  ] as const)('without a decision a %s session with %s retries is %s', (sessionType, maxRetries, phase) => {
    expect(retryState({ sessionType, maxRetries, retryCount: 0 }, null)).toEqual({
      phase,
      attempt: 1,
      maxAttempts: phase === 'NONE' ? 1 : maxRetries + 1,
      label: `attempt 1 of ${phase === 'NONE' ? 1 : maxRetries + 1}`,
      reason: null,
      scheduledAt: null,
      delaySeconds: null,
    })
  })

  it('contains the decision', () => {
    const decision = {
      phase: 'SCHEDULED',
      explanation: 'why',
      holdReason: null,
      heldBy: null,
      delayMs: 75_300,
      dueAt: DUE,
    } as const
    expect(retryState(SESSION, decision)).toEqual({
      phase: 'SCHEDULED',
      attempt: 2,
      maxAttempts: 4,
      label: 'attempt 2 of 4',
      reason: 'why',
      scheduledAt: DUE,
      delaySeconds: 75.3,
    })
  })

  it.each(HOLD_REASONS)('contains the reason to hold it: %s', (holdReason) => {
    const decision = { phase: 'HELD', explanation: 'why', holdReason, heldBy: null, delayMs: 0, dueAt: DUE } as const
    expect(retryState(SESSION, decision)).toMatchObject({
      delaySeconds: 0,
      reason: expect.stringMatching(/^held: .+; why$/),
    })
  })

  it('has the chain of the kernels', () => {
    const first = {
      id: 's',
      chainId: 'c',
      sessionType: 'BATCH' as const,
      attempt: 1,
      retryCount: 0,
      maxRetries: 3,
      parentSessionId: null,
      retryCause: null,
      groupIndex: null,
      groupSize: null,
      lastProgress: null,
    }
    const retry = { attempt: 2, retryCount: 1, parentSessionId: 'p', retryCause: 'OOM_KILLED' } as const
    const child = { ...first, ...retry, groupIndex: 0, groupSize: 9, lastProgress: 'step 3/9' }
    const asObject = (session: Parameters<typeof retryEnvironment>[0]) =>
      Object.fromEntries(retryEnvironment(session).map(({ name, value }) => [name, value]))
    expect(asObject(child)).toEqual({
      REPRISE_SESSION_ID: 's',
      REPRISE_CHAIN_ID: 'c',
      REPRISE_ATTEMPT: '2',
      REPRISE_MAX_ATTEMPTS: '4',
      REPRISE_RETRY_COUNT: '1',
      REPRISE_RETRY_OF_BUDGET: '1 of 3',
      REPRISE_PARENT_SESSION_ID: 'p',
      REPRISE_RETRY_CAUSE: 'OOM_KILLED',
      REPRISE_INDEX: '0',
      REPRISE_GROUP_SIZE: '9',
      REPRISE_LAST_PROGRESS: 'step 3/9',
    })
    const empty = {
      REPRISE_PARENT_SESSION_ID: '',
      REPRISE_RETRY_CAUSE: '',
      REPRISE_INDEX: '',
      REPRISE_GROUP_SIZE: '',
      REPRISE_LAST_PROGRESS: '',
    }
    expect(asObject(first)).toMatchObject(empty)
  })

  it.each([
    ['a first attempt', {}, '1 of 4', '0 of 3'],
    ['a retry', { attempt: 3, retryCount: 2 }, '3 of 4', '2 of 3'],
    ['a resubmission', { attempt: 3, retryCount: 0, maxRetries: 1 }, '3 of 4', '0 of 1'],
    ['uncounted retries', { attempt: 9, retryCount: 1 }, '9 of 11', '1 of 3'],
    ['a budget that has shrunk', { attempt: 5, retryCount: 4, maxRetries: 2 }, '5 of 5', '4 of 2'],
    ['one that is never retried', { sessionType: 'INTERACTIVE' }, '1 of 1', '0 of 0'],
  ] as const)('does not contradict itself: %s', (_, given, position, budget) => {
    const session = { id: 's', chainId: 'c', attempt: 1, retryCount: 0, maxRetries: 3, parentSessionId: null }
    const alone = {
      sessionType: 'BATCH',
      retryCause: null,
      groupIndex: null,
      groupSize: null,
      lastProgress: null,
    } as const
    const environ = retryEnvironment({ ...session, ...alone, ...given })
    const value = (name: string) => environ.find((variable) => variable.name === name)?.value
    expect(`${value('REPRISE_ATTEMPT')} of ${value('REPRISE_MAX_ATTEMPTS')}`).toBe(position)
    expect(value('REPRISE_RETRY_OF_BUDGET')).toBe(budget)
  })

  it.each(['INTERACTIVE', 'INFERENCE'] as const)('%s sessions have one attempt, whatever they inherit', (type) => {
    const state = retryState({ sessionType: type, retryCount: 0, maxRetries: 3 }, null)
    expect(state).toMatchObject({ phase: 'NONE', maxAttempts: 1, label: 'attempt 1 of 1' })
  })
})
