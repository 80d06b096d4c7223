import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AGENTS_NAMED_MAX } from '../../../src/domain/limits.ts'
import { deriveChild, type RetriedParent } from '../../../src/domain/retry/child.ts'
import { type DecidedSession, decideRetry } from '../../../src/domain/retry/decide.ts'
import { type PreviewedSession, type PreviewInput, previewRetries } from '../../../src/domain/retry/preview.ts'
import type { ChildSize } from '../../../src/domain/retry/verdict.ts'
import {
  isClientsCreationId,
  resubmissionCreationId,
  retryCreationId,
} from '../../../src/domain/session/session-spec.ts'
import { checkProperty } from '../../support/seeds.ts'
import { anyFailure, anyPolicy, ENDED_AT, failedSession, policyOf } from './sessions.ts'

describe('retries of a chain', () => {
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
    gpuNeed: { model: 'a100', memoryBytes: null },
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
      gpuNeed: { model: 'a100', memoryBytes: null },
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

  it('a child has the GPU memory to which it grew; a decision of an older release leaves that of its parent', () => {
    const size = { resourceSlots: { cpu: '1' }, batchTimeout: null }
    const child = (growth: ChildSize) => deriveChild(PARENT, { ...PLAIN, growth, avoid: AVOIDING })
    const gpuNeed = { model: 'a100', memoryBytes: 80 * 2 ** 30 }
    expect(child({ ...size, gpuNeed })).toMatchObject({ gpuNeed })
    expect(child({ ...size, gpuNeed: null })).toMatchObject({ gpuNeed: null })
    expect(child(size)).toMatchObject({ gpuNeed: PARENT.gpuNeed })
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

  it('no client can choose an id that the server may derive', () => {
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
})

describe('previews', () => {
  function preview(given: Partial<PreviewInput> = {}) {
    return previewRetries({ policy: policyOf(), cause: null, exitCode: null, session: null, ...given })
  }

  const SESSION = {
    id: '0190b5a4-7c1e-7d3a-9f42-1c2d3e4f5a6b',
    retryCount: 1,
    uncountedRetries: 0,
    statusReason: null,
    delayBeforeMs: null,
    resourceSlots: { memory: '2000' },
    batchTimeout: null,
    gpuNeed: null,
    hadGpuMemoryBytes: null,
    peakMemoryBytes: null,
    failureName: null,
  }

  it('plans each retry with its delay and the sum so far', () => {
    const { eligible, schedule } = preview({ policy: policyOf({ backoff: 'EXPONENTIAL', retryDelay: 10 }) })
    expect(eligible).toBe(true)
    expect(schedule).toEqual(
      [10, 20, 40].map((seconds, index) => ({
        retry: index + 1,
        delaySeconds: seconds,
        earliestSeconds: seconds,
        latestSeconds: seconds,
        elapsedSeconds: [10, 30, 70][index],
        resourceSlots: {},
        batchTimeout: null,
        gpuMemoryBytes: null,
      })),
    )
  })

  it('gives the range where the jitter is not known yet', () => {
    const { schedule } = preview({ policy: policyOf({ jitter: 'RANDOM' }) })
    expect(schedule[0]).toMatchObject({ delaySeconds: 60, earliestSeconds: 60, latestSeconds: 75 })
  })

  it('continues at the present state of a session, with its own jitter for the next retry', () => {
    const { schedule } = preview({ policy: policyOf({ jitter: 'DETERMINISTIC' }), session: SESSION })
    expect(schedule.map(({ retry, delaySeconds }) => [retry, delaySeconds])).toEqual([
      [2, 62.089],
      [3, 60],
    ])
  })

  it('grows by the rule that matches', () => {
    const scaleResources = [{ slot: 'memory', factor: 1.3, max: '3000' }]
    const policy = policyOf({ rules: [{ match: { exitCodes: [195] }, action: 'RETRY', delay: 5, scaleResources }] })
    const { schedule, explanation } = preview({ policy, exitCode: 195, session: SESSION })
    expect(schedule.map((retry) => [retry.delaySeconds, retry.resourceSlots['memory']])).toEqual([
      [5, '2600'],
      [5, '3000'],
    ])
    expect(explanation).toBe('2 retries by rules[0] (RETRY)')
  })

  it('gives the range of the drawn delay as a whole', () => {
    const bounds = (jitter: 'FULL' | 'DECORRELATED', session: PreviewInput['session'] = null) =>
      preview({
        policy: policyOf({ jitter, backoff: 'EXPONENTIAL', retryDelay: 10, maxRetryDelay: 200 }),
        session,
      }).schedule.map(({ delaySeconds, earliestSeconds, latestSeconds }) => [
        delaySeconds,
        earliestSeconds,
        latestSeconds,
      ])
    expect(bounds('FULL')).toEqual([
      [10, 0, 10],
      [20, 0, 20],
      [40, 0, 40],
    ])
    expect(bounds('DECORRELATED')).toEqual([
      [10, 10, 30],
      [10, 10, 90],
      [10, 10, 200],
    ])
    expect(bounds('DECORRELATED', { ...SESSION, delayBeforeMs: 40_000 })[0]).toEqual([10, 10, 120])
  })

  it('shows the batch timeout that each retry would have', () => {
    const rules = [
      { match: { exitCodes: ['190-199'] }, action: 'RETRY' as const, scaleTimeout: { factor: 2, max: 300 } },
    ]
    const { schedule } = preview({
      policy: policyOf({ rules }),
      exitCode: 195,
      session: { ...SESSION, batchTimeout: 100 },
    })
    expect(schedule.map(({ batchTimeout }) => batchTimeout)).toEqual([200, 300])
  })

  it('shows the GPU memory that each retry would ask for, from what the session had', () => {
    const rules = [{ match: {}, action: 'RETRY' as const, scaleGpuMemory: { factor: 1.5, max: '300' } }]
    const memory = (session: Partial<PreviewedSession>, policy = policyOf({ rules })) =>
      preview({
        policy,
        session: { ...SESSION, retryCount: 0, resourceSlots: { 'cuda.device': '1' }, ...session },
      }).schedule.map(({ gpuMemoryBytes }) => gpuMemoryBytes)
    expect(memory({ gpuNeed: { model: null, memoryBytes: 100 }, hadGpuMemoryBytes: 80 })).toEqual([150, 225, 300])
    expect(memory({ hadGpuMemoryBytes: 200 })).toEqual([300, 300, 300])
    expect(memory({})).toEqual([null, null, null])
    expect(memory({ hadGpuMemoryBytes: 200 }, policyOf())).toEqual([null, null, null])
  })

  it('starts from the peak of the attempt that failed, and then from what the retry before would have', () => {
    const scaleResources = [{ slot: 'mem', from: 'PEAK' as const, factor: 2 }]
    const rules = [{ match: {}, action: 'RETRY' as const, scaleResources }]
    const session = { ...SESSION, retryCount: 0, resourceSlots: { mem: '100' }, peakMemoryBytes: 60 }
    const { schedule } = preview({ policy: policyOf({ rules }), session })
    expect(schedule.map(({ resourceSlots }) => resourceSlots['mem'])).toEqual(['120', '240', '480'])
  })

  it('lets timeouts grow only if the session timed out, and nothing if it was preempted', () => {
    const scaleResources = [{ slot: 'mem', factor: 2 }]
    const rules = [{ match: {}, action: 'RETRY' as const, scaleResources, scaleTimeout: { factor: 2 } }]
    const second = (failureName: string, cause: PreviewInput['cause'] = null) => {
      const session = { ...SESSION, retryCount: 1, resourceSlots: { mem: '100' }, batchTimeout: 60, failureName }
      const { batchTimeout, resourceSlots } = preview({ policy: policyOf({ rules }), session, cause }).schedule[1]!
      return [batchTimeout, resourceSlots['mem']]
    }
    expect(second('task-timeout')).toEqual([240, '400'])
    expect(second('task-timeout', 'OOM_KILLED')).toEqual([60, '400'])
    expect(second('kernel-exited')).toEqual([60, '400'])
    expect(second('preempted')).toEqual([60, '100'])
  })

  it('follows a table of delays, whose last entry repeats', () => {
    const { schedule, explanation } = preview({ policy: policyOf({ delays: [20, 300], jitter: 'NONE' }) })
    expect(schedule.map(({ delaySeconds }) => delaySeconds)).toEqual([20, 300, 300])
    expect(explanation).toBe('3 retries by the eligible causes, after the delays of the table')
    const rules = [{ match: {}, action: 'RETRY' as const, delay: 7 }]
    const byRule = preview({ policy: policyOf({ delays: [20, 300], rules }) })
    expect(byRule.schedule.map(({ delaySeconds }) => delaySeconds)).toEqual([7, 7, 7])
    expect(byRule.explanation).not.toContain('table')
  })

  it('plans uncounted retries by their own bound, at the same delay', () => {
    const rules = [{ match: {}, action: 'RETRY_UNCOUNTED' as const }]
    const { schedule } = preview({ policy: policyOf({ rules, maxUncountedRetries: 4, backoff: 'EXPONENTIAL' }) })
    expect(schedule.map((retry) => retry.elapsedSeconds)).toEqual([60, 120, 180, 240])
  })

  it('stops at maxElapsed', () => {
    expect(preview({ policy: policyOf({ maxElapsed: 120 }) }).schedule).toHaveLength(2)
  })

  describe('plans nothing, with the reason', () => {
    it.each([
      ['maxRetries is 0', { policy: policyOf({ maxRetries: 0 }) }],
      ['a cancelled session is never retried', { cause: 'USER_CANCELLED' }],
      [
        'an unknown cause is not among the eligible causes',
        { policy: policyOf({ eligibleCauses: ['OOM_KILLED'] }), cause: 'UNKNOWN' },
      ],
      ['a failed program is not among', { policy: policyOf({ eligibleCauses: ['OOM_KILLED'] }), exitCode: 3 }],
      ['no cause is eligible', { policy: policyOf({ eligibleCauses: [] }) }],
      ['exit code 0 is a success', { exitCode: 0 }],
      ['matched rules[0] (FAIL)', { policy: policyOf({ rules: [{ match: {}, action: 'FAIL' }] }) }],
      ['the budget of 3 retries is used up', { session: { ...SESSION, retryCount: 3 } }],
      ['later than 59 s', { policy: policyOf({ maxElapsed: 59 }) }],
    ] as const)('%s', (reason, given) => {
      const answer = preview(given)
      expect(answer).toMatchObject({ eligible: false, schedule: [] })
      expect(answer.explanation).toContain(reason)
    })
  })
})
