import { expect, test } from 'vitest'
import { flattenOverrides, specDifference, type AttemptSpec } from '../../../src/domain/chain/spec-difference.ts'

const ENVIRON = [
  { name: 'B', value: '1' },
  { name: 'A', value: '' },
]
const SPEC: AttemptSpec = {
  image: null,
  command: ['sh', '-c', 'true'],
  environ: ENVIRON,
  secretEnviron: [{ name: 'KEY', sealed: 'a', digest: 'd' }],
  resourceSlots: { cpu: '1', mem: '1024' },
  clusterMode: 'SINGLE_NODE',
  clusterSize: 1,
  batchTimeout: 60,
  priority: 10,
  labels: {},
  resourceGroup: 'default',
  retryPolicy: { maxRetries: 1, maxElapsed: null, rules: [] },
  avoidAgents: [],
  allowAgents: [],
  excludeAgents: [],
  avoidGroups: [],
}

test('the same spec has no differences, whatever the order of its maps', () => {
  const turned = { ...SPEC, environ: ENVIRON.toReversed(), resourceSlots: { mem: '1024', cpu: '1' } }
  expect(specDifference(SPEC, turned)).toEqual([])
})

test.each<[string, Partial<AttemptSpec>, object[]]>([
  ['text', { image: 'python' }, [{ field: 'image', before: null, after: 'python' }]],
  ['a number', { batchTimeout: 90.5 }, [{ field: 'batchTimeout', before: '60', after: '90.5' }]],
  ['a number that goes', { batchTimeout: null }, [{ field: 'batchTimeout', before: '60', after: null }]],
  ['a list', { command: ['true'] }, [{ field: 'command', before: '["sh","-c","true"]', after: '["true"]' }]],
  [
    'one of a map',
    { resourceSlots: { cpu: '1', mem: '2048' } },
    [{ field: 'resourceSlots.mem', before: '1024', after: '2048' }],
  ],
  [
    'variables that come, go, and were empty',
    {
      environ: [
        { name: 'C', value: '' },
        { name: 'A', value: 'x' },
      ],
    },
    [
      { field: 'environ.A', before: '', after: 'x' },
      { field: 'environ.B', before: '1', after: null },
      { field: 'environ.C', before: null, after: '' },
    ],
  ],
  [
    'fields of the policy',
    { retryPolicy: { maxRetries: 0, maxElapsed: 60, rules: [{ action: 'FAIL' }] } },
    [
      { field: 'retryPolicy.maxElapsed', before: null, after: '60' },
      { field: 'retryPolicy.maxRetries', before: '1', after: '0' },
      { field: 'retryPolicy.rules', before: '[]', after: '[{"action":"FAIL"}]' },
    ],
  ],
])('a difference in %s', (_name, changed, differences) => {
  expect(specDifference(SPEC, { ...SPEC, ...changed })).toEqual(differences)
})

test('overrides are told one by one', () => {
  const overrides = { priority: 3, batchTimeout: null, resourceSlots: { mem: '1' }, avoidAgents: ['a'] }
  const before = { priority: 10, batchTimeout: 60, resourceSlots: { cpu: '1', mem: '2' } }
  expect(flattenOverrides(overrides, before)).toEqual([
    { field: 'avoidAgents', value: '["a"]', before: null },
    { field: 'batchTimeout', value: null, before: '60' },
    { field: 'priority', value: '3', before: '10' },
    { field: 'resourceSlots.mem', value: '1', before: '2' },
  ])
})
