import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TRY_PAUSE_MAX_MS, TRY_PAUSE_MIN_MS } from '../../../src/domain/limits.ts'
import { judge, type Judged, type Outcome, tryPauseMs } from '../../../src/domain/session/judge.ts'
import {
  LIFECYCLE_HANDLERS,
  type LifecycleName,
  sessionMayMove,
  type SessionStatus,
  STATUSES,
} from '../../../src/domain/session/lifecycle.ts'
import { parseProgramVerdict, readProgramVerdict } from '../../../src/domain/session/program-verdict.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('judging a session', () => {
  const FAILURE: Outcome = { kind: 'failure', error: { name: 'executor-failed', message: 'm' } }

  function judgeOf(name: LifecycleName, given: Partial<Judged>, outcome?: Outcome) {
    const [status] = LIFECYCLE_HANDLERS[name].sessionIn
    const fresh = { status: status!, tries: 0, reschedules: 0, triesMax: 5, reschedulesMax: 3 }
    const session = { ...fresh, expired: false, pendingReason: null, kernels: [], ...given }
    return judge(LIFECYCLE_HANDLERS[name], session, outcome)
  }

  describe('success', () => {
    it('moves on and forgets the tries', () => {
      expect(judgeOf('schedule-sessions', { tries: 3 }, { kind: 'success' })).toMatchObject({
        to: 'SCHEDULED',
        tries: 0,
      })
    })

    it('of a session that is further already keeps its status and its tries', () => {
      const further = judgeOf('prepare-sessions', { status: 'PULLING', tries: 2 }, { kind: 'success' })
      expect(further).toMatchObject({ outcome: 'SUCCESS', to: 'PULLING', tries: 2 })
    })
  })

  describe('failure', () => {
    it('keeps the status and pauses until the tries are used up', () => {
      const kept = judgeOf('start-sessions', { tries: 3 }, FAILURE)
      expect(kept).toMatchObject({ outcome: 'NEED_RETRY', to: 'PREPARED', tries: 4, pauseMs: tryPauseMs(4) })
      expect(judgeOf('start-sessions', { tries: 4 }, FAILURE)).toMatchObject({
        outcome: 'GIVE_UP',
        to: 'PENDING',
        tries: 0,
      })
    })

    it('gives up at once where another try cannot help', () => {
      expect(judgeOf('prepare-sessions', {}, { ...FAILURE, giveUpNow: true })).toMatchObject({ outcome: 'GIVE_UP' })
    })

    it('ends instead of going back where no other agent is left', () => {
      const last = { ...FAILURE, giveUpNow: true, nowhereElse: true }
      expect(judgeOf('prepare-sessions', {}, last)).toMatchObject({ to: 'TERMINATING', result: 'FAILURE' })
      expect(judgeOf('prepare-sessions', {}, { ...last, giveUpNow: false })).toMatchObject({ outcome: 'NEED_RETRY' })
    })

    it('goes back to PENDING a bounded number of times, then ends with the last error', () => {
      expect(judgeOf('start-sessions', { tries: 4, reschedules: 2 }, FAILURE)).toMatchObject({ rescheduled: true })
      expect(judgeOf('start-sessions', { tries: 4, reschedules: 3 }, FAILURE)).toMatchObject({
        to: 'TERMINATING',
        result: 'FAILURE',
        rescheduled: false,
        error: { name: 'executor-failed' },
      })
    })

    it('ends a session that another scheduler has queued for too long, though it could go back', () => {
      const queuedTooLong = { reason: 'queued by Slurm: Priority', timeoutMs: 2_500 }
      expect(judgeOf('start-sessions', { status: 'CREATING', queuedTooLong })).toMatchObject({
        outcome: 'EXPIRED',
        to: 'TERMINATING',
        result: 'FAILURE',
        rescheduled: false,
        failedAgents: [],
        error: {
          name: 'scheduler-timeout',
          message:
            'waited longer than the 2.5 s that its resource group allows (queueTimeout): queued by Slurm: Priority',
        },
      })
    })

    it('does not go back once a kernel has ended', () => {
      const kernels = [{ status: 'TERMINATED', agentId: 'a', error: null, fencedInMs: 0 }] as const
      expect(judgeOf('start-sessions', { tries: 4, kernels }, FAILURE)).toMatchObject({
        to: 'TERMINATING',
        result: 'FAILURE',
      })
    })

    it('ends what must not run twice once its start was ordered, and only then', () => {
      const once = { neverRunTwice: true, reschedules: 0 }
      const ended = { to: 'TERMINATING', result: 'FAILURE', rescheduled: false }
      const message = expect.stringContaining('it must never run twice') as string
      for (const handler of ['start-sessions', 'prepare-sessions'] as const) {
        expect(judgeOf(handler, once, FAILURE)).toMatchObject({ outcome: 'NEED_RETRY' })
        expect(judgeOf(handler, { ...once, expired: true })).toMatchObject({ to: 'PENDING', rescheduled: true })
      }
      const started = { ...once, status: 'CREATING' as const }
      expect(judgeOf('start-sessions', started, FAILURE)).toMatchObject({ ...ended, error: { message } })
      expect(judgeOf('start-sessions', { ...started, expired: true })).toMatchObject({ ...ended, error: { message } })
      const ending = { ...once, status: 'TERMINATING' as const, expired: true }
      expect(judgeOf('terminate-sessions', ending)).toMatchObject({ to: 'TERMINATED' })
    })

    it('of scheduling cancels', () => {
      expect(judgeOf('schedule-sessions', { tries: 4 }, FAILURE)).toMatchObject({ to: 'CANCELLED', result: 'FAILURE' })
    })
  })

  describe('time', () => {
    it('expires a session without any report, as a scheduler timeout', () => {
      const expired = judgeOf('prepare-sessions', { expired: true })
      expect(expired).toMatchObject({ outcome: 'EXPIRED', to: 'PENDING', error: { name: 'scheduler-timeout' } })
      expect(judgeOf('terminate-sessions', { expired: true })).toMatchObject({ to: 'TERMINATED' })
    })

    it('expires a session that is only skipped, but not a successful one', () => {
      const skipped: Outcome = { kind: 'skipped', reason: 'quota full' }
      expect(judgeOf('schedule-sessions', { expired: true }, skipped)).toMatchObject({
        outcome: 'EXPIRED',
        to: 'CANCELLED',
      })
      expect(judgeOf('schedule-sessions', { expired: true }, { kind: 'success' })).toMatchObject({ outcome: 'SUCCESS' })
    })

    it('waits for the fence of a kernel of which nobody knows whether it began', () => {
      const kernels = [
        { status: 'CREATING', agentId: 'a', error: null, fencedInMs: 4000 },
        {
          status: 'CREATING',
          agentId: 'a',
          error: FAILURE.kind === 'failure' ? FAILURE.error : null,
          fencedInMs: 9000,
        },
      ] as const
      expect(judgeOf('start-sessions', { expired: true, kernels })).toMatchObject({ to: 'PENDING', pauseMs: 4000 })
    })
  })

  describe('the agents that are remembered', () => {
    const kernel = (status: SessionStatus, agentId: string | null) => ({ status, agentId, error: null, fencedInMs: 0 })

    it.each<[LifecycleName, SessionStatus, [SessionStatus, string | null][], string[]]>([
      ['prepare-sessions', 'SCHEDULED', [['SCHEDULED', 'a']], ['a']],
      [
        'prepare-sessions',
        'PULLING',
        [
          ['PULLING', 'a'],
          ['PREPARED', 'b'],
          ['PREPARING', 'c'],
        ],
        ['a', 'c'],
      ],
      [
        'prepare-sessions',
        'PREPARING',
        [
          ['PREPARING', 'a'],
          ['PREPARING', 'a'],
        ],
        ['a'],
      ],
      [
        'start-sessions',
        'CREATING',
        [
          ['CREATING', 'a'],
          ['PREPARED', 'b'],
          ['RUNNING', 'c'],
        ],
        ['a', 'b'],
      ],
      ['start-sessions', 'PREPARED', [['PREPARED', null]], []],
    ])('%s in %s for too long, %j: %j', (name, status, kernels, failedAgents) => {
      const given = { expired: true, status, kernels: kernels.map((one) => kernel(...one)) }
      expect(judgeOf(name, given)).toMatchObject({ outcome: 'EXPIRED', failedAgents })
      expect(judgeOf(name, { ...given, reschedules: 3 })).toMatchObject({ to: 'TERMINATING', failedAgents })
    })

    it('are none while tries are left, and then the one that the error names', () => {
      const error = { name: 'executor-failed', message: 'm', agentId: 'b' }
      const kernels = [kernel('CREATING', 'a'), kernel('CREATING', 'b')]
      expect(judgeOf('start-sessions', { kernels }, { kind: 'failure', error })).toMatchObject({ failedAgents: [] })
      const last = judgeOf('start-sessions', { kernels, tries: 4 }, { kind: 'failure', error })
      expect(last).toMatchObject({ outcome: 'GIVE_UP', failedAgents: ['b'] })
    })
  })

  it.each([
    [null, 'waited for longer than the 60 s that it may wait (maxPending)'],
    ['no agent has 4 cpu', 'waited for longer than the 60 s that it may wait (maxPending): no agent has 4 cpu'],
  ])('a wait longer than the session allows is its failure: %s', (pendingReason, message) => {
    const waits = { waitedTooLong: 60, expired: true, pendingReason }
    expect(judgeOf('schedule-sessions', waits, { kind: 'skipped', reason: 'r' })).toMatchObject({
      outcome: 'EXPIRED',
      to: 'CANCELLED',
      result: 'FAILURE',
      error: { name: 'waited-too-long', message },
    })
    expect(judgeOf('schedule-sessions', waits, { kind: 'success' })).toMatchObject({ outcome: 'SUCCESS' })
  })

  it('a skip leaves the tries alone and is reported once', () => {
    const skipped: Outcome = { kind: 'skipped', reason: 'no agent has 4 cpu' }
    expect(judgeOf('schedule-sessions', { tries: 2 }, skipped)).toMatchObject({
      outcome: 'SKIPPED',
      to: 'PENDING',
      tries: 2,
      pendingReason: skipped.reason,
    })
    expect(judgeOf('schedule-sessions', { pendingReason: skipped.reason }, skipped)).toBeUndefined()
    expect(judgeOf('schedule-sessions', {})).toBeUndefined()
  })

  it('every judgement keeps the status or makes an allowed move', () => {
    const names = fc.constantFrom(...Object.values(LIFECYCLE_HANDLERS).map((handler) => handler.name))
    const outcome = fc.constantFrom<Outcome | undefined>(
      undefined,
      { kind: 'success' },
      FAILURE,
      { ...FAILURE, giveUpNow: true },
      { kind: 'skipped', reason: 'r' },
    )
    const kernel = fc.record({
      status: fc.constantFrom(...STATUSES),
      agentId: fc.option(fc.constantFrom('a', 'b')),
      error: fc.constant(null),
      fencedInMs: fc.nat(),
    })
    const given = fc.record({
      tries: fc.nat({ max: 6 }),
      reschedules: fc.nat({ max: 4 }),
      expired: fc.boolean(),
      kernels: fc.array(kernel),
    })
    checkProperty(
      fc.property(names, fc.nat(), given, outcome, (name, pick, session, said) => {
        const { sessionIn } = LIFECYCLE_HANDLERS[name]
        const status = sessionIn[pick % sessionIn.length]!
        const to = judgeOf(name, { ...session, status }, said)?.to ?? status
        expect({ status, to, fine: to === status || sessionMayMove(status, to) }).toEqual({ status, to, fine: true })
      }),
      { numRuns: 1000 },
    )
  })

  it('tries pause longer and longer, up to a bound', () => {
    expect([1, 2, 3].map(tryPauseMs)).toEqual([TRY_PAUSE_MIN_MS, 2 * TRY_PAUSE_MIN_MS, 4 * TRY_PAUSE_MIN_MS])
    expect(tryPauseMs(50)).toBe(TRY_PAUSE_MAX_MS)
  })
})

