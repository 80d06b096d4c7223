import { describe, expect, test } from 'vitest'
import { parseCards, parseSamples } from '../../../src/agent/gpus/amd.ts'
import { assignGpus } from '../../../src/agent/gpus/assign-gpus.ts'
import type { DetectedGpu } from '../../../src/agent/gpus/gpu-driver.ts'
import { parseXid } from '../../../src/agent/gpus/gpu-faults.ts'
import { addSamples } from '../../../src/agent/gpus/gpu-usage.ts'
import { gpuMemoryFailure } from '../../../src/agent/gpus/kernel-gpus.ts'
import type { Node } from '../../../src/agent/executors/slurm/capacity.ts'
import { parseCapacity } from '../../../src/agent/executors/slurm/capacity.ts'
import { parseDevices, parseUse, partitionGpus } from '../../../src/agent/executors/slurm/slurm-gpus.ts'
import { parseInstances, parseLinks } from '../../../src/agent/gpus/nvidia.ts'

const GIB = 1024 ** 3

describe('what nvidia-smi prints', () => {
  test('instances are listed below their GPU', () => {
    const text = `GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5b)
  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4)
  MIG 1g.5gb      Device  1: (UUID: MIG-cba6)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-90ab)
`
    expect(parseInstances(text)).toEqual([
      { parent: 'GPU-5d5b', uuid: 'MIG-c6d4', profile: '3g.20gb', memoryBytes: 20 * GIB },
      { parent: 'GPU-5d5b', uuid: 'MIG-cba6', profile: '1g.5gb', memoryBytes: 5 * GIB },
    ])
  })

  test('NVLink is faster than a common switch, which is faster than the other socket', () => {
    const rank = parseLinks(
      '\t\u001B[4mGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\u001B[0m\nGPU0\t X \tNV12\tPIX\tSYS\t0-15\t0\nGPU1\tNV12\t X \tNODE\tSYS\t0-15\t0\nGPU2\tPIX\tNODE\t X \tPHB\t16-31\t1\nGPU3\tSYS\tSYS\tPHB\t X \t16-31\t1\n\nLegend:\n\n  X    = Self\n',
    )
    const ranks = [rank(0, 1), rank(0, 2), rank(2, 3), rank(1, 2), rank(0, 3)]
    expect(ranks).toEqual(ranks.toSorted((a, b) => b - a))
    expect(new Set(ranks).size).toBe(5)
    expect(rank(0, 9)).toBe(0)
  })

  test('an Xid error is fatal, or a fault of the program', () => {
    const fallen = '3,1234,567,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.'
    expect(parseXid(fallen)).toEqual({ busId: '0000:3b:00', reason: 'Xid 79: GPU has fallen off the bus.' })
    expect(parseXid('3,1,2,-;NVRM: Xid (PCI:0000:3b:00): 13, pid=1, Graphics Exception')).toBeNull()
    expect(parseXid('6,1,2,-;usb 1-1: new device')).toBeNull()
  })
})

test('the cards of rocm-smi', () => {
  const text = JSON.stringify({
    card0: {
      'Unique ID': '0x18F68E602B8A790F',
      'Card Series': 'AMD INSTINCT MI250X',
      'VRAM Total Memory (B)': '68702699520',
      'VRAM Total Used Memory (B)': '1024',
      'GPU use (%)': '50',
      'PCI Bus': '0000:C1:00.0',
    },
    card1: { 'Unique ID': 'N/A' },
    system: { 'Driver version': '6.3.6' },
  })
  expect(parseCards(text)).toMatchObject([
    {
      slot: 'rocm.device',
      index: 0,
      uuid: 'GPU-18f68e602b8a790f',
      name: 'AMD INSTINCT MI250X',
      memoryBytes: 68_702_699_520,
      driver: '6.3.6',
    },
    { index: 1, uuid: 'card1', memoryBytes: null },
  ])
  expect(parseSamples(text)[0]).toMatchObject({ usedMemoryBytes: 1024, utilization: 0.5 })
  expect(() => parseCards('no')).toThrow('rocm-smi: its answer is not JSON')
})

