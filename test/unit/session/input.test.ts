import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { describeAmount, parseAmount } from '../../../src/domain/amounts.ts'
import { clusterEnvironment } from '../../../src/domain/session/kernel-environment.ts'
import { type SessionStatus, STATUSES } from '../../../src/domain/session/lifecycle.ts'
import { durationsOf } from '../../../src/domain/session/statistics.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('amounts', () => {
  describe('parsing', () => {
    it.each([
      ['cpu', '2', '2'],
      ['cpu', 2, '2'],
      ['cpu', 0.5, '0.5'],
      ['cpu', '0', '0'],
      ['cpu', ' 007.50 ', '7.5'],
      ['cpu', 1e-7, '0.0000001'],
      ['cpu', 1e21, '1000000000000000000000'],
      ['mem', '1024', '1024'],
      ['mem', '2g', '2147483648'],
      ['mem', '512M', '536870912'],
      ['mem', '1.5k', '1536'],
      ['mem', '3 t', '3298534883328'],
      ['mem', '512 MiB', '536870912'],
      ['mem', '1.5GiB', '1610612736'],
      ['mem', '4Ki', '4096'],
      ['mem', '0.1g', '107374182'],
      ['cuda.mem', '1k', '1024'],
      ['x', '9'.repeat(30), '9'.repeat(30)],
    ])('%s of %s is %s', (slot, input, amount) => {
      expect(parseAmount(slot, input)).toBe(amount)
    })

    it.each([
      ['cpu', ''],
      ['cpu', '-1'],
      ['cpu', -1],
      ['cpu', -0.5],
      ['cpu', NaN],
      ['cpu', Infinity],
      ['cpu', 'NaN'],
      ['cpu', '1e3'],
      ['cpu', '1.'],
      ['cpu', '.5'],
      ['cpu', '1,5'],
      ['cpu', '0x10'],
      ['cpu', '2g'],
      ['mem', 'g'],
      ['mem', '2gb'],
      ['mem', '2ib'],
      ['mem', 'MiB'],
      ['cpu', '2Ki'],
      ['mem', '2p'],
      ['mem', '-2g'],
      ['x', '9'.repeat(31)],
      ['x', 1e31],
      ['mem', `${'9'.repeat(30)}k`],
      ['x', `0.${'1'.repeat(31)}`],
      ['x', '1'.repeat(1_000_000)],
    ])('%s of %s is no amount', (slot, input) => {
      expect(parseAmount(slot, input)).toBeUndefined()
    })

    it('reads back its own output', () => {
      const given = fc.tuple(fc.constantFrom('cpu', 'mem'), fc.double({ min: 0, max: 1e15, noNaN: true }))
      checkProperty(
        fc.property(given, ([slot, value]) => {
          const text = parseAmount(slot, value)
          expect(text === undefined ? undefined : parseAmount(slot, text)).toBe(text)
        }),
      )
    })
  })

  it.each([
    ['mem', '2147483648', '2 GiB'],
    ['mem', '2791728742', '2.6 GiB'],
    ['mem', '1023', '1023 bytes'],
    ['mem', '1536', '1.5 KiB'],
    ['cpu', '0.5', '0.5'],
  ])('for people, %s of %s is %s', (slot, amount, words) => {
    expect(describeAmount(slot, amount)).toBe(words)
  })
})

describe('the environment of a cluster', () => {
  const MEMBERS = [
    { role: 'main', index: 1, address: '10.0.0.1' },
    { role: 'sub', index: 1, address: 'node-b' },
    { role: 'sub', index: 2, address: '' },
  ]
  const environment = (role: string, index: number) =>
    Object.fromEntries(
      clusterEnvironment({ role, index }, { mode: 'MULTI_NODE', members: MEMBERS }).map(({ name, value }) => [
        name,
        value,
      ]),
    )

  it('gives a kernel its role, and the addresses of all in order', () => {
    const shared = {
      REPRISE_CLUSTER_MODE: 'MULTI_NODE',
      REPRISE_CLUSTER_SIZE: '3',
      REPRISE_CLUSTER_HOSTS: 'main1=10.0.0.1,sub1=node-b,sub2=',
    }
    expect(environment('main', 1)).toEqual({
      ...shared,
      REPRISE_KERNEL_NAME: 'main1',
      REPRISE_KERNEL_ROLE: 'main',
      REPRISE_KERNEL_INDEX: '1',
      REPRISE_CLUSTER_RANK: '0',
    })
    expect(environment('sub', 2)).toEqual({
      ...shared,
      REPRISE_KERNEL_NAME: 'sub2',
      REPRISE_KERNEL_ROLE: 'sub',
      REPRISE_KERNEL_INDEX: '2',
      REPRISE_CLUSTER_RANK: '2',
    })
  })
})

describe('durations', () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000)
  const steps = (...pairs: [SessionStatus, number][]) => pairs.map(([to, seconds]) => ({ to, at: at(seconds) }))

  test.each([
    ['waits', null, null, [], { queued: 100, preparing: 0, running: 0, ending: 0 }],
    ['was never started', null, 7, steps(['CANCELLED', 7]), { queued: 7, preparing: 0, running: 0, ending: 0 }],
    [
      'has run',
      4,
      20,
      steps(['SCHEDULED', 2], ['PREPARING', 2], ['RUNNING', 4], ['TERMINATING', 15], ['TERMINATED', 20]),
      { queued: 2, preparing: 2, running: 11, ending: 5 },
    ],
    [
      'was placed twice',
      9,
      null,
      steps(['SCHEDULED', 2], ['PENDING', 3], ['SCHEDULED', 8], ['RUNNING', 9]),
      { queued: 7, preparing: 2, running: 91, ending: 0 },
    ],
    [
      'ran before that was noticed, all at once',
      3,
      20,
      steps(['SCHEDULED', 2], ['RUNNING', 20], ['TERMINATING', 20], ['TERMINATED', 20]),
      { queued: 2, preparing: 1, running: 17, ending: 0 },
    ],
  ] as const)('a session that %s', (_what, startedAt, terminatedAt, changes, expected) => {
    const times = {
      createdAt: at(0),
      startedAt: startedAt === null ? null : at(startedAt),
      terminatedAt: terminatedAt === null ? null : at(terminatedAt),
    }
    expect(durationsOf(times, [...changes], at(100))).toEqual(expected)
  })

  test('they are never negative, and together the age, in whatever order clocks stamped the changes', () => {
    const second = fc.integer({ min: 0, max: 1_000 })
    const changes = fc.array(fc.record({ to: fc.constantFrom(...STATUSES), at: second.map(at) }), { maxLength: 12 })
    const terminal = new Set<SessionStatus>(['TERMINATED', 'ERROR', 'CANCELLED'])
    checkProperty(
      fc.property(changes, fc.option(second), second, (some, startedAt, age) => {
        const lives = some.filter(({ to }) => !terminal.has(to))
        const times = { createdAt: at(0), startedAt: startedAt === null ? null : at(startedAt), terminatedAt: at(age) }
        const durations = Object.values(durationsOf(times, lives, at(2_000)))
        for (const each of durations) expect(each).toBeGreaterThanOrEqual(0)
        expect(durations.reduce((sum, each) => sum + each, 0)).toBeCloseTo(age, 6)
      }),
    )
  })
})
