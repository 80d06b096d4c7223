import { describe, expect, it } from 'vitest'
import { agentsOf, placeAll, agentWith, session } from './lines.ts'

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
    expect(agentsOf(placeAll(three(), agents(), { ...options, roundRobinAt: 'a' }))).toEqual({ s: 'c', t: 'a', u: 'c' })
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

  it('goes to no agent that is excluded, and says that none is left', () => {
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

  it('gets only what one of them can have', () => {
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

  it('nothing is reserved there for what it can never take', () => {
    const line = [session('s', cpu('5'), { skips: 1_000 }), session('t', cpu('4'))]
    expect(agentsOf(placeAll(line, [cluster()]))).toEqual({ t: 'a' })
  })
})
