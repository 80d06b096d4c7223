import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ObservedKernel } from '../../../src/domain/agent/protocol.ts'
import {
  type RecordedKernel,
  type KernelChange,
  type KernelProgress,
  reconcile,
} from '../../../src/domain/agent/reconcile.ts'
import { isTerminal, kernelMayMove, type KernelStatus, STATUSES } from '../../../src/domain/session/lifecycle.ts'
import { checkProperty } from '../../support/seeds.ts'

const AGENT = 'agent'
const NO_PROGRESS: KernelProgress = { note: null, waits: false, host: null, slurmJobId: null }

function booked(status: KernelStatus, rest: Partial<RecordedKernel> = {}): RecordedKernel {
  const startedAt = status === 'RUNNING' ? 'then' : null
  const known = {
    ...NO_PROGRESS,
    assignment: 3,
    confirmedGone: false,
    failed: false,
    startedAt,
    exitCode: null,
    inTime: null,
  }
  return { id: 'k', agentId: AGENT, status, ...known, ...rest }
}

function report(status: ObservedKernel['status'], rest: Partial<ObservedKernel> = {}): ObservedKernel {
  return {
    kernelId: 'k',
    assignment: 3,
    status,
    exitCode: null,
    oomKilled: false,
    error: null,
    startedAt: null,
    endedAt: null,
    port: null,
    ...rest,
  }
}

const ran = (exitCode: number | null, rest: Partial<ObservedKernel> = {}) =>
  report('EXITED', { exitCode, startedAt: 'then', ...rest })

/** The effects of one report of one kernel, in words. */
function said(kernel: RecordedKernel, observed: ObservedKernel | null): string {
  const { changes, orders, forget, stale } = reconcile(AGENT, [kernel], observed === null ? [] : [observed])
  return [
    ...changes.map(({ to, gone, stopped, error }) =>
      `${to === kernel.status ? '' : `→${to}`}${gone ? ' gone' : ''}${stopped ? ' stopped' : ''}${error ? ` ${error.name}` : ''}`.trim(),
    ),
    ...orders.map(({ want }) => want),
    ...forget.map(() => 'forget'),
    ...stale.map(() => 'stale'),
  ].join(', ')
}

describe('the port of a kernel', () => {
  it.each([
    ['CREATING', 'RUNNING', 8080],
    ['RUNNING', 'RUNNING', undefined],
    ['PREPARING', 'PREPARED', null],
    ['RUNNING', 'EXITED', null],
  ] as const)('booked as %s, reported as %s: %s', (status, observed, port) => {
    const { changes } = reconcile(AGENT, [booked(status)], [report(observed, { port: 8080, startedAt: 'then' })])
    expect(changes[0]?.port).toBe(port)
  })
})

describe('how far a kernel is', () => {
  const queued = { waiting: { reason: 'queued by Slurm: Priority' }, slurmJobId: '7' }

  it.each([
    ['PULLING', report('PULLING', { progress: '3 of 5 layers' }), { note: '3 of 5 layers', waits: false }],
    ['CREATING', report('PREPARED', queued), { note: 'queued by Slurm: Priority', waits: true, slurmJobId: '7' }],
    // It has not been told to start.
    ['PREPARED', report('PREPARED', queued), { note: 'queued by Slurm: Priority', waits: false }],
    ['CREATING', report('RUNNING', { ...queued, host: 'n1' }), { note: null, waits: false, host: 'n1' }],
    // Held up, and in no queue: the time to start goes on.
    ['CREATING', report('PREPARED', { progress: 'no disk' }), { note: 'no disk', waits: false }],
    ['CREATING', report('RUNNING', { progress: 'a lie' }), { note: null, waits: false }],
  ] as const)('booked as %s: %o', (status, observed, progress) => {
    expect(reconcile(AGENT, [booked(status)], [observed]).changes[0]).toMatchObject(progress)
  })

  it('is written once', () => {
    const kernel = booked('CREATING', { note: 'queued by Slurm: Priority', waits: true, slurmJobId: '7' })
    expect(reconcile(AGENT, [kernel], [report('PREPARED', queued)]).changes).toEqual([])
  })

  it('keeps its known place', () => {
    const kernel = booked('RUNNING', { host: 'n1', slurmJobId: '7' })
    expect(reconcile(AGENT, [kernel], [report('RUNNING', { startedAt: 'then' })]).changes).toEqual([])
    expect(reconcile(AGENT, [kernel], []).changes).toMatchObject([{ host: 'n1', slurmJobId: '7' }])
  })
})

const USAGE = { peakMemoryBytes: 1, cpuSeconds: 2, wallSeconds: 3, source: 'CGROUP' } as const

