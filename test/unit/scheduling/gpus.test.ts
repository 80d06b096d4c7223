import { describe, expect, it } from 'vitest'
import { type GpuNeed, meetsNeed, type ObservedGpu, oneModel } from '../../../src/domain/gpu.ts'
import { agentCapacity, type AgentCapacity } from '../../../src/domain/scheduling/agent-pool.ts'
import { explainShortage } from '../../../src/domain/scheduling/explain-pending.ts'
import { gpuSupply, withoutHeld } from '../../../src/domain/scheduling/gpu-supply.ts'
import { parseQuantities } from '../../../src/domain/scheduling/resource-request.ts'
import { agentsOf, placeAll, request, session, type SessionSpec } from './lines.ts'

const GIB = 1024 ** 3
const A100 = { name: 'NVIDIA A100-SXM4-40GB', memoryBytes: 40 * GIB }
const T4 = { name: 'Tesla T4', memoryBytes: 15 * GIB }

function gpu(uuid: string, model: { name: string; memoryBytes: number } = A100, fault: string | null = null) {
  const figures = { temperatureCelsius: null, usedMemoryBytes: null, utilization: null }
  return { slot: 'cuda.device', uuid, index: 0, ...model, kernelId: null, fault, ...figures } satisfies ObservedGpu
}

/** With a slot for each GPU in service. */
function machine(id: string, gpus: readonly ObservedGpu[], sharing: number | null = null): AgentCapacity {
  const count = gpus.filter(({ fault }) => fault === null).length
  const capacity = parseQuantities({ cpu: '64', 'cuda.device': String(count) })
  return agentCapacity({ id, labels: {}, capacity, free: new Map(capacity), gpus: gpuSupply(gpus, sharing) })
}

/** An agent of a cluster, which offers more slots than it has GPUs: the others wait in its queue. */
function cluster(id: string, gpus: readonly ObservedGpu[], slots: number): AgentCapacity {
  const capacity = parseQuantities({ cpu: '64', 'cuda.device': String(slots) })
  const perKernel = parseQuantities({ cpu: '64', 'cuda.device': String(gpus.length) })
  const supply = gpuSupply(gpus, null, undefined, capacity)
  return agentCapacity({ id, labels: {}, capacity, perKernel, free: new Map(capacity), gpus: supply })
}

const needs = (model: string | null, gib: number | null): GpuNeed => ({
  model,
  memoryBytes: gib === null ? null : gib * GIB,
})
const wants = (id: string, count: string, gpuNeed: GpuNeed | null, spec: SessionSpec = {}) =>
  session(id, { 'cuda.device': count }, { ...spec, gpuNeed })

describe('what a GPU must be like', () => {
  it.each([
    ['part of its name', A100, needs('a100', null), true],
    ['another model', T4, needs('a100', null), false],
    ['as much memory', A100, needs(null, 40), true],
    ['more memory', A100, needs(null, 48), false],
    ['16 GB as they are sold, of which 15 GiB are left', T4, needs(null, 16), true],
    ['unknown memory', { ...A100, memoryBytes: null }, needs(null, 1), false],
  ])('%s', (_, model, need, is) => {
    expect(meetsNeed(model, need)).toBe(is)
  })

  it('kernels get GPUs of one model, the smallest that has enough', () => {
    const all = [gpu('a'), gpu('b'), gpu('c', T4)]
    const chosen = (count: number) => oneModel(all, count).map(({ uuid }) => uuid)
    expect([chosen(1), chosen(2), chosen(3)]).toEqual([['c'], ['a', 'b'], ['c', 'a', 'b']])
  })
})

