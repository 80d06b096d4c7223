import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HEAD_OF_LINE_SKIPS_MAX } from '../../../src/domain/limits.ts'
import { CAPACITY_IS_RESERVED } from '../../../src/domain/scheduling/explain-pending.ts'
import { inOrderOfAge } from '../../../src/domain/scheduling/sequence.ts'
import { parseQuantities, parseQuantity } from '../../../src/domain/scheduling/resource-request.ts'
import type { QuotaUse } from '../../../src/domain/scheduling/quota-use.ts'
import { agentsOf, agentWith, orderOf, placeAll, session } from './lines.ts'
import { checkProperty } from '../../support/seeds.ts'

const cpu = (amount: string) => ({ cpu: amount })
const OVERDUE = { skips: HEAD_OF_LINE_SKIPS_MAX }

describe('the line', () => {
  it('is overtaken by what fits, and each that is passed counts how many went', () => {
    const line = [session('a-big', cpu('5')), session('b', cpu('1')), session('c', cpu('1')), session('d', cpu('1'))]
    const { placed, overtaken, skipped } = placeAll(line, [agentWith('x', cpu('8'), cpu('3'))])
    expect(placed.map(({ sessionId }) => sessionId)).toEqual(['b', 'c', 'd'])
    expect(overtaken).toEqual(new Map([['a-big', 3]]))
    expect(skipped).toEqual([
      { sessionId: 'a-big', reason: 'needs cpu 5, more than any agent of resource group g has free' },
    ])
  })

  it('is not overtaken by anybody where no agent can ever have what it needs, so nothing is reserved for it', () => {
    const line = [session('a-huge', cpu('16')), session('b', cpu('1')), session('c', cpu('1'))]
    const { placed, overtaken, skipped } = placeAll(line, [agentWith('x', cpu('8'), cpu('3'))])
    expect(placed.map(({ sessionId }) => sessionId)).toEqual(['b', 'c'])
    expect(overtaken.size).toBe(0)
    expect(skipped).toMatchObject([{ sessionId: 'a-huge' }])
    const overdue = [session('a-huge', cpu('16'), OVERDUE), session('b', cpu('1'))]
    expect(agentsOf(placeAll(overdue, [agentWith('x', cpu('8'), cpu('1'))]))).toEqual({ b: 'x' })
  })

  it('with the youngest first, is overtaken by those that went before its turn, too', () => {
    const line = [session('a-big', cpu('5')), session('b', cpu('1')), session('c', cpu('1'))]
    const sequence = inOrderOfAge(line, true, line.length)
    const placement = placeAll(line, [agentWith('x', cpu('8'), cpu('3'))], { sequence })
    expect(orderOf(placement)).toBe('c b')
    expect(placement.overtaken).toEqual(new Map([['a-big', 2]]))
  })

  it('is held where it was passed too often: capacity is reserved, and the rest goes on', () => {
    const line = [session('a-big', cpu('5'), OVERDUE), session('b', cpu('3')), session('c', cpu('1'))]
    const busy = agentWith('x', cpu('8'), cpu('4'))
    const placement = placeAll(line, [busy])
    // 3 of 8 are left besides the 5 that are reserved, and 4 are in use.
    expect(agentsOf(placement)).toEqual({})
    expect(placement.overtaken.size).toBe(0)
    expect(placement.skipped.map(({ reason }) => reason)).toEqual([
      'needs cpu 5, more than any agent of resource group g has free',
      CAPACITY_IS_RESERVED,
      CAPACITY_IS_RESERVED,
    ])
    expect(agentsOf(placeAll(line, [busy, agentWith('y', cpu('4'))]))).toEqual({ b: 'y', c: 'y' })
    expect(agentsOf(placeAll(line, [agentWith('x', cpu('8'), cpu('6'))]))).toEqual({ 'a-big': 'x', c: 'x' })
  })

  it('is held within the look in which the last is let pass', () => {
    const line = [session('a-big', cpu('5'), { skips: HEAD_OF_LINE_SKIPS_MAX - 2 })]
    for (const id of 'bcdef') line.push(session(id, cpu('1')))
    const placement = placeAll(line, [agentWith('x', cpu('5'), cpu('4'))])
    expect(orderOf(placement)).toBe('b c')
    expect(placement.overtaken).toEqual(new Map([['a-big', 2]]))
  })

  it('reserves capacity on the agent that lacks the least, avoided agents last', () => {
    const agents = () => [agentWith('x', cpu('8'), cpu('2')), agentWith('y', cpu('8'), cpu('3'))]
    const rest = [session('b', cpu('2')), session('c', cpu('3'))]
    expect(agentsOf(placeAll([session('a', cpu('8'), OVERDUE), ...rest], agents()))).toEqual({ b: 'x' })
    const avoiding = session('a', cpu('8'), { ...OVERDUE, avoidAgents: ['y'] })
    expect(agentsOf(placeAll([avoiding, ...rest], agents()))).toEqual({ b: 'y' })
  })

  it('is not held by what no agent could take even if it were empty, nor is that passed', () => {
    const line = [session('a', cpu('9'), OVERDUE), session('b', cpu('9')), session('c', cpu('1'))]
    const placement = placeAll(line, [agentWith('x', cpu('8'))])
    expect({ placed: orderOf(placement), overtaken: placement.overtaken.size }).toEqual({ placed: 'c', overtaken: 0 })
  })

  it('counts only the first of each scheduling class, and those of its own priority or lower', () => {
    const line = [
      session('a', cpu('5')),
      session('b', cpu('5')),
      session('c', cpu('1')),
      session('d', cpu('1'), { priority: 90 }),
    ]
    expect(placeAll(line, [agentWith('x', cpu('8'), cpu('4'))]).overtaken).toEqual(new Map([['a', 1]]))
  })

  it('goes by priority: an overdue session of a lower one keeps nothing from a higher one', () => {
    const line = [session('a', cpu('8'), OVERDUE), session('b', cpu('4'), { priority: 90 })]
    expect(orderOf(placeAll(line, [agentWith('x', cpu('8'), cpu('4'))]))).toBe('b')
  })

  it('ends where more of a class may be waiting than was taken, behind what was taken without a gap', () => {
    const line = [session('a', cpu('1')), session('b', cpu('2')), session('c', cpu('2')), session('d', cpu('3'))]
    const longClasses = [line[0]!.claimedClass]
    const look = (covered: number, free = '9') =>
      placeAll(line, [agentWith('x', cpu('9'), cpu(free))], {
        sequence: inOrderOfAge(line, false, covered),
        longClasses,
      })
    expect([orderOf(look(0)), orderOf(look(3)), orderOf(look(4))]).toEqual(['a', 'a b c', 'a b c d'])
    expect([look(0).ranOut, look(3, '0').ranOut]).toEqual([true, false])
  })
})