describe('what a kernel used', () => {
  it.each([
    ['RUNNING', 'EXITED', 'then', USAGE],
    ['TERMINATING', 'EXITED', 'then', USAGE],
    ['RUNNING', 'RUNNING', 'then', undefined],
    ['CREATING', 'RUNNING', 'then', null],
    ['CREATING', 'EXITED', null, null],
    ['PREPARING', 'EXITED', 'then', null],
  ] as const)('booked as %s, reported as %s since %s: %o', (status, observed, startedAt, expected) => {
    const { changes } = reconcile(AGENT, [booked(status)], [report(observed, { usage: USAGE, startedAt })])
    expect(changes[0]?.usage).toEqual(expected)
  })
})

describe('a kernel with a time limit', () => {
  it.each([
    ['RUNNING', ran(0, { inTime: true }), '→TERMINATED gone, forget'],
    ['RUNNING', ran(0, { inTime: false }), '→ERROR gone task-timeout, forget'],
    ['RUNNING', ran(3, { inTime: false }), '→ERROR gone task-timeout, forget'],
    ['RUNNING', ran(137, { inTime: false, oomKilled: true }), '→ERROR gone task-timeout, forget'],
    ['TERMINATING', ran(0, { inTime: true, stopped: false }), '→TERMINATED gone, forget'],
    ['TERMINATING', ran(3, { inTime: true, stopped: false }), '→ERROR gone kernel-exited, forget'],
    ['TERMINATING', ran(0, { inTime: true, stopped: true }), '→TERMINATED gone stopped, forget'],
    ['TERMINATING', ran(0, { inTime: false, stopped: false }), '→ERROR gone task-timeout, forget'],
    ['ERROR', ran(0, { inTime: true, stopped: false }), 'gone, forget, stale'],
  ] as const)('booked as %s, reported as %o: %s', (status, observed, expected) => {
    expect(said(booked(status), observed)).toBe(expected)
  })

  it.each([
    ['RUNNING', true, []],
    ['TERMINATING', true, [{ to: 'TERMINATING', inTime: true }]],
    ['TERMINATING', false, [{ to: 'TERMINATING', inTime: false }]],
    ['TERMINATING', undefined, []],
  ] as const)('booked as %s, and reported as running with inTime %s', (status, inTime, changes) => {
    const known = booked(status, { startedAt: 'then' })
    const observed = report('RUNNING', { startedAt: 'then', ...(inTime !== undefined && { inTime }) })
    expect(reconcile(AGENT, [known], [observed]).changes).toMatchObject(changes)
    expect(reconcile(AGENT, [{ ...known, inTime: inTime ?? null }], [observed]).changes).toEqual([])
  })
})

describe('a kernel that its agent does not have', () => {
  it.each([
    ['PENDING', ''],
    ['SCHEDULED', ''],
    ['PREPARING', 'PREPARE'],
    ['PULLING', 'PREPARE'],
    ['PREPARED', 'PREPARE'],
    ['CREATING', 'START'],
    ['RUNNING', '→ERROR gone kernel-vanished'],
    ['TERMINATING', '→TERMINATED gone stopped'],
    ['TERMINATED', 'gone'],
    ['ERROR', 'gone'],
  ] as const)('booked as %s: %s', (status, expected) => {
    expect(said(booked(status), null)).toBe(expected)
  })

  it('has failed if it ran, though it was to stop', () => {
    expect(said(booked('TERMINATING', { startedAt: 'then' }), null)).toBe('→ERROR gone kernel-vanished')
  })

  it('and that failed is for the handler in charge', () => {
    expect(said(booked('CREATING', { failed: true }), null)).toBe('')
  })
})

describe('a kernel of which a process was killed for its memory', () => {
  const killed = { oomKilled: true, error: { name: 'oom-killed', message: '' } }

  it.each([
    ['exited with 0', ran(0, killed), undefined, '→ERROR gone oom-killed, forget'],
    ['exited with 0', ran(0, killed), true, '→ERROR gone oom-killed, forget'],
    ['exited with 0, and may', ran(0, killed), false, '→TERMINATED gone, forget'],
    ['failed', ran(3, killed), false, '→ERROR gone oom-killed, forget'],
    [
      'was fenced',
      ran(0, { ...killed, error: { name: 'agent-fenced', message: '' } }),
      false,
      '→ERROR gone agent-fenced, forget',
    ],
  ] as const)('%s', (_, observed, oomIsFailure, expected) => {
    const kernel = booked('RUNNING', oomIsFailure === undefined ? {} : { oomIsFailure })
    expect(said(kernel, observed)).toBe(expected)
    const { changes } = reconcile(AGENT, [kernel], [observed])
    expect(changes[0]).toMatchObject({ oomKilled: true, exitCode: observed.exitCode })
  })
})