describe('the verdict of a program', () => {
  const NOTHING = { reason: null, retry: null, delaySeconds: null, fault: null }

  it.each([
    ['{}', {}],
    ['{"reason": "  disk is full\\n"}', { reason: 'disk is full' }],
    ['{"reason": "", "retry": null}', {}],
    ['{"retry": "no"}', { retry: 'no' }],
    ['{"retry": "yes", "delaySeconds": 0}', { retry: 'yes', delaySeconds: 0 }],
    ['{"retry": "uncounted", "delaySeconds": 30.5}', { retry: 'uncounted', delaySeconds: 30.5 }],
    ['{"delaySeconds": 1e300}', { delaySeconds: 86_400 }],
    ['{"reason": "a\\u0000b\\ud800"}', { reason: 'a\ufffdb\ufffd' }],
    ['', { fault: 'it is not JSON' }],
    ['null', { fault: 'it is not a JSON object' }],
    ['[]', { fault: 'it is not a JSON object' }],
    ['{"retry": true}', { fault: '"retry" is not one of "no", "yes", "uncounted"' }],
    ['{"retry": "NO"}', { fault: '"retry" is not one of "no", "yes", "uncounted"' }],
    ['{"reason": {"deep": 1}}', { fault: '"reason" is not text' }],
    ['{"delaySeconds": -1}', { fault: '"delaySeconds" is not a number of at least 0' }],
    ['{"delaySeconds": "30"}', { fault: '"delaySeconds" is not a number of at least 0' }],
    ['{"maxRetries": 100}', { fault: 'it has an unknown field "maxRetries"' }],
    [`${'['.repeat(8_000)}${']'.repeat(8_000)}`, { fault: 'it is not a JSON object' }],
  ])('%s', (text, expected) => {
    expect(parseProgramVerdict(text)).toEqual({ ...NOTHING, ...expected })
  })

  it('keeps 1,000 characters of a reason', () => {
    expect(parseProgramVerdict(JSON.stringify({ reason: '😀'.repeat(2_000) })).reason).toHaveLength(1_000)
  })

  it('reading is idempotent for anything that agents send', () => {
    checkProperty(
      fc.property(fc.json(), (text) => {
        const verdict = parseProgramVerdict(text)
        expect(readProgramVerdict(JSON.parse(JSON.stringify(verdict)))).toEqual(verdict)
      }),
    )
    for (const nothing of [null, undefined, 1, 'text']) expect(readProgramVerdict(nothing)).toBeNull()
  })
})
