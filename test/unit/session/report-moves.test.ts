import { pino } from 'pino'
import { expect, test } from 'vitest'
import { NO_TRACER } from '../../../src/observability/trace.ts'
import { type HandledSession, reportMoves } from '../../../src/scheduler/lifecycle.ts'
import type { SessionMove } from '../../../src/store/sql/session/apply-moves.sql.ts'

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
  const rest = { outcome: 'SUCCESS' as const, through: null, tries: 0, pauseMs: null }
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

test('one line for each outcome with the ids of its session, none for what waits on', () => {
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
