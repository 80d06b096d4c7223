/** When sessions in line are expected to start, on examples that are computed by hand, and how long names usually take. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EXPECTED_START_STEPS_MAX } from '../../../src/domain/limits.ts'
import { expectedStarts, queueOrder, type QueueFacts } from '../../../src/domain/scheduling/expected-starts.ts'
import { avoidedInOrder } from '../../../src/domain/scheduling/agent-pool.ts'
import { parseQuantities } from '../../../src/domain/scheduling/resource-request.ts'
import { expectedRest, usualDuration } from '../../../src/domain/scheduling/usual-duration.ts'
import { checkProperty } from '../../support/seeds.ts'
import { agentWith, request } from './lines.ts'

const cpu = (amount: string) => parseQuantities({ cpu: amount })

interface Waiting {
  id: string
  cpu?: string
  seconds?: number | null
  priority?: number
  owner?: string
  skips?: number
  quotas?: QueueFacts['waiting'][number]['quotas']
}

function queue(waiting: readonly Waiting[], more: Partial<QueueFacts> = {}): QueueFacts {
  return {
    group: 'default',
    sequencer: 'FIFO',
    selector: 'DISPERSED',
    roundRobinAt: null,
    holding: [],
    agents: [agentWith('a', { cpu: '4' })],
    usedByOwner: new Map(),
    waiting: waiting.map(({ id, cpu: amount = '4', seconds = 60, ...rest }, at) => {
      const wanted = request({ cpu: amount })
      const base = { priority: 10, owner: 'ann', skips: 0, quotas: [], ...rest }
      return {
        ...base,
        id,
        createdAt: at,
        request: wanted,
        schedulingClass: `${base.owner} ${base.priority} ${wanted.key}`,
        claimedClass: '',
        kernelIds: ['main'],
        avoidAgents: avoidedInOrder([]),
        usualSeconds: seconds,
      }
    }),
    ...more,
  }
}

const holds = (amount: string, endsInSeconds: number | null, owner = 'ann') => ({
  owner,
  quotas: [],
  kernels: [{ agentId: 'a', slots: cpu(amount) }],
  endsInSeconds,
})
const full = (...holding: QueueFacts['holding']) => ({ holding, agents: [agentWith('a', { cpu: '4' }, { cpu: '0' })] })
const startsOf = (facts: QueueFacts) => Object.fromEntries(expectedStarts(facts).starts)

describe('expected starts', () => {
  test('come one after another, each once what is before it has ended', () => {
    // a waits 30 s for what runs, and takes 60 s; b takes 100 s.
    const line = queue([{ id: 'a' }, { id: 'b', seconds: 100 }, { id: 'c' }], full(holds('4', 30)))
    expect(startsOf(line)).toEqual({ a: 30, b: 90, c: 190 })
  })

  test('are now where there is room, and small sessions pass large ones', () => {
    // 1 of 4 is free. The large one needs all: it starts when the running one (20 s) and the small one (60 s) have ended.
    const line = queue([{ id: 'large' }, { id: 'small', cpu: '1' }], {
      holding: [holds('3', 20)],
      agents: [agentWith('a', { cpu: '4' }, { cpu: '1' })],
    })
    expect(startsOf(line)).toEqual({ small: 0, large: 60 })
  })

  test('of an overdue session come before those that would pass it', () => {
    const line = queue(
      [
        { id: 'large', skips: 50 },
        { id: 'small', cpu: '1' },
      ],
      {
        holding: [holds('3', 20)],
        agents: [agentWith('a', { cpu: '4' }, { cpu: '1' })],
      },
    )
    expect(startsOf(line)).toEqual({ large: 20, small: 80 })
    expect(queueOrder(queue([{ id: 'a' }, { id: 'b', skips: 50 }]))).toEqual(['b', 'a'])
  })

  test('are missing behind what has no usual duration', () => {
    const running = queue([{ id: 'a' }], full(holds('4', null)))
    expect(startsOf(running)).toEqual({})
    const first = queue([{ id: 'a', seconds: null }, { id: 'b' }], full(holds('4', 5)))
    expect(startsOf(first)).toEqual({ a: 5 })
    // Half of it is free again after 10 s, which is enough for one of two.
    const half = [
      { id: 'c', cpu: '2' },
      { id: 'd', cpu: '2', seconds: null },
      { id: 'e', cpu: '2' },
    ]
    expect(startsOf(queue(half, full(holds('2', null), holds('2', 10))))).toEqual({ c: 10, d: 70 })
  })

  test('end after a bounded number of steps, which says so', () => {
    const line = Array.from({ length: 900 }, (_, n) => ({ id: String(n), owner: String(n % 7) }))
    const { starts, isPart } = expectedStarts(queue(line))
    // 50 sessions and one agent are looked at each time.
    expect([starts.size, isPart]).toEqual([Math.ceil(EXPECTED_START_STEPS_MAX / 51), true])
    expect(expectedStarts(queue(line.slice(0, 500)))).toMatchObject({ isPart: false })
  })

  test('follow priorities, and the youngest first with LIFO', () => {
    const line = [{ id: 'low', priority: 1 }, { id: 'old' }, { id: 'young' }, { id: 'high', priority: 90 }]
    expect(queueOrder(queue(line))).toEqual(['high', 'old', 'young', 'low'])
    expect(queueOrder(queue(line, { sequencer: 'LIFO' }))).toEqual(['high', 'young', 'old', 'low'])
    expect(startsOf(queue(line, { sequencer: 'LIFO' }))).toEqual({ high: 0, young: 60, old: 120, low: 180 })
  })

  test('go to who has the least with DRF', () => {
    const line = [{ id: 'a1' }, { id: 'a2' }, { id: 'b1', owner: 'bob' }]
    const facts = queue(line, { sequencer: 'DRF', ...full(holds('4', 10)), usedByOwner: new Map([['ann', cpu('4')]]) })
    expect(queueOrder(facts)).toEqual(['b1', 'a1', 'a2'])
    // Whenever a session has ended, ann has no more than bob, and her sessions are older.
    expect(startsOf(facts)).toEqual({ a1: 10, a2: 70, b1: 130 })
    const halves = line.map((each) => ({ ...each, cpu: '2' }))
    const half = { holding: [holds('2', 100)], agents: [agentWith('a', { cpu: '4' }, { cpu: '2' })] }
    const used = new Map([['ann', cpu('2')]])
    expect(startsOf(queue(halves, { sequencer: 'DRF', ...half, usedByOwner: used }))).toEqual({
      b1: 0,
      a1: 60,
      a2: 100,
    })
  })

  test('wait for a quota', () => {
    const quota = { name: 'user ann', slots: cpu('1'), usedSlots: new Map(cpu('1')), maxRunning: null, running: 1 }
    const line = queue(
      [
        { id: 'a', cpu: '1', quotas: [quota] },
        { id: 'b', cpu: '1', owner: 'bob' },
      ],
      {
        holding: [{ ...holds('1', 40), quotas: [quota] }],
        agents: [agentWith('a', { cpu: '4' }, { cpu: '3' })],
      },
    )
    expect(startsOf(line)).toEqual({ b: 0, a: 40 })
  })

  test('are in the order of the line where each session needs the whole agent', () => {
    const sessions = fc.array(
      fc.record({ priority: fc.integer({ min: 0, max: 3 }), seconds: fc.integer({ min: 1, max: 99 }) }),
      {
        minLength: 1,
        maxLength: 12,
      },
    )
    checkProperty(
      fc.property(sessions, fc.constantFrom('FIFO' as const, 'LIFO' as const), (given, sequencer) => {
        const facts = queue(
          given.map((each, at) => ({ ...each, id: String(at) })),
          { sequencer },
        )
        const { starts } = expectedStarts(facts)
        const order = queueOrder(facts)
        expect([...starts].toSorted(([, a], [, b]) => a - b).map(([id]) => id)).toEqual(order)
        let at = 0
        for (const id of order) {
          expect(starts.get(id)).toBe(at)
          at += given[Number(id)]!.seconds
        }
      }),
    )
  })
})

describe('usual durations', () => {
  const eleven = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => n * 10)

  test('are the median and the 95th percentile of at least 8 successes', () => {
    expect(usualDuration(eleven.slice(0, 7))).toBeNull()
    // Between the 10th value (90) and the 11th (100): 9.5 steps from the first one.
    expect(usualDuration(eleven.toReversed())).toEqual({ median: 50, p95: 95 })
    expect(usualDuration([1, 2, 3, 4, 5, 6, 7, 8])!.median).toBe(4.5)
  })

  test('leave, to what runs, the median of those that took longer', () => {
    expect(expectedRest(eleven, 0)).toBe(55)
    // 70, 80, 90 and 100 took longer than 63: their median is 85.
    expect(expectedRest(eleven, 63)).toBe(22)
    expect(expectedRest(eleven, 100)).toBeNull()
    expect(expectedRest(eleven.slice(0, 7), 0)).toBeNull()
  })
})