describe('a report', () => {
  it.each<[KernelStatus, ObservedKernel, string]>([
    ['PREPARING', report('PREPARING'), ''],
    ['PREPARING', report('PULLING'), '→PULLING'],
    ['PREPARING', report('PREPARED'), '→PREPARED'],
    ['PULLING', report('PREPARED'), '→PREPARED'],
    ['SCHEDULED', report('PREPARED'), ''],
    ['CREATING', report('PREPARED'), 'START'],
    ['CREATING', report('PREPARED', { starting: true }), ''],
    ['CREATING', report('PREPARING', { starting: true }), ''],
    ['PREPARING', report('PREPARED', { starting: true }), '→PREPARED'],
    ['CREATING', report('RUNNING'), '→RUNNING'],
    ['PREPARED', report('RUNNING'), ''],
    ['CREATING', ran(0), '→TERMINATED gone, forget'],
    ['RUNNING', ran(0), '→TERMINATED gone, forget'],
    ['RUNNING', ran(3), '→ERROR gone kernel-exited, forget'],
    ['RUNNING', ran(0, { oomKilled: true }), '→ERROR gone oom-killed, forget'],
    ['RUNNING', ran(null), '→ERROR gone kernel-vanished, forget'],
    ['RUNNING', report('EXITED'), '→ERROR gone kernel-vanished, forget'],
    ['RUNNING', report('FAILED'), '→ERROR gone kernel-vanished, forget'],
    ['PREPARED', ran(0), 'kernel-vanished'],
    ['PREPARING', report('FAILED'), 'executor-failed'],
    ['CREATING', report('EXITED'), 'kernel-vanished'],
    ['TERMINATING', report('RUNNING'), 'STOP'],
    ['TERMINATING', report('FAILED'), '→TERMINATED gone stopped, forget'],
    ['TERMINATING', report('EXITED', { stopped: true }), '→TERMINATED gone stopped, forget'],
    ['TERMINATING', report('EXITED', { stopped: false }), '→TERMINATED gone stopped, forget'],
    ['TERMINATING', ran(143, { stopped: true }), '→TERMINATED gone stopped, forget'],
    ['TERMINATING', ran(0, { stopped: true }), '→TERMINATED gone stopped, forget'],
    ['ERROR', report('RUNNING'), 'STOP, stale'],
    ['ERROR', report('PREPARING'), 'STOP, stale'],
    ['ERROR', ran(0), 'gone, forget, stale'],
    ['ERROR', ran(null), 'gone, forget'],
    ['RUNNING', ran(null, { gone: true }), '→ERROR gone kernel-vanished, forget'],
    ['RUNNING', ran(null, { gone: false }), '→ERROR kernel-vanished'],
    ['CREATING', ran(null, { gone: false }), '→ERROR kernel-vanished'],
    ['CREATING', report('EXITED', { gone: false }), '→ERROR kernel-vanished'],
    ['TERMINATING', ran(137, { gone: false, stopped: true }), '→TERMINATED stopped'],
    ['PREPARED', ran(null, { gone: false }), 'kernel-vanished'],
    ['ERROR', ran(null, { gone: false }), ''],
    ['ERROR', report('FAILED', { gone: false }), 'gone, forget, stale'],
  ])('booked as %s, %o: %s', (status, observed, expected) => {
    expect(said(booked(status), observed)).toBe(expected)
  })

  const verdict = { reason: 'bad input', retry: 'no', delaySeconds: null, fault: null } as const
  it.each([
    ['0', ran(0)],
    ['3', ran(3)],
    ['3 with a verdict', ran(3, { verdict })],
    ['out of memory', ran(137, { oomKilled: true })],
    ['without an exit code', ran(null)],
    ['fenced', ran(143, { error: { name: 'agent-fenced', message: 'fenced' } })],
  ])('of a kernel that ended by itself is recorded the same before and after its stop was ordered: %s', (_, end) => {
    const [before, after] = (['RUNNING', 'TERMINATING'] as const).map((from) => {
      const kernel = booked(from, { startedAt: 'then' })
      return reconcile(AGENT, [kernel], [{ ...end, stopped: false }]).changes
    })
    expect(after).toEqual([{ ...before![0], from: 'TERMINATING' }])
    expect(after![0]).toMatchObject({ stopped: false, ended: true, gone: true })
  })

  it('that a kernel may still run is no reason to forget it, until it is known to be gone', () => {
    const lingers = ran(null, { gone: false })
    expect(said(booked('ERROR', { confirmedGone: true }), lingers)).toBe('forget, stale')
    expect(said(booked('ERROR', { confirmedGone: true }), report('RUNNING'))).toBe('forget, stale')
    expect(said(booked('ERROR', { exitCode: 3 }), ran(3))).toBe('gone, forget')
    expect(said(booked('ERROR'), null)).toBe('gone')
  })

  it('of a kernel that was ended from outside omits the verdict of its program', () => {
    const told = (rest: Partial<ObservedKernel>) =>
      reconcile(AGENT, [booked('RUNNING')], [ran(143, { verdict, ...rest })]).changes[0]!.error
    expect(told({})).toMatchObject({ message: 'bad input', verdict })
    const fenced = { name: 'agent-fenced', message: 'fenced' }
    expect(told({ error: fenced })).toEqual(fenced)
  })

  it('of an older agent, which does not report stops, counts as the ordered stop', () => {
    expect(said(booked('TERMINATING', { startedAt: 'then' }), ran(3))).toBe('→TERMINATED gone stopped, forget')
  })

  it.each([
    ['an unknown kernel', { kernelId: 'other' }, {}],
    ['an older assignment', { assignment: 2 }, {}],
    ['a kernel of another agent', {}, { agentId: 'another' }],
  ])('of %s is to be forgotten, and changes nothing', (_, observed, kernel) => {
    const answer = reconcile(AGENT, [booked('TERMINATED', { confirmedGone: true, ...kernel })], [ran(0, observed)])
    expect(answer.forget).toHaveLength(1)
    expect(answer.changes).toEqual([])
  })
})

