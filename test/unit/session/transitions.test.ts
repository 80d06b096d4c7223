import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, it, test } from 'vitest'
import {
  isTerminal,
  KERNEL_TRANSITIONS,
  kernelMayMove,
  LIFECYCLE_HANDLERS,
  LIVE_STATUSES,
  PROMOTIONS,
  SESSION_TRANSITIONS,
  sessionMayMove,
  type SessionStatus,
  STATUSES,
  TERMINAL_STATUSES,
  transitionDiagram,
} from '../../../src/domain/session/lifecycle.ts'
import { NO_TRACER } from '../../../src/observability/trace.ts'
import { type HandledSession, reportMoves } from '../../../src/scheduler/lifecycle.ts'
import type { SessionMove } from '../../../src/store/sql/session/apply-moves.sql.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('transitions', () => {
  /** Rows move from, columns move to, both in the order of STATUSES. */
  const SESSION_MOVES = `
              PE SC PG PU PD CR RU TG TD ER CA
  PENDING      .  x  .  .  .  .  .  .  .  .  x
  SCHEDULED    x  .  x  .  x  .  .  x  .  .  .
  PREPARING    x  .  .  x  x  .  .  x  .  .  .
  PULLING      x  .  .  .  x  .  .  x  .  .  .
  PREPARED     x  .  .  .  .  x  .  x  .  .  .
  CREATING     x  .  .  .  .  .  x  x  .  .  .
  RUNNING      .  .  .  .  .  .  .  x  .  .  .
  TERMINATING  .  .  .  .  .  .  .  .  x  x  .
  TERMINATED   .  .  .  .  .  .  .  .  .  .  .
  ERROR        .  .  .  .  .  .  .  .  .  .  .
  CANCELLED    .  .  .  .  .  .  .  .  .  .  .`

  const allowed = new Map(
    SESSION_MOVES.trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .map(([from, ...marks]) => [from!, STATUSES.filter((_, index) => marks[index] === 'x')]),
  )

  describe('every pair of statuses', () => {
    it('is allowed or refused as in the table', () => {
      const pairs = STATUSES.flatMap((from) => STATUSES.map((to) => ({ from, to })))
      expect(pairs).toHaveLength(121)
      for (const { from, to } of pairs) {
        expect({ from, to, may: sessionMayMove(from, to) }).toEqual({ from, to, may: allowed.get(from)!.includes(to) })
        if (isTerminal(from) || from === to) expect(kernelMayMove(from, to)).toBe(false)
      }
    })

    it('has a row in both tables', () => {
      expect(Object.keys(SESSION_TRANSITIONS)).toEqual([...STATUSES])
      expect(Object.keys(KERNEL_TRANSITIONS)).toEqual([...STATUSES])
      expect(new Set([...LIVE_STATUSES, ...TERMINAL_STATUSES])).toEqual(new Set(STATUSES))
    })
  })

  describe('terminal is final', () => {
    it('has no exits', () => {
      for (const status of TERMINAL_STATUSES) {
        expect(SESSION_TRANSITIONS[status]).toEqual([])
        expect(KERNEL_TRANSITIONS[status]).toEqual([])
      }
    })

    it.each([
      ['session', sessionMayMove],
      ['kernel', kernelMayMove],
    ])('no sequence of writes leaves it: %s', (_, mayMove) => {
      checkProperty(
        fc.property(fc.array(fc.constantFrom(...STATUSES), { maxLength: 60 }), (wanted) => {
          let status: SessionStatus = 'PENDING'
          for (const to of wanted) {
            const before = status
            if (mayMove(status, to)) status = to
            expect(isTerminal(before) ? status : before).toBe(before)
          }
        }),
      )
    })

    it.each([
      ['session', SESSION_TRANSITIONS],
      ['kernel', KERNEL_TRANSITIONS],
    ])('every live %s can get there, and every status is reached', (_, table) => {
      const reachable = (from: SessionStatus) => {
        const seen = new Set([from])
        for (const status of seen) for (const to of table[status]) seen.add(to)
        return seen
      }
      expect(reachable('PENDING')).toEqual(new Set(STATUSES))
      for (const status of LIVE_STATUSES) expect([...reachable(status)].some(isTerminal)).toBe(true)
    })
  })

  /** A move to TERMINATED is written as ERROR when the result is FAILURE. */
  function writtenAs(to: SessionStatus): SessionStatus[] {
    return to === 'TERMINATED' ? ['TERMINATED', 'ERROR'] : [to]
  }

  /** PULLING counts as PREPARING; what is there already stays. */
  function pairsOf(sources: readonly SessionStatus[], to: SessionStatus): [SessionStatus, SessionStatus][] {
    const away = sources.filter((from) => (from === 'PULLING' ? 'PREPARING' : from) !== to)
    return away.flatMap((from) => writtenAs(to).map((written): [SessionStatus, SessionStatus] => [from, written]))
  }

  describe('handlers', () => {
    const moves = Object.values(LIFECYCLE_HANDLERS).flatMap((handler) =>
      (['success', 'needRetry', 'expired', 'giveUp'] as const).map((outcome) => ({ handler, outcome })),
    )

    it.each(moves)('$handler.name on $outcome makes only allowed moves', ({ handler, outcome }) => {
      const { session, kernel } = handler[outcome]
      for (const [from, to] of session === null ? [] : pairsOf(handler.sessionIn, session)) {
        expect([from, to, sessionMayMove(from, to)]).toEqual([from, to, true])
      }
      for (const [from, to] of kernel === null ? [] : pairsOf(handler.kernelIn, kernel)) {
        expect([from, to, kernelMayMove(from, to)]).toEqual([from, to, true])
      }
    })

    it('a retried try keeps the status', () => {
      for (const handler of Object.values(LIFECYCLE_HANDLERS)) {
        expect(handler.needRetry).toEqual({ session: null, kernel: null })
      }
    })

    it('each live status but RUNNING has its handler', () => {
      const covered = Object.values(LIFECYCLE_HANDLERS).flatMap((handler) => handler.sessionIn)
      expect(covered.toSorted()).toEqual(LIVE_STATUSES.filter((status) => status !== 'RUNNING').toSorted())
    })
  })

  describe('promotions', () => {
    it.each(Object.values(PROMOTIONS))('$name makes only allowed moves', ({ sessionIn, becomes }) => {
      for (const from of sessionIn) {
        for (const to of writtenAs(becomes)) expect([from, to, sessionMayMove(from, to)]).toEqual([from, to, true])
      }
    })

    it('are declared under their own names', () => {
      for (const [name, declaration] of Object.entries({ ...PROMOTIONS, ...LIFECYCLE_HANDLERS })) {
        expect(declaration.name).toBe(name)
      }
    })
  })

  it('the diagram has one arrow for each move, and start and ends', () => {
    const arrows = transitionDiagram().split('\n').slice(1)
    expect(arrows).toHaveLength(Object.values(SESSION_TRANSITIONS).flat().length + 1 + TERMINAL_STATUSES.length)
    expect(arrows).toContain('  TERMINATING --> ERROR')
  })
})

