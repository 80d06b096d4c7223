import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AGENTS_NAMED_MAX } from '../../../src/domain/limits.ts'
import { deriveChild, type RetriedParent } from '../../../src/domain/retry/child.ts'
import {
  isClientsCreationId,
  resubmissionCreationId,
  retryCreationId,
} from '../../../src/domain/session/session-spec.ts'
import { type DecidedSession, decideRetry } from '../../../src/domain/retry/decide.ts'
import { anyFailure, anyPolicy, ENDED_AT, failedSession } from './sessions.ts'
import { checkProperty } from '../../support/seeds.ts'

const PARENT: RetriedParent = {
  id: 'parent',
  chainId: 'chain',
  chainCreationId: 'nightly',
  attempt: 4,
  retryCount: 1,
  uncountedRetries: 2,
  epoch: 1,
  epochStartedAt: ENDED_AT,
  resourceSlots: { cpu: '1' },
  batchTimeout: 60,
  resourceGroup: 'x',
  avoidAgents: ['a'],
  excludeAgents: ['e'],
  avoidGroups: ['g'],
}
const PLAIN = { cause: 'OOM_KILLED', counted: true, growth: null, avoid: { agents: [], groups: [] } } as const
const AVOIDING = { agents: ['a', 'b'], groups: ['h'] }

it('a counted child has one retry more and the rest of its parent', () => {
  expect(deriveChild(PARENT, { ...PLAIN, avoid: { agents: [], groups: [] } })).toEqual({
    parentSessionId: 'parent',
    chainId: 'chain',
    creationId: 'nightly:retry:4',
    attempt: 5,
    retryCount: 2,
    uncountedRetries: 2,
    epoch: 1,
    epochStartedAt: ENDED_AT,
    origin: 'AUTO_RETRY',
    retryCause: 'OOM_KILLED',
    resourceSlots: { cpu: '1' },
    batchTimeout: 60,
    avoidAgents: ['a'],
    excludeAgents: ['e'],
    avoidGroups: ['g'],
  })
})

it('an uncounted child keeps the count; growth replaces, avoidance adds up', () => {
  const growth = { resourceSlots: { cpu: '2' }, batchTimeout: null }
  expect(deriveChild(PARENT, { ...PLAIN, counted: false, growth, avoid: AVOIDING })).toMatchObject({
    retryCount: 1,
    uncountedRetries: 3,
    resourceSlots: { cpu: '2' },
    batchTimeout: null,
    avoidAgents: ['a', 'b'],
    avoidGroups: ['g', 'h'],
  })
})

it('the place that failed last is the last to be chosen again', () => {
  const parent = { ...PARENT, resourceGroup: 'g', avoidAgents: ['a', 'b', 'c'], avoidGroups: ['g', 'h'] }
  const avoid = { agents: ['b', 'd'], groups: [] }
  expect(deriveChild(parent, { ...PLAIN, avoid, exclude: { agents: ['e', 'f'] } })).toMatchObject({
    avoidAgents: ['a', 'c', 'b', 'd'],
    excludeAgents: ['e', 'f'],
    avoidGroups: ['h', 'g'],
  })
})

it('the list of failed agents is bounded: the oldest are forgotten', () => {
  const avoidAgents = Array.from({ length: AGENTS_NAMED_MAX }, (_, n) => `agent ${n}`)
  const child = deriveChild({ ...PARENT, avoidAgents }, { ...PLAIN, avoid: { agents: ['b'], groups: [] } })
  expect(child.avoidAgents).toEqual([...avoidAgents.slice(1), 'b'])
})

it('the second attempt is the first retry', () => {
  expect(retryCreationId('nightly', 2)).toBe('nightly:retry:1')
})

it('no client can choose what the server may derive', () => {
  checkProperty(
    fc.property(fc.string(), fc.integer({ min: 2 }), (root, number) => {
      expect(isClientsCreationId(retryCreationId(root, number))).toBe(false)
      expect(isClientsCreationId(resubmissionCreationId(root, number))).toBe(false)
    }),
  )
  for (const own of ['nightly', 'nightly:retry', 'retry:1x', 'a:retry:1:b', 'retry-1', ':retries:1']) {
    expect(isClientsCreationId(own)).toBe(true)
  }
})

it('whatever fails how often: attempts never pass the maximum, and every chain ends', () => {
  checkProperty(
    fc.property(anyPolicy, fc.infiniteStream(anyFailure), fc.double({ min: 0, max: 0.99, noNaN: true }), runChain),
    { numRuns: 300 },
  )
})

function runChain(policy: object, failures: Stream, random: number) {
  const { maxRetries, maxUncountedRetries } = policy as { maxRetries: number; maxUncountedRetries: number }
  let session = failedSession({ ...failures.next().value, maxRetries })
  let now = ENDED_AT
  for (let attempts = 1; ; attempts++) {
    expect(attempts).toBeLessThanOrEqual(1 + maxRetries + maxUncountedRetries)
    expect(session.retryCount).toBeLessThanOrEqual(maxRetries)
    expect(session.uncountedRetries).toBeLessThanOrEqual(maxUncountedRetries)
    const verdict = decideRetry({ session, policy, now, random })
    expect(verdict.explanation).not.toBe('')
    if (verdict.phase !== 'SCHEDULED') {
      expect(['NONE', 'NOT_ELIGIBLE', 'EXHAUSTED']).toContain(verdict.phase)
      return
    }
    const child = deriveChild({ ...PARENT, ...session }, verdict)
    expect(child.attempt).toBe(session.attempt + 1)
    expect(child.retryCount + child.uncountedRetries).toBe(session.retryCount + session.uncountedRetries + 1)
    session = failedSession({ ...failures.next().value, ...pickCounters(child), maxRetries })
    now = verdict.dueAt!
  }
}

type Stream = fc.Stream<Partial<DecidedSession>>

function pickCounters(child: ReturnType<typeof deriveChild>): Partial<DecidedSession> {
  const { attempt, retryCount, uncountedRetries, epochStartedAt, origin } = child
  return { attempt, retryCount, uncountedRetries, epochStartedAt, origin }
}
