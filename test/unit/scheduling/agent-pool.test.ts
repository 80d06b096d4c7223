import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HEAD_OF_LINE_SKIPS_MAX } from '../../../src/domain/limits.ts'
import type { PlaceableSession } from '../../../src/domain/scheduling/place.ts'
import { formatQuantity, parseQuantities, parseQuantity } from '../../../src/domain/scheduling/resource-request.ts'
import {
  byDominantShare,
  dominantShare,
  inOrderOfAge,
  isLess,
  type Sequence,
} from '../../../src/domain/scheduling/sequence.ts'
import { checkProperty } from '../../support/seeds.ts'
import { agentsOf, agentWith, type Amounts, orderOf, placeAll, session } from './lines.ts'

describe('the pool of agents', () => {
  const cpu = (amount: string) => ({ cpu: amount })
  const three = () => [session('s', cpu('1')), session('t', cpu('1')), session('u', cpu('1'))]

  describe('DISPERSED', () => {
    it('takes the agent that would be the least full', () => {
      expect(agentsOf(placeAll(three(), [agentWith('a', cpu('9')), agentWith('b', cpu('9'), cpu('8'))]))).toEqual({
        s: 'a',
        t: 'a',
        u: 'b',
      })
    })

    it('goes by the share of each agent, not by kernels or amounts', () => {
      const agents = [agentWith('a', cpu('4')), agentWith('b', cpu('64'), cpu('60'))]
      expect(agentsOf(placeAll([session('s', cpu('2'))], agents))).toEqual({ s: 'b' })
    })

    it('goes by the slot that would be the fullest, of those asked for', () => {
      const agents = [
        agentWith('a', { cpu: '8', mem: '8' }, { cpu: '8', mem: '3' }),
        agentWith('b', { cpu: '8', mem: '8' }, { cpu: '5', mem: '8' }),
      ]
      const placement = placeAll([session('s', { cpu: '1', mem: '1' }), session('t', cpu('1'))], agents)
      expect(agentsOf(placement)).toEqual({ s: 'b', t: 'a' })
    })
  })

  describe('CONCENTRATED', () => {
    const options = { selector: 'CONCENTRATED' } as const
    it('takes the one that would be the fullest', () => {
      const agents = [agentWith('a', cpu('9')), agentWith('b', cpu('9'), cpu('2'))]
      expect(agentsOf(placeAll(three(), agents, options))).toEqual({ s: 'b', t: 'b', u: 'a' })
    })

    it('leaves agents with devices to those that ask for them', () => {
      const agents = [agentWith('a', { cpu: '4', 'cuda.device': '2' }, cpu('1')), agentWith('b', cpu('64'))]
      const line = [session('s', cpu('1')), session('t', { cpu: '1', 'cuda.device': '1' })]
      expect(agentsOf(placeAll(line, agents, options))).toEqual({ s: 'b', t: 'a' })
    })
  })

  describe('ROUND_ROBIN', () => {
    it('takes one after the other, on from where it stood, and past those that are full', () => {
      const agents = () => [agentWith('a', cpu('9')), agentWith('b', cpu('9'), cpu('0')), agentWith('c', cpu('9'))]
      const options = { selector: 'ROUND_ROBIN' } as const
      const first = placeAll(three(), agents(), options)
      expect(agentsOf(first)).toEqual({ s: 'a', t: 'c', u: 'a' })
      expect(first.roundRobinAt).toBe('a')
      expect(agentsOf(placeAll(three(), agents(), { ...options, roundRobinAt: 'a' }))).toEqual({
        s: 'c',
        t: 'a',
        u: 'c',
      })
      // The agent that it stood at is gone.
      expect(agentsOf(placeAll(three(), agents(), { ...options, roundRobinAt: 'bb' }))).toEqual({
        s: 'c',
        t: 'a',
        u: 'c',
      })
    })
  })

  describe('whatever the selector', () => {
    it('goes only to agents that are allowed and have the labels, and to avoided ones last', () => {
      const agents = [
        agentWith('a', cpu('1')),
        agentWith('b', cpu('1')),
        agentWith('c', cpu('1')),
        agentWith('d', cpu('1'), cpu('1'), { zone: 'x', disk: 'ssd' }),
      ]
      const line = [
        session('s', cpu('1'), { avoidAgents: ['a'], allowAgents: ['a', 'c'] }),
        session('t', cpu('1'), { allowAgents: ['c'] }),
        session('u', cpu('1'), { agentLabels: { zone: 'x' } }),
        session('v', cpu('1'), { agentLabels: { zone: 'y' } }),
        session('w', cpu('1'), { avoidAgents: ['a', 'b'], allowAgents: ['a'] }),
      ]
      const placement = placeAll(line, agents)
      expect(agentsOf(placement)).toEqual({ s: 'c', u: 'd', w: 'a' })
      expect(placement.skipped.map(({ sessionId }) => sessionId)).toEqual(['t', 'v'])
    })

    it('goes to the avoided agent that has been avoided for the longest, however full it is', () => {
      const agents = () => [agentWith('a', cpu('8'), cpu('2')), agentWith('b', cpu('8')), agentWith('c', cpu('8'))]
      const where = (avoidAgents: string[], excludeAgents: string[] = []) =>
        agentsOf(placeAll([session('s', cpu('1'), { avoidAgents, excludeAgents })], agents()))
      expect(where(['a', 'b', 'c'])).toEqual({ s: 'a' })
      expect(where(['c', 'a', 'b'])).toEqual({ s: 'c' })
      expect(where(['b', 'a'])).toEqual({ s: 'c' })
      expect(where(['c', 'a', 'b'], ['c'])).toEqual({ s: 'a' })
    })

    it('goes to no excluded agent, and reports that none is left', () => {
      const agents = () => [agentWith('a', cpu('1')), agentWith('b', cpu('1'))]
      const line = [
        session('s', cpu('1'), { excludeAgents: ['b'] }),
        session('t', cpu('1'), { excludeAgents: ['a', 'b'] }),
        session('u', cpu('1'), { excludeAgents: ['a'], allowAgents: ['a'] }),
      ]
      const placement = placeAll(line, agents())
      expect(agentsOf(placement)).toEqual({ s: 'a' })
      const reason = 'it excludes every agent of resource group g that it may go to and that is alive'
      expect(placement.skipped).toEqual([
        { sessionId: 't', reason },
        { sessionId: 'u', reason },
      ])
    })

    it('a single node has capacity for all kernels on one agent; several nodes spread as far as they must', () => {
      const agents = () => [agentWith('a', cpu('3')), agentWith('b', cpu('5'))]
      expect(agentsOf(placeAll([session('s', cpu('2'), { size: 2 })], agents()))).toEqual({ s: 'b b' })
      const spread = session('s', cpu('2'), { size: 3, mode: 'MULTI_NODE' })
      expect(agentsOf(placeAll([spread], agents()))).toEqual({ s: 'b a b' })
      const large = session('s', cpu('2'), { size: 4, mode: 'MULTI_NODE' })
      expect(agentsOf(placeAll([large, session('t', cpu('5'))], agents()))).toEqual({ t: 'b' })
    })
  })

  describe('an agent of several machines', () => {
    const cluster = () => agentWith('a', cpu('64'), cpu('64'), {}, cpu('4'))

    it('gets only what one of them can offer', () => {
      const line = [
        session('s', cpu('5')),
        session('t', cpu('4')),
        session('u', cpu('4'), { size: 9, mode: 'MULTI_NODE' }),
      ]
      expect(agentsOf(placeAll(line, [cluster(), agentWith('b', cpu('5'))]))).toMatchObject({
        s: 'b',
        t: 'a',
        u: Array(9).fill('a').join(' '),
      })
      expect(agentsOf(placeAll([session('s', cpu('5'))], [cluster()]))).toEqual({})
    })

    it('nothing is reserved there for a session that it can never take', () => {
      const line = [session('s', cpu('5'), { skips: 1_000 }), session('t', cpu('4'))]
      expect(agentsOf(placeAll(line, [cluster()]))).toEqual({ t: 'a' })
    })
  })
})

