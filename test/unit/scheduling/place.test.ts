import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { HEAD_OF_LINE_SKIPS_MAX } from '../../../src/domain/limits.ts'
import { avoidedInOrder, reserve } from '../../../src/domain/scheduling/agent-pool.ts'
import {
  type CheckpointPlacement,
  placeByCheckpoint,
  preferring,
  type StoredCheckpoint,
} from '../../../src/domain/scheduling/checkpoint-placement.ts'
import { CAPACITY_IS_RESERVED, explainShortage } from '../../../src/domain/scheduling/explain-pending.ts'
import type { QuotaUse } from '../../../src/domain/scheduling/quota-use.ts'
import { parseQuantities, parseQuantity } from '../../../src/domain/scheduling/resource-request.ts'
import { inOrderOfAge } from '../../../src/domain/scheduling/sequence.ts'
import { checkProperty } from '../../support/seeds.ts'
import { agentsOf, agentWith, type Amounts, orderOf, placeAll, request, type RequestSpec, session } from './lines.ts'

describe('placing', () => {
  const cpu = (amount: string) => ({ cpu: amount })
  const OVERDUE = { skips: HEAD_OF_LINE_SKIPS_MAX }

  describe('the line', () => {
    it('is overtaken by smaller ones, and counts how many passed it', () => {
      const line = [session('a-big', cpu('5')), session('b', cpu('1')), session('c', cpu('1')), session('d', cpu('1'))]
      const { placed, overtaken, skipped } = placeAll(line, [agentWith('x', cpu('8'), cpu('3'))])
      expect(placed.map(({ sessionId }) => sessionId)).toEqual(['b', 'c', 'd'])
      expect(overtaken).toEqual(new Map([['a-big', 3]]))
      expect(skipped).toEqual([
        { sessionId: 'a-big', reason: 'needs cpu 5, more than any agent of resource group g has free' },
      ])
    })

    it('counts no passes where no agent can ever fit it, so nothing is reserved for it', () => {
      const line = [session('a-huge', cpu('16')), session('b', cpu('1')), session('c', cpu('1'))]
      const { placed, overtaken, skipped } = placeAll(line, [agentWith('x', cpu('8'), cpu('3'))])
      expect(placed.map(({ sessionId }) => sessionId)).toEqual(['b', 'c'])
      expect(overtaken.size).toBe(0)
      expect(skipped).toMatchObject([{ sessionId: 'a-huge' }])
      const overdue = [session('a-huge', cpu('16'), OVERDUE), session('b', cpu('1'))]
      expect(agentsOf(placeAll(overdue, [agentWith('x', cpu('8'), cpu('1'))]))).toEqual({ b: 'x' })
    })

    it('with the youngest first, also counts those that went before its turn', () => {
      const line = [session('a-big', cpu('5')), session('b', cpu('1')), session('c', cpu('1'))]
      const sequence = inOrderOfAge(line, true, line.length)
      const placement = placeAll(line, [agentWith('x', cpu('8'), cpu('3'))], { sequence })
      expect(orderOf(placement)).toBe('c b')
      expect(placement.overtaken).toEqual(new Map([['a-big', 2]]))
    })

    it('capacity is reserved for one that was passed too often, and the rest continues', () => {
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

    it('one that fits no empty agent holds nobody, and counts no passes', () => {
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

    it('ends where more of a class may wait than was read, behind the last one without a gap', () => {
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
          const { request: asked, kernelIds } = line.find(({ id }) => id === sessionId)!
          expect(kernels.map(({ kernelId }) => kernelId)).toEqual(kernelIds)
          const on = new Set(kernels.map(({ agentId }) => agentId))
          if (asked.clusterMode === 'SINGLE_NODE') expect(on.size).toBe(1)
          if (asked.allowAgents.size > 0) expect([...on].every((agent) => asked.allowAgents.has(agent))).toBe(true)
          for (const { agentId } of kernels) used.set(agentId, (used.get(agentId) ?? 0n) + asked.slots.get('cpu')!)
        }
        for (const [n, of] of capacities.entries()) expect((used.get(`a${n}`) ?? 0n) <= parseQuantity(of)).toBe(true)
        expect(placement.placed.length + placement.skipped.length).toBe(line.length)
      }),
      { numRuns: 300 },
    )
  })
})

describe('placing beside a checkpoint', () => {
  const agent = (id: string, status = 'ALIVE', isOpen = status === 'ALIVE') => ({ id, name: id, status, isOpen })
  const ANYWHERE = { allowAgents: [], avoidAgents: [], excludeAgents: [] }

  function placed(stored: Partial<StoredCheckpoint>, places: Partial<typeof ANYWHERE | Record<string, string[]>> = {}) {
    const checkpoint = { isRequired: true, attempt: 2, agents: [agent('a')], waitedMs: 0, waitMaxMs: 1_000, ...stored }
    return inWords(placeByCheckpoint(checkpoint, { ...ANYWHERE, ...places }))
  }

  function inWords(placement: CheckpointPlacement): string {
    if (placement.kind === 'wait') return `waits ${placement.leftMs}: ${placement.reason}`
    return `${placement.kind} ${[...placement.agents].join()}`
  }

  describe('an attempt goes where its checkpoint is', () => {
    test.each([
      ['if it can', placed({ isRequired: false }), 'prefer a'],
      ['or elsewhere', placed({ isRequired: false, agents: [agent('a', 'LOST')] }), 'prefer '],
      ['and nowhere else', placed({}), 'only a'],
      [
        'though not where it may not',
        placed({}, { allowAgents: ['b'] }),
        'waits 1000: its checkpoint of attempt 2 is on agent a, where it may not go',
      ],
      [
        'once that is back',
        placed({ agents: [agent('a', 'LOST')] }),
        'waits 1000: its checkpoint of attempt 2 is on agent a, which is LOST',
      ],
      [
        'of several',
        placed({ agents: [agent('a', 'LOST'), agent('b', 'LOST')] }),
        'waits 1000: its checkpoint of attempt 2 is on agent a, the first of 2 that have it, which is LOST',
      ],
      ['that there are no more', placed({ agents: [] }), 'waits 1000: no agent has its checkpoint of attempt 2'],
      ['but not for ever', placed({ agents: [agent('a', 'LOST')], waitedMs: 1_000 }), 'prefer '],
      ['unless the place is bad', placed({}, { avoidAgents: ['a'] }), 'prefer a'],
      ['or excluded', placed({}, { excludeAgents: ['a'] }), 'prefer '],
      ['and others share the store', placed({ agents: [agent('a'), agent('b')] }, { avoidAgents: ['a'] }), 'only a,b'],
      [
        'even if they are lost',
        placed({ agents: [agent('b', 'LOST')] }, { avoidAgents: ['a'] }),
        'waits 1000: its checkpoint of attempt 2 is on agent b, which is LOST',
      ],
    ])('%s', (_, found, expected) => expect(found).toBe(expected))
  })

  test('avoided agents follow those without a checkpoint', () => {
    const agents = ['a', 'b', 'c', 'd'].map((id) => ({ id }))
    const order = preferring(avoidedInOrder(['c', 'd']), new Set(['b', 'c']), agents)
    expect(agents.map(({ id }) => order.get(id) ?? 0)).toEqual([0.5, 0, 1, 2])
    expect(preferring(avoidedInOrder(['c']), new Set(), agents)).toEqual(avoidedInOrder(['c']))
  })
})

describe('explaining a shortage', () => {
  const A = () => agentWith('a', { cpu: '8', mem: '1024' }, { cpu: '2' })
  const B = () => agentWith('b', { cpu: '4', mem: '4096' }, { cpu: '3', mem: '1024' })

  it.each<[string, Amounts, RequestSpec, string | undefined]>([
    ['what fits', { cpu: '3' }, {}, undefined],
    ['more than there ever is', { cpu: '16' }, {}, 'no agent of resource group g has more than cpu 8, it asks for 16'],
    [
      'more on one agent than there ever is',
      { cpu: '4' },
      { size: 3 },
      'no agent of resource group g has more than cpu 8, it asks for 12 for its 3 kernels on one agent',
    ],
    ['a slot that nobody has', { fpga: '1' }, {}, 'no agent of resource group g has more than fpga 0, it asks for 1'],
    [
      'what only two agents together have',
      { cpu: '8', mem: '4096' },
      {},
      'no agent of resource group g has all of cpu 8, mem 4 KiB, which it asks for on one agent',
    ],
    [
      'more kernels than there is ever capacity for',
      { cpu: '4' },
      { size: 4, mode: 'MULTI_NODE' },
      'the agents of resource group g have capacity for at most 3 of its 4 kernels of cpu 4',
    ],
    ['more than is free', { cpu: '4' }, {}, 'needs cpu 4, the most that an agent of resource group g has free is 3'],
    [
      'more kernels than there is capacity for now',
      { cpu: '2' },
      { size: 3, mode: 'MULTI_NODE' },
      'needs cpu 2 for each of its 3 kernels; the agents of resource group g have capacity for 2',
    ],
    [
      'agents that are not there',
      { cpu: '1' },
      { allowAgents: ['c'] },
      'no agent of resource group g that it may go to is alive',
    ],
    ['labels', { cpu: '1' }, { agentLabels: { zone: 'x' } }, 'no agent of resource group g that it may go to is alive'],
    [
      'agents of its own',
      { cpu: '3' },
      { allowAgents: ['a'] },
      'needs cpu 3, the most that an agent of resource group g has free is 2',
    ],
  ])('names %s', (_, slots, spec, words) => {
    expect(explainShortage(request(slots, spec), [A(), B()], 'g')?.long).toBe(words)
  })

  it('reports that there is no agent', () => {
    expect(explainShortage(request({ cpu: '1' }), [], 'g')?.long).toBe('no agent of resource group g is alive')
  })

  it('slots reserved for others count as free', () => {
    const reserved = A()
    reserve(reserved, request({ cpu: '2' }).slots)
    expect(explainShortage(request({ cpu: '2' }), [reserved], 'g')).toBeUndefined()
  })

  it('the short words stay while the numbers change', () => {
    const [now, later] = [A(), agentWith('a', { cpu: '8' }, { cpu: '1' })].map((one) =>
      explainShortage(request({ cpu: '3' }), [one], 'g')!,
    )
    expect(now!.short).toBe(later!.short)
    expect(now!.long).not.toBe(later!.long)
  })

  it.each<[string, Amounts, RequestSpec, string | undefined]>([
    ['what fits on one machine', { cpu: '4' }, {}, undefined],
    ['what fits on several', { cpu: '4' }, { size: 12, mode: 'MULTI_NODE' }, undefined],
    [
      'a kernel that is too large',
      { cpu: '5' },
      {},
      'no machine of resource group g has more than cpu 4, it asks for 5',
    ],
    [
      'kernels that are too large together',
      { cpu: '2' },
      { size: 3 },
      'no machine of resource group g has more than cpu 4, it asks for 6 for its 3 kernels on one machine',
    ],
    [
      'more than all machines together',
      { cpu: '4' },
      { size: 17, mode: 'MULTI_NODE' },
      'the agents of resource group g have capacity for at most 16 of its 17 kernels of cpu 4',
    ],
    ['a slot of which a kernel may have all', { cpu: '1', license: '9' }, {}, undefined],
  ])('an agent of several machines: names %s', (_, slots, spec, words) => {
    const cluster = agentWith('c', { cpu: '64', license: '9' }, {}, {}, { cpu: '4' })
    expect(explainShortage(request(slots, spec), [cluster], 'g')?.long).toBe(words)
  })

  it('another agent has what one of several machines lacks', () => {
    const [cluster, large] = [
      agentWith('c', { cpu: '64' }, {}, {}, { cpu: '4' }),
      agentWith('l', { cpu: '8' }, { cpu: '2' }),
    ]
    const words = 'needs cpu 8, the most that an agent of resource group g has free is 2'
    expect(explainShortage(request({ cpu: '8' }), [cluster, large], 'g')?.long).toBe(words)
    const either = [{ cpu: '64', mem: '64' }, {}, {}] as const
    const split = [agentWith('c', ...either, { cpu: '4', mem: '9' }), agentWith('d', ...either, { cpu: '9', mem: '4' })]
    expect(explainShortage(request({ cpu: '6', mem: '6' }), split, 'g')).toMatchObject({
      forGood: true,
      long: 'no agent of resource group g has all of cpu 6, mem 6 bytes, which it asks for on one agent',
    })
  })
})
