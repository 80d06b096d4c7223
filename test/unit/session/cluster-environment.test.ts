import { expect, it } from 'vitest'
import { clusterEnvironment } from '../../../src/domain/session/kernel-environment.ts'

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

it('tells a kernel what it is, and where all are, in their order', () => {
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