describe('quantities', () => {
  it.each([
    ['0.1', 100_000_000n],
    ['4', 4_000_000_000n],
    ['2.5000000000000', 2_500_000_000n],
    ['-1.5', -1_500_000_000n],
  ])('%s is %s billionths', (text, quantity) => {
    expect(parseQuantity(text)).toBe(quantity)
  })

  it.each(['', 'x', '1.0000000001', '1e3', '.5', '1.2.3'])('%j is none', (text) => {
    expect(() => parseQuantity(text)).toThrow(RangeError)
  })

  it('print as they are read', () => {
    checkProperty(
      fc.property(
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        (quantity) => parseQuantity(formatQuantity(quantity)) === quantity,
      ),
    )
  })
})

describe('the sequence of sessions', () => {
  /** The order if all are placed. */
  function turns(sequence: Sequence<PlaceableSession>, ranOutAfter?: string): string {
    const order: string[] = []
    for (let next = sequence.next(); next; next = sequence.next()) {
      order.push(next.id)
      sequence.placed()
      if (next.id === ranOutAfter) sequence.ranOut()
    }
    return order.join(' ')
  }

  const OVERDUE = { skips: HEAD_OF_LINE_SKIPS_MAX }
  const one = (id: string, owner = 'ada', spec = {}) => session(id, { cpu: '1' }, { owner, ...spec })

  describe('FIFO and LIFO', () => {
    const line = [
      one('a'),
      one('b', 'ada', { priority: 90 }),
      one('c', 'ada', { createdAt: 2 }),
      one('d', 'ada', { createdAt: 1 }),
      one('e', 'ada', { createdAt: 1, ...OVERDUE }),
    ]
    it('go by priority, then those that are overdue, then by age', () => {
      expect(turns(inOrderOfAge(line, false, 0))).toBe('b e a d c')
      expect(turns(inOrderOfAge(line, true, 0))).toBe('b e c d a')
    })
  })

  describe('DRF', () => {
    const totals = parseQuantities({ cpu: '9', mem: '18' })
    const drf = (line: PlaceableSession[], used: Record<string, Amounts> = {}) =>
      byDominantShare(line, {
        usedByOwner: new Map(Object.entries(used).map(([owner, amounts]) => [owner, parseQuantities(amounts)])),
        totals,
      })
    const many = (owner: string, slots: Amounts, count: number) =>
      Array.from({ length: count }, (_, n) => session(`${owner}${n}`, slots, { owner }))

    it('fills progressively: the example of its paper gives A three and B two', () => {
      const line = [...many('A', { cpu: '1', mem: '4' }, 9), ...many('B', { cpu: '3', mem: '1' }, 9)]
      const placement = placeAll(line, [agentWith('x', { cpu: '9', mem: '18' })], { sequence: drf(line) })
      expect(orderOf(placement)).toBe('A0 B0 A1 B1 A2')
    })

    it('starts with the owner of the smallest share, whoever came first', () => {
      const line = [...many('A', { cpu: '1' }, 2), ...many('B', { cpu: '1' }, 2)]
      expect(turns(drf(line, { A: { cpu: '1' } }))).toBe('B0 A0 B1 A1')
      expect(turns(drf(line, { A: { mem: '3' }, B: { cpu: '1' } }))).toBe('B0 A0 A1 B1')
    })

    it('goes within bands of priority, in which those that are overdue are first', () => {
      const line = [one('a'), one('b', 'bob', OVERDUE), one('c', 'ada', { priority: 90 }), one('d', 'bob')]
      expect(turns(drf(line, { bob: { cpu: '5' } }))).toBe('c b a d')
    })

    it('ends at the turn of an owner whose sessions have run out here and not in the line', () => {
      const line = [...many('A', { cpu: '1' }, 1), ...many('B', { cpu: '1' }, 3), one('low', 'C', { priority: 1 })]
      expect(turns(drf(line))).toBe('A0 B0 B1 B2 low')
      expect(turns(drf(line), 'A0')).toBe('A0 B0')
    })

    it('compares shares exactly', () => {
      const all = parseQuantities({ cpu: '0.3', mem: '3000000000000000000000' })
      const third = dominantShare(parseQuantities({ cpu: '0.1' }), all)
      expect(isLess(third, dominantShare(parseQuantities({ mem: '1000000000000000000000' }), all))).toBe(false)
      expect(isLess(dominantShare(parseQuantities({ mem: '1000000000000000000000' }), all), third)).toBe(false)
      expect(isLess(third, dominantShare(parseQuantities({ mem: '1000000000000000000001' }), all))).toBe(true)
      expect(dominantShare(parseQuantities({ fpga: '3' }), all).used).toBe(0n)
    })
  })
})