const status = fc.constantFrom(...STATUSES)
const anyBooked = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  agentId: fc.constantFrom(AGENT, 'another'),
  assignment: fc.nat({ max: 2 }),
  status,
  confirmedGone: fc.boolean(),
  failed: fc.boolean(),
  exitCode: fc.constantFrom(null, 0),
})
const anyReport = fc.record({
  kernelId: fc.constantFrom('a', 'b', 'c', 'd'),
  assignment: fc.nat({ max: 2 }),
  status: fc.constantFrom('PREPARING', 'PULLING', 'PREPARED', 'RUNNING', 'FAILED', 'EXITED'),
  exitCode: fc.option(fc.nat({ max: 255 })),
  oomKilled: fc.boolean(),
  error: fc.constant(null),
  startedAt: fc.option(fc.constant('then')),
  endedAt: fc.constant(null),
  stopped: fc.constantFrom(true, false, undefined),
  gone: fc.constantFrom(true, false),
  inTime: fc.constantFrom(true, false, undefined),
  port: fc.constantFrom(null, 8080),
  waiting: fc.constantFrom(null, { reason: 'queued' }),
  progress: fc.constantFrom(null, 'layers'),
  host: fc.constantFrom(null, 'n1'),
})
const world = fc.tuple(
  fc.uniqueArray(anyBooked, { selector: ({ id }) => id }).map((kernels): RecordedKernel[] =>
    kernels.map((kernel) => ({
      ...NO_PROGRESS,
      inTime: null,
      ...kernel,
      startedAt: kernel.status === 'RUNNING' ? 'then' : null,
    })),
  ),
  fc.uniqueArray(anyReport, { selector: ({ kernelId }) => kernelId }),
)

function written(kernel: RecordedKernel, change: KernelChange | undefined): RecordedKernel {
  if (!change) return kernel
  return {
    ...kernel,
    status: change.to,
    confirmedGone: kernel.confirmedGone || change.gone,
    failed: kernel.failed || change.error !== null,
    startedAt: kernel.startedAt ?? (change.started ? 'now' : null),
    inTime: change.inTime ?? kernel.inTime,
    note: change.note,
    waits: change.waits,
    host: change.host,
    slurmJobId: change.slurmJobId,
  }
}

describe('any recorded and reported states', () => {
  it('each change is an allowed move, and none leaves a terminal status', () => {
    checkProperty(
      fc.property(world, ([kernels, reports]) => {
        for (const { from, to } of reconcile(AGENT, kernels, reports).changes) {
          expect(from === to || kernelMayMove(from, to), `${from} → ${to}`).toBe(true)
          if (isTerminal(from)) expect(to).toBe(from)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('the same report once more changes nothing more', () => {
    checkProperty(
      fc.property(world, ([kernels, reports]) => {
        const { changes } = reconcile(AGENT, kernels, reports)
        const after = kernels.map((kernel) =>
          written(
            kernel,
            changes.find(({ id }) => id === kernel.id),
          ),
        )
        expect(reconcile(AGENT, after, reports).changes).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('a kernel is never both ordered and forgotten under one assignment', () => {
    checkProperty(
      fc.property(world, ([kernels, reports]) => {
        const { orders, forget } = reconcile(AGENT, kernels, reports)
        const forgotten = new Set(forget.map(({ kernelId, assignment }) => `${kernelId} ${assignment}`))
        for (const { kernelId, assignment } of orders) expect(forgotten).not.toContain(`${kernelId} ${assignment}`)
      }),
      { numRuns: 500 },
    )
  })
})