describe('placing by GPUs', () => {
  it('a session goes where such GPUs are free, and only as many as there are', () => {
    const agents = [machine('small', [gpu('t', T4), gpu('u', T4)]), machine('large', [gpu('a'), gpu('b', T4)])]
    const line = [1, 2].map((n) => wants(`large${n}`, '1', needs('a100', null)))
    expect(agentsOf(placeAll([...line, wants('any', '1', null)], agents))).toEqual({ large1: 'large', any: 'small' })
  })

  it('on a cluster, as many as its slots allow, of models that it has', () => {
    const listed = [gpu('n1-a100-0'), ...['b', 'c', 'd', 'e', 'f', 'g'].map((name) => gpu(name, T4))]
    const slurm = cluster(
      'slurm',
      listed.map((each) => ({ ...each, memoryBytes: null })),
      35,
    )
    const line = Array.from({ length: 6 }, (_, n) => wants(`s${n}`, '5', null))
    expect(Object.keys(agentsOf(placeAll(line, [slurm])))).toHaveLength(6)
    const models = ['a100', 'h100'].map((model) => wants(model, '1', needs(model, null)))
    expect(agentsOf(placeAll(models, [slurm]))).toEqual({ a100: 'slurm' })
    const large = request({ 'cuda.device': '1' }, { gpuNeed: needs(null, 40) })
    expect(explainShortage(large, [slurm], 'g')).toMatchObject({
      long: 'no agent of resource group g has a GPU whose memory is known',
    })
  })

  it('a kernel has others, if its agent does not list those that it reports', () => {
    const supply = gpuSupply([gpu('n1-a100-0'), gpu('n1-a100-1')], null)
    const amounts = parseQuantities({ 'cuda.device': '1' })
    const left = withoutHeld(supply, [{ gpus: [{ uuid: 'GPU-real' }], amounts, need: null }])
    expect(left.gpus.filter(({ free }) => free > 0n)).toHaveLength(1)
  })

  it('a GPU out of service does not count', () => {
    const agents = [machine('m', [gpu('a', A100, 'Xid 79'), gpu('t', T4)])]
    expect(agentsOf(placeAll([wants('s', '1', needs('a100', null))], agents))).toEqual({})
  })

  it('what kernels have is taken, also before their agent has said which', () => {
    const all = gpuSupply([gpu('a'), gpu('b'), gpu('t', T4)], null)
    const amounts = parseQuantities({ 'cuda.device': '1' })
    const left = withoutHeld(all, [
      { gpus: [{ uuid: 'a' }], amounts, need: null },
      { gpus: null, amounts, need: null },
    ])
    expect(left.gpus.map(({ free }) => Number(free) / 1e9)).toEqual([0, 1, 0])
  })

  it('kernels on several agents and on one', () => {
    const agents = () => [machine('m', [gpu('a'), gpu('b')]), machine('n', [gpu('c'), gpu('t', T4)])]
    const need = needs('a100', null)
    const spread = wants('s', '1', need, { size: 3, mode: 'MULTI_NODE' })
    const own = agentsOf(placeAll([spread], agents()))['s'] ?? ''
    expect(own.split(' ').toSorted()).toEqual(['m', 'm', 'n'])
    expect(agentsOf(placeAll([wants('s', '1', need, { size: 2 })], agents()))).toEqual({ s: 'm m' })
    expect(agentsOf(placeAll([wants('s', '1', need, { size: 4, mode: 'MULTI_NODE' })], agents()))).toEqual({})
  })

  it('parts of a GPU only where GPUs are shared, as many as share them, and on the fullest', () => {
    const halves = ['x', 'y', 'z'].map((id) => wants(id, '0.5', null))
    expect(agentsOf(placeAll(halves, [machine('m', [gpu('a')])]))).toEqual({})
    expect(agentsOf(placeAll(halves, [machine('m', [gpu('a')], 4)]))).toEqual({ x: 'm', y: 'm' })
    const whole = wants('whole', '1', null)
    expect(agentsOf(placeAll([halves[0]!, halves[1]!, whole], [machine('m', [gpu('a'), gpu('b')], 2)]))).toEqual({
      x: 'm',
      y: 'm',
      whole: 'm',
    })
    expect(agentsOf(placeAll([wants('s', '0.25', null)], [machine('m', [gpu('a')], 2)]))).toEqual({})
  })
})

it.each<[string, GpuNeed | null, string, string]>([
  ['memory', needs(null, 80), '1', 'no agent of resource group g has a GPU with 80 GiB; the largest has 40 GiB'],
  [
    'the model',
    needs('h100', null),
    '1',
    'no agent of resource group g has a GPU of model h100; there are NVIDIA A100-SXM4-40GB, Tesla T4',
  ],
  [
    'the memory of a model',
    needs('t4', 24),
    '1',
    'no agent of resource group g has a GPU of model t4 with 24 GiB; the largest has 15 GiB',
  ],
  [
    'the number',
    needs('a100', null),
    '3',
    'no agent of resource group g has the 3 GPUs of model a100 that it asks for; the most is 2',
  ],
  [
    'that no GPU is shared',
    null,
    '0.5',
    'it asks for 0.5 of a GPU, and no agent of resource group g shares its GPUs (REPRISE_GPU_SHARING)',
  ],
])('an impossible request names %s', (_, gpuNeed, count, words) => {
  const agents = [machine('m', [gpu('a'), gpu('b'), gpu('t', T4)])]
  expect(explainShortage(request({ 'cuda.device': count }, { gpuNeed }), agents, 'g')).toMatchObject({
    long: words,
    never: true,
  })
})

it('a possible request waits for such GPUs, if others are free', () => {
  const agent = machine('m', [gpu('a'), gpu('t', T4)])
  const [held] = agent.gpus!.gpus
  agent.gpus = { ...agent.gpus!, gpus: agent.gpus!.gpus.map((one) => (one === held ? { ...one, free: 0n } : one)) }
  agent.free.set('cuda.device', 1_000_000_000n)
  expect(
    explainShortage(request({ 'cuda.device': '1' }, { gpuNeed: needs('a100', null) }), [agent], 'g'),
  ).toMatchObject({
    forGood: false,
    long: 'needs cuda.device 1 of model a100 on one agent, which no agent of resource group g has free',
  })
})

it('agents whose GPUs are unknown take only whole ones', () => {
  const capacity = parseQuantities({ 'cuda.device': '2' })
  const agent = agentCapacity({ id: 'c', labels: {}, capacity, free: new Map(capacity) })
  expect(explainShortage(request({ 'cuda.device': '2' }), [agent], 'g')).toBeUndefined()
  const words = 'no agent of resource group g has a GPU whose model and memory are known'
  expect(explainShortage(request({ 'cuda.device': '1' }, { gpuNeed: needs('a100', null) }), [agent], 'g')?.long).toBe(
    words,
  )
})