describe('the choice of GPUs', () => {
  const gpus = Array.from({ length: 4 }, (_, index): DetectedGpu => ({
    slot: 'cuda.device',
    uuid: `GPU-${index}`,
    index,
    name: 'A',
    memoryBytes: null,
    driver: '',
    busId: '',
    parent: null,
  }))
  const indexes = (chosen: DetectedGpu[] | null) => chosen?.map(({ index }) => index) ?? null

  test('takes those with the fastest connections, and the lowest indexes of equal ones', () => {
    const rank = (a: number, b: number) => (a + b === 4 ? 10 : 1)
    expect(indexes(assignGpus(gpus, 1))).toEqual([0])
    expect(indexes(assignGpus(gpus, 2, rank))).toEqual([1, 3])
    expect(indexes(assignGpus(gpus.slice(1), 2))).toEqual([1, 2])
    expect(indexes(assignGpus(gpus, 0))).toEqual([])
    expect(indexes(assignGpus(gpus, 5))).toBeNull()
  })
})

test('usage adds up over GPUs and time', () => {
  const sample = (usedMemoryBytes: number, utilization: number) => ({
    uuid: 'a',
    temperatureCelsius: 40,
    usedMemoryBytes,
    utilization,
    powerWatts: 100,
    uncorrectedErrors: 0,
  })
  const first = addSamples(undefined, [sample(10, 0), sample(5, 0)], 0)
  const second = addSamples(first, [sample(4, 1), sample(1, 0.5)], 10_000)
  expect(second).toMatchObject({
    peakMemoryBytes: 15,
    peakUtilization: 1,
    energyJoules: 2000,
    gpuSeconds: 20,
    busySeconds: 15,
  })
  expect(addSamples(second, [undefined], 20_000)).toMatchObject({
    peakMemoryBytes: 15,
    gpuSeconds: 30,
    busySeconds: 15,
  })
})

test.each([
  ['torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB', true],
  ['RuntimeError: CUDA error: out of memory', true],
  ['tensorflow: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes', true],
  ['MemoryError', false],
])('%s: %s', (output, is) => {
  expect(gpuMemoryFailure({ gpus: ['GPU-a'] }, output, 1) !== null).toBe(is)
  expect(gpuMemoryFailure({ gpus: [] }, output, 1)).toBeNull()
})

describe('GPUs of a cluster', () => {
  const node = (name: string, gres: string, state = 'idle'): Node =>
    parseCapacity(`${name}|${state}|0/16/0/16|4000|${gres}|\n`, { 'cuda.device': 'gpu' }, 1).nodes[0]!

  test('Slurm tells their number and types', () => {
    expect(node('n1', 'gpu:a100:2(S:0-1),gpu:1,fpga:3').gpus).toEqual([
      { slot: 'cuda.device', type: 'a100', count: 2 },
      { slot: 'cuda.device', type: null, count: 1 },
    ])
    const nodes = [node('n1', 'gpu:a100:1,gpu:1'), node('n2', 'gpu:t4:8', 'down')]
    expect(partitionGpus(nodes, [])).toMatchObject([
      { uuid: 'n1-a100-0', index: 0, name: 'a100', memoryBytes: null, kernelId: null },
      { uuid: 'n1-gpu-1', index: 1, name: 'GPU' },
    ])
  })

  test('of more than an agent may report, each model has its part, and whole nodes', () => {
    const many = Array.from({ length: 100 }, (_, at) => node(`n${at}`, 'gpu:a100:8'))
    const listed = partitionGpus([...many, node('x', 'gpu:h100:8')], [])
    const counts = Map.groupBy(listed, ({ name }) => name)
    expect(listed.length).toBeLessThanOrEqual(256)
    expect([counts.get('a100')!.length, counts.get('h100')!.length]).toEqual([248, 8])
    expect(new Set(listed.map(({ uuid }) => uuid)).size).toBe(listed.length)
  })

  test('what a job has written counts only if it makes sense', () => {
    const gpu = { index: 0, uuid: 'GPU-a', name: 'A100', memoryBytes: null }
    expect(parseDevices(`${JSON.stringify([gpu])}\n`)).toEqual([{ slot: 'cuda.device', ...gpu }])
    for (const text of ['', '[{"index":0', '{}', '[null]', '[{"index":0,"uuid":"../x"}]'])
      expect(parseDevices(text)).toBeNull()
    expect(parseUse('10 50 1500 60 - 60 30\n')).toEqual({
      usage: {
        peakMemoryBytes: 10 * 1024 ** 2,
        meanUtilization: 0.25,
        peakUtilization: 0.5,
        energyJoules: null,
        gpuSeconds: 60,
      },
      idleSeconds: 30,
    })
    for (const text of ['', '10 50 1500 60 - 60 30', '1 2 3\n', 'x 50 1500 60 - 60 30\n'])
      expect(parseUse(text)).toBeNull()
  })
})
