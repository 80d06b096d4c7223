import { expect, it } from 'vitest'
import { chooseGroup, type GroupAgent, type GroupSeeker } from '../../../src/domain/retry/child.ts'

const SEEKER: GroupSeeker = {
  resourceGroup: 'home',
  avoidGroups: ['home'],
  avoidAgents: [],
  allowAgents: [],
  excludeAgents: [],
  agentLabels: {},
  volumeNeed: null,
  resourceSlots: { cpu: '2' },
  clusterMode: 'SINGLE_NODE',
  clusterSize: 1,
}

const VOLUME = { name: 'data', readOnly: true, projects: ['beta'] }

/** `<group>/<name>`, each with 4 cpu where nothing is said. */
function agents(...ids: (string | [id: string, given: Partial<GroupAgent>])[]): GroupAgent[] {
  return ids.map((one) => {
    const [id, given] = typeof one === 'string' ? [one, {}] : one
    return {
      id,
      resourceGroup: id.split('/')[0]!,
      labels: {},
      capacity: { cpu: '4' },
      perKernel: null,
      volumes: null,
      ...given,
    }
  })
}

it.each<[string, Partial<GroupSeeker>, GroupAgent[], string]>([
  ['the first by name', {}, agents('home/1', 'c/1', 'b/1'), 'b'],
  ['its own where there is no other', {}, agents('home/1'), 'home'],
  ['its own where it does not avoid it', { avoidGroups: ['b'] }, agents('home/1', 'c/1'), 'home'],
  [
    'one that has its volumes for its project',
    { volumeNeed: { project: 'alpha', mounts: [{ volume: 'data', path: '/data', readOnly: true }] } },
    agents('home/1', ['b/1', { volumes: [VOLUME] }], ['c/1', { volumes: [{ ...VOLUME, projects: ['alpha'] }] }]),
    'c',
  ],
  [
    'one with a machine that is large enough',
    {},
    agents('home/1', ['b/1', { capacity: { cpu: '64' }, perKernel: { cpu: '1' } }], 'c/1'),
    'c',
  ],
  ['one that it does not avoid', { avoidGroups: ['b', 'home'] }, agents('home/1', 'b/1', 'c/1'), 'c'],
  ['the one avoided for the longest', { avoidGroups: ['c', 'b', 'home'] }, agents('home/1', 'b/1', 'c/1'), 'c'],
  ['never the one that failed last', { avoidGroups: ['home', 'b'] }, agents('home/1', 'b/1'), 'b'],
  ['one whose agents it does not avoid', { avoidAgents: ['b/1'] }, agents('b/1', 'c/1'), 'c'],
  ['one with avoided agents where there is no other', { avoidAgents: ['b/1'] }, agents('home/1', 'b/1'), 'b'],
  ['one with an agent that is not excluded', { excludeAgents: ['b/1'] }, agents('b/1', 'c/1'), 'c'],
  ['its own where all others are excluded', { excludeAgents: ['b/1'] }, agents('home/1', 'b/1'), 'home'],
  ['one with an allowed agent', { allowAgents: ['c/1'] }, agents('b/1', 'c/1'), 'c'],
  ['one with the labels', { agentLabels: { gpu: 'a' } }, agents('b/1', ['c/1', { labels: { gpu: 'a' } }]), 'c'],
  ['one with the slots', { resourceSlots: { cpu: '6' } }, agents('b/1', ['c/1', { capacity: { cpu: '6' } }]), 'c'],
  [
    'one with capacity for all kernels on an agent',
    { clusterSize: 3 },
    agents('b/1', 'b/2', ['c/1', { capacity: { cpu: '6' } }]),
    'c',
  ],
  [
    'one with agents enough for kernels that spread',
    { clusterSize: 3, clusterMode: 'MULTI_NODE' },
    agents('b/1', 'c/1', 'c/2'),
    'c',
  ],
])('chooses %s', (_what, given, those, group) => {
  expect(chooseGroup({ ...SEEKER, ...given }, those)).toBe(group)
})