describe('moves that reports cause', () => {
  type Line = Record<string, unknown>

  const DEBUG = 20
  const INFO = 30

  function session(id: string): HandledSession {
    const counters = { tries: 0, reschedules: 0, triesMax: 5, reschedulesMax: 3 }
    const waits = { expired: false, pendingReason: null, kernels: [] }
    return { id, chainId: `chain of ${id}`, attempt: 2, traceParent: null, status: 'SCHEDULED', ...counters, ...waits }
  }

  function move(id: string, how: Partial<SessionMove>): SessionMove {
    const kernels = { kernelTo: null, kernelFrom: null, failedKernelTo: null, rescheduled: false, failedAgents: [] }
    const says = { result: null, reason: null, statusData: null, pendingReason: null, errorCode: null, message: null }
    const rest = { outcome: 'SUCCESS' as const, through: null, tries: 0, pauseMs: null, agentIds: null }
    return { id, from: 'SCHEDULED', to: 'SCHEDULED', ...kernels, ...says, ...rest, ...how }
  }

  function told(moves: readonly SessionMove[], level = 'debug'): Line[] {
    const lines: Line[] = []
    const log = pino({ level, base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line) as Line) })
    const claimed = moves.map(({ id }) => session(id))
    reportMoves({ log, trace: NO_TRACER }, 'prepare-sessions', { begunAt: new Date(0), claimed, moves })
    return lines
  }

  const FAILED = { errorCode: 'agent-lost', message: 'the agent is lost' }
  const MOVES = [
    move('a', { to: 'PREPARING' }),
    move('b', { outcome: 'NEED_RETRY', ...FAILED }),
    move('c', { outcome: 'GIVE_UP', to: 'PENDING', ...FAILED }),
    move('d', { outcome: 'SKIPPED', message: 'waits' }),
  ]

  test('one line for each outcome with the ids of its session, none for a session that still waits', () => {
    const ids = (id: string) => ({ handler: 'prepare-sessions', sessionId: id, chainId: `chain of ${id}`, attempt: 2 })
    expect(told(MOVES)).toMatchObject([
      { ...ids('a'), level: DEBUG, outcome: 'SUCCESS', msg: 'prepare-sessions: SCHEDULED → PREPARING' },
      {
        ...ids('b'),
        level: DEBUG,
        errorCode: 'agent-lost',
        msg: 'prepare-sessions: NEED_RETRY in SCHEDULED: the agent is lost',
      },
      { ...ids('c'), level: INFO, msg: 'prepare-sessions: SCHEDULED → PENDING: the agent is lost' },
    ])
  })

  test('at info only failures that took a session somewhere', () => {
    expect(told(MOVES, 'info').map(({ sessionId }) => sessionId)).toEqual(['c'])
  })
})
