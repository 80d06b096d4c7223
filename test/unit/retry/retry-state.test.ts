import { expect, it } from 'vitest'
import { HOLD_REASONS } from '../../../src/domain/session/failure.ts'
import { retryEnvironment } from '../../../src/domain/retry/child.ts'
import { retryState } from '../../../src/domain/retry/retry-state.ts'

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

it('says what was decided', () => {
  const decision = { phase: 'SCHEDULED', explanation: 'why', holdReason: null, delayMs: 75_300, dueAt: DUE } as const
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

it.each(HOLD_REASONS)('says why it is held: %s', (holdReason) => {
  const decision = { phase: 'HELD', explanation: 'why', holdReason, delayMs: 0, dueAt: DUE } as const
  expect(retryState(SESSION, decision)).toMatchObject({
    delaySeconds: 0,
    reason: expect.stringMatching(/^held: .+; why$/),
  })
})

it('tells the kernels about their chain', () => {
  const first = {
    id: 's',
    chainId: 'c',
    sessionType: 'BATCH' as const,
    attempt: 1,
    retryCount: 0,
    maxRetries: 3,
    parentSessionId: null,
    retryCause: null,
  }
  const child = { ...first, attempt: 2, retryCount: 1, parentSessionId: 'p', retryCause: 'OOM_KILLED' } as const
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
  })
  expect(asObject(first)).toMatchObject({ REPRISE_PARENT_SESSION_ID: '', REPRISE_RETRY_CAUSE: '' })
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
  const environ = retryEnvironment({ ...session, sessionType: 'BATCH', retryCause: null, ...given })
  const value = (name: string) => environ.find((variable) => variable.name === name)?.value
  expect(`${value('REPRISE_ATTEMPT')} of ${value('REPRISE_MAX_ATTEMPTS')}`).toBe(position)
  expect(value('REPRISE_RETRY_OF_BUDGET')).toBe(budget)
})

it.each(['INTERACTIVE', 'INFERENCE'] as const)('%s sessions have one attempt, whatever they inherit', (sessionType) => {
  const state = retryState({ sessionType, retryCount: 0, maxRetries: 3 }, null)
  expect(state).toMatchObject({ phase: 'NONE', maxAttempts: 1, label: 'attempt 1 of 1' })
})
