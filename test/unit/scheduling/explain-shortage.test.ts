import { expect, it } from 'vitest'
import { reserve } from '../../../src/domain/scheduling/agent-pool.ts'
import { explainShortage } from '../../../src/domain/scheduling/explain-pending.ts'
import { agentWith, type Amounts, request, type RequestSpec } from './lines.ts'

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
])('tells of %s', (_, slots, spec, words) => {
  expect(explainShortage(request(slots, spec), [A(), B()], 'g')?.long).toBe(words)
})

it('tells that no agent is there', () => {
  expect(explainShortage(request({ cpu: '1' }), [], 'g')?.long).toBe('no agent of resource group g is alive')
})

it('what is reserved for others is free in truth', () => {
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
  ['a kernel that is too large', { cpu: '5' }, {}, 'no machine of resource group g has more than cpu 4, it asks for 5'],
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
])('an agent of several machines: tells of %s', (_, slots, spec, words) => {
  const cluster = agentWith('c', { cpu: '64', license: '9' }, {}, {}, { cpu: '4' })
  expect(explainShortage(request(slots, spec), [cluster], 'g')?.long).toBe(words)
})

it('another agent has what one of several machines has not', () => {
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
