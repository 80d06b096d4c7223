import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HEAD_OF_LINE_SKIPS_MAX } from '../../../../src/domain/limits.ts'
import { place, type AgentRoom, type PlaceableSession } from '../../../../src/domain/scheduling/place.ts'
import { formatQuantity, parseQuantities, parseQuantity } from '../../../../src/domain/scheduling/quantity.ts'

function room(id: string, cpu: string, rest: Partial<AgentRoom> = {}): AgentRoom {
  return { id, free: parseQuantities({ cpu }), capacity: parseQuantities({ cpu }), kernels: 0, ...rest }
}

function session(id: string, cpu: string, rest: Partial<PlaceableSession> & { size?: number } = {}): PlaceableSession {
  const { size = 1, ...given } = rest
  return {
    id,
    clusterMode: 'SINGLE_NODE',
    kernelIds: Array.from({ length: size }, (_, n) => `${id}-${n}`),
    slots: parseQuantities({ cpu }),
    skips: 0,
    avoidAgents: new Set(),
    allowAgents: new Set(),
    ...given,
  }
}

const agentsOf = (placement: ReturnType<typeof place>) =>
  Object.fromEntries(
    placement.placed.map(({ sessionId, kernels }) => [sessionId, kernels.map(({ agentId }) => agentId).join('')]),
  )

describe('the selector', () => {
  const three = () => [session('s', '1'), session('t', '1'), session('u', '1')]
  it('DISPERSED takes the agent with the fewest kernels', () => {
    expect(agentsOf(place(three(), [room('a', '9'), room('b', '9', { kernels: 1 })], 'DISPERSED'))).toEqual({
      s: 'a',
      t: 'a',
      u: 'b',
    })
  })

  it('CONCENTRATED takes the one with the most that fits', () => {
    expect(agentsOf(place(three(), [room('a', '9'), room('b', '2', { kernels: 1 })], 'CONCENTRATED'))).toEqual({
      s: 'b',
      t: 'b',
      u: 'a',
    })
  })

  it('goes only to agents that are allowed, and to avoided ones last', () => {
    const agents = [room('a', '1'), room('b', '1'), room('c', '1')]
    const sessions = [
      session('s', '1', { avoidAgents: new Set(['a']), allowAgents: new Set(['a', 'c']) }),
      session('t', '1', { allowAgents: new Set(['c']) }),
    ]
    const placement = place(sessions, agents, 'DISPERSED')
    expect(agentsOf(placement)).toEqual({ s: 'c' })
    expect(placement.skipped).toMatchObject([{ sessionId: 't' }])
  })
})

describe('the line', () => {
  const old = { skips: HEAD_OF_LINE_SKIPS_MAX }
  it('is overtaken by what fits', () => {
    const { placed, overtaken, skipped } = place(
      [session('big', '5'), session('s', '1'), session('t', '1')],
      [room('a', '4')],
      'DISPERSED',
    )
    expect({ placed: placed.map(({ sessionId }) => sessionId), overtaken }).toEqual({
      placed: ['s', 't'],
      overtaken: ['big'],
    })
    expect(skipped).toEqual([{ sessionId: 'big', reason: 'needs cpu 5, the most that an agent has free is 4' }])
  })

  it('is held by what was overtaken too often, if it can ever fit', () => {
    const busy = room('a', '4', { capacity: parseQuantities({ cpu: '8' }) })
    expect(place([session('big', '5', old), session('s', '1')], [busy], 'DISPERSED').placed).toEqual([])
    const small = room('a', '4')
    expect(agentsOf(place([session('big', '5', old), session('s', '1')], [small], 'DISPERSED'))).toEqual({ s: 'a' })
  })
})

it('no placement gives more than there is, nor half a session, nor splits a single node', () => {
  const cpu = fc.constantFrom('0.1', '0.3', '1', '2', '7')
  const sessions = fc.array(
    fc.record({
      cpu,
      size: fc.integer({ min: 1, max: 4 }),
      skips: fc.constantFrom(0, HEAD_OF_LINE_SKIPS_MAX),
      multi: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  const agents = fc.array(cpu, { maxLength: 4 })
  const selector = fc.constantFrom('DISPERSED', 'CONCENTRATED', 'ROUND_ROBIN' as const)
  fc.assert(
    fc.property(sessions, agents, selector, (wanted, rooms, by) => {
      const line = wanted.map(({ multi, cpu: amount, ...rest }, n) =>
        session(`s${n}`, amount, { ...rest, clusterMode: multi ? 'MULTI_NODE' : 'SINGLE_NODE' }),
      )
      const placement = place(
        line,
        rooms.map((amount, n) => room(`a${n}`, amount)),
        by,
      )
      const used = new Map<string, bigint>()
      for (const { sessionId, kernels } of placement.placed) {
        const { slots, kernelIds, clusterMode } = line.find(({ id }) => id === sessionId)!
        expect(kernels.map(({ kernelId }) => kernelId)).toEqual(kernelIds)
        if (clusterMode === 'SINGLE_NODE') expect(new Set(kernels.map(({ agentId }) => agentId)).size).toBe(1)
        for (const { agentId } of kernels) used.set(agentId, (used.get(agentId) ?? 0n) + slots.get('cpu')!)
      }
      for (const [n, amount] of rooms.entries()) expect((used.get(`a${n}`) ?? 0n) <= parseQuantity(amount)).toBe(true)
      expect(placement.placed.length + placement.skipped.length).toBe(line.length)
    }),
    { numRuns: 300 },
  )
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
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        (quantity) => parseQuantity(formatQuantity(quantity)) === quantity,
      ),
    )
  })
})
