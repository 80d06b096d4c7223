import { expect, test } from 'vitest'
import { limitFiles } from '../../../src/agent/executors/process/limits/cgroup-limits.ts'

const ALL = new Set(['memory', 'pids', 'cpu'] as const)

test.each([
  [
    1,
    { memoryBytes: 1000, processes: 7, cpus: 2.5 },
    ['pids.max 7', 'cpu.shares 2560', 'memory.limit_in_bytes 1000', 'memory.memsw.limit_in_bytes 1000 if there'],
  ],
  [
    2,
    { memoryBytes: 1000, processes: 7, cpus: 2.5 },
    ['pids.max 7', 'cpu.weight 250', 'memory.max 1000', 'memory.swap.max 0 if there', 'memory.oom.group 1'],
  ],
  // The share of one processor is what a group has that nobody touches: 1024, or 100.
  [1, { memoryBytes: null, processes: 7, cpus: null }, ['pids.max 7']],
  [2, { memoryBytes: null, processes: 7, cpus: null }, ['pids.max 7']],
  [1, { memoryBytes: null, processes: 7, cpus: 1 }, ['pids.max 7', 'cpu.shares 1024']],
  [2, { memoryBytes: null, processes: 7, cpus: 1 }, ['pids.max 7', 'cpu.weight 100']],
  [1, { memoryBytes: null, processes: 7, cpus: 0.0001 }, ['pids.max 7', 'cpu.shares 2']],
  [2, { memoryBytes: null, processes: 7, cpus: 0.0001 }, ['pids.max 7', 'cpu.weight 1']],
  [1, { memoryBytes: null, processes: 7, cpus: 1000 }, ['pids.max 7', 'cpu.shares 262144']],
  [2, { memoryBytes: null, processes: 7, cpus: 1000 }, ['pids.max 7', 'cpu.weight 10000']],
] as const)('version %i: %j', (version, limits, expected) => {
  const files = limitFiles(version, ALL, limits)
  expect(files.map(({ name, value, optional }) => `${name} ${value}${optional ? ' if there' : ''}`)).toEqual(expected)
})

test.each([1, 2] as const)('version %i: nothing is written for a controller that is not there', (version) => {
  const limits = { memoryBytes: 1000, processes: 7, cpus: 2 }
  expect(limitFiles(version, new Set(), limits)).toEqual([])
  for (const controller of ALL)
    for (const { name } of limitFiles(version, new Set([controller]), limits))
      expect(name.startsWith(`${controller}.`)).toBe(true)
})