describe('quotas', () => {
  const quota = (limits: Partial<QuotaUse>): QuotaUse => ({
    name: 'project p',
    slots: new Map(),
    usedSlots: new Map(),
    maxRunning: null,
    running: 0,
    ...limits,
  })

  it('stop those whom they limit, who are neither overdue nor passed', () => {
    const quotas = [quota({ slots: parseQuantities(cpu('3')), usedSlots: parseQuantities(cpu('1')) })]
    const line = [
      session('a', cpu('3'), { quotas, ...OVERDUE, size: 2 }),
      session('b', cpu('2'), { quotas }),
      session('c', cpu('1'), { quotas }),
      session('d', cpu('4'), { owner: 'other' }),
    ]
    const placement = placeAll(line, [agentWith('x', cpu('9'))])
    expect(orderOf(placement)).toBe('b d')
    expect(placement.overtaken.size).toBe(0)
    expect(placement.skipped).toEqual([
      { sessionId: 'a', reason: 'the quota of project p allows cpu 3 in all, it asks for 6' },
      { sessionId: 'c', reason: 'the quota of project p allows cpu 3 in all, it asks for 1' },
    ])
  })

  it('count running sessions', () => {
    const quotas = [quota({ maxRunning: 2, running: 1 })]
    const line = [session('a', cpu('1'), { quotas }), session('b', cpu('2'), { quotas })]
    const placement = placeAll(line, [agentWith('x', cpu('9'))])
    expect(orderOf(placement)).toBe('a')
    expect(placement.skipped[0]!.reason).toBe('the quota of project p allows 2 running sessions')
  })
})

it('no placement gives more than there is, nor half a session, nor splits a single node', () => {
  const amount = fc.constantFrom('0.1', '0.3', '1', '2', '7')
  const sessions = fc.array(
    fc.record({
      amount,
      size: fc.integer({ min: 1, max: 4 }),
      skips: fc.constantFrom(0, HEAD_OF_LINE_SKIPS_MAX),
      mode: fc.constantFrom('SINGLE_NODE', 'MULTI_NODE'),
      avoidAgents: fc.subarray(['a0', 'a1']),
      allowAgents: fc.constantFrom<string[]>([], ['a1', 'a2']),
    }),
    { maxLength: 12 },
  )
  const agents = fc.array(amount, { maxLength: 4 })
  const selector = fc.constantFrom('DISPERSED', 'CONCENTRATED', 'ROUND_ROBIN' as const)
  checkProperty(
    fc.property(sessions, agents, selector, fc.boolean(), (wanted, capacities, by, youngestFirst) => {
      const line = wanted.map(({ amount: of, ...rest }, n) => session(`s${n}`, cpu(of), rest))
      const placement = placeAll(
        line,
        capacities.map((of, n) => agentWith(`a${n}`, cpu(of))),
        { selector: by, sequence: inOrderOfAge(line, youngestFirst, line.length) },
      )
      const used = new Map<string, bigint>()
      for (const { sessionId, kernels } of placement.placed) {
        const { request, kernelIds } = line.find(({ id }) => id === sessionId)!
        expect(kernels.map(({ kernelId }) => kernelId)).toEqual(kernelIds)
        const on = new Set(kernels.map(({ agentId }) => agentId))
        if (request.clusterMode === 'SINGLE_NODE') expect(on.size).toBe(1)
        if (request.allowAgents.size > 0) expect([...on].every((agent) => request.allowAgents.has(agent))).toBe(true)
        for (const { agentId } of kernels) used.set(agentId, (used.get(agentId) ?? 0n) + request.slots.get('cpu')!)
      }
      for (const [n, of] of capacities.entries()) expect((used.get(`a${n}`) ?? 0n) <= parseQuantity(of)).toBe(true)
      expect(placement.placed.length + placement.skipped.length).toBe(line.length)
    }),
    { numRuns: 300 },
  )
})
