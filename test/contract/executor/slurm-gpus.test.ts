import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Executor, ExecutorOffer } from '../../../src/agent/executors/executor.ts'
import { COUNT_DEVICES_FUNCTION, TELL_DEVICES } from '../../../src/agent/executors/slurm/gpu-scripts.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import type { ObservedGpu } from '../../../src/domain/gpu.ts'
import { type FakeTools, fakeTools } from '../../support/agents/fake-gpu-tools.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type OwnSlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createSlurmFixture, type SlurmFixture } from './slurm-fixture.ts'

/**
 * GPUs that a real Slurm assigns to jobs. It takes devices that every machine has for GPUs, and jobs find a fake
 * `nvidia-smi`.
 */

const missing = whyNoSlurmCluster()
const SLOWLY_MS = 120_000
const GPUS = [
  { uuid: 'GPU-a', usedMiB: 1024, busy: 50 },
  { uuid: 'GPU-t', name: 'Tesla T4', memoryMiB: 15_360 },
]
const PATHS = '/usr/local/bin:/usr/bin:/bin'

describe.skipIf(missing !== null)(`GPUs of jobs${missing === null ? '' : `: ${missing}`}`, { timeout: 300_000 }, () => {
  let cluster: OwnSlurmCluster
  let tools: FakeTools
  let fixture: SlurmFixture
  let executor: Executor
  let offers: ExecutorOffer[]
  let figures: ObservedGpu[][]

  beforeAll(async () => {
    cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'), { gpuTypes: ['a100', 't4'] })
    tools = await fakeTools(await temporaryDirectory('fake-gpus'))
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  beforeEach(async () => {
    await tools.set({ gpus: GPUS })
    const sbatch = [`--export=ALL,PATH=${tools.directory}:${PATHS}`]
    const image = { environ: {}, interpreter: [], prolog: [], sbatch }
    fixture = await createSlurmFixture(cluster, { gres: { 'cuda.device': 'gpu' }, images: { fake: image } })
    begin()
    await executor.recover()
  })
  afterEach(async () => {
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
    await executor.close()
    await fixture.dispose()
  })

  function begin(): void {
    offers = []
    figures = []
    executor = fixture.create({
      changed: () => undefined,
      offers: (offer) => void offers.push(offer),
      gpuFigures: (gpus) => void figures.push(gpus),
    })
  }

  function start(script: string, more: Partial<KernelSpec> = {}): string {
    const resourceSlots = { cpu: '1', 'cuda.device': '1' }
    const spec = kernelSpec({ image: 'fake', command: ['sh', '-c', script], resourceSlots, ...more })
    executor.start(spec, 1)
    return spec.kernelId
  }
  const ofModel = (model: string) => ({ gpuNeed: { model, memoryBytes: null } })
  const ends = (kernelId: string) => reaches(executor, kernelId, 'EXITED', SLOWLY_MS)
  const linesOf = async (kernelId: string) => (await readAll(executor, kernelId, 'STDOUT')).text.trim().split('\n')

  test('a session gets a GPU of the model that it asks for, and its job reports which, and what it uses', async () => {
    const offered = offers.at(-1)!.gpus!
    expect(offered.map(({ name, memoryBytes }) => [name, memoryBytes])).toEqual(
      ['a100', 't4', 'a100', 't4'].map((name) => [name, null]),
    )
    const prints = 'echo "$CUDA_VISIBLE_DEVICES"; echo "$REPRISE_GPUS"; env | grep -c gpu_path; sleep 4'
    const environ = [{ name: 'CUDA_VISIBLE_DEVICES', value: 'all' }]
    const [large, small] = [start(prints, { ...ofModel('A100'), environ }), start(prints, ofModel('t4'))]
    await eventually(() => find(executor, large)?.gpus != null && find(executor, small)?.gpus != null, {
      withinMs: SLOWLY_MS,
    })
    const held = figures.at(-1)!.filter(({ kernelId }) => kernelId !== null)
    expect(held.map(({ uuid, name, kernelId }) => [uuid, name, kernelId])).toEqual(
      expect.arrayContaining([
        ['GPU-a', 'a100', large],
        ['GPU-t', 't4', small],
      ]),
    )
    // The next instance of the agent reads it again.
    await executor.close()
    begin()
    await executor.recover()
    const [first, second] = [await ends(large), await ends(small)]
    const a100 = { index: 0, uuid: 'GPU-a', name: 'NVIDIA A100-SXM4-40GB', memoryBytes: 40_960 * 2 ** 20 }
    const t4 = { index: 1, uuid: 'GPU-t', name: 'Tesla T4', memoryBytes: 15_360 * 2 ** 20 }
    expect(first).toMatchObject({ exitCode: 0, gpus: [{ slot: 'cuda.device', ...a100 }] })
    expect(second).toMatchObject({ exitCode: 0, gpus: [{ slot: 'cuda.device', ...t4 }] })
    expect(first.gpuUsage).toMatchObject({ peakMemoryBytes: 2 ** 30, peakUtilization: 0.5 })
    expect(first.gpuUsage!.gpuSeconds).toBeGreaterThan(3.9)
    expect(await linesOf(large)).toEqual(['0', JSON.stringify([a100]), '0'])
    expect(await linesOf(small)).toEqual(['1', JSON.stringify([t4]), '0'])
    expect(figures.at(-1)!.every(({ kernelId }) => kernelId === null)).toBe(true)
  })

  test('a model that Slurm does not know, or memory, is refused with the reason', async () => {
    const refused = async (gpuNeed: KernelSpec['gpuNeed']) => {
      const { error } = await reaches(executor, start('true', { gpuNeed: gpuNeed! }), 'FAILED', SLOWLY_MS)
      expect(error?.name).toBe('submit-refused')
      return error?.message
    }
    expect(await refused({ model: 'h100', memoryBytes: null })).toBe(
      'Slurm knows no type of GPUs like h100 in this partition; it knows a100, t4',
    )
    expect(await refused({ model: null, memoryBytes: 1 })).toContain('how much memory')
  })

  test('a tool that is missing, fails or hangs changes nothing for the job', async () => {
    const prints = 'echo "$CUDA_VISIBLE_DEVICES"; echo "${REPRISE_GPUS-none}"'
    const without = async (kernelId: string, gpus = 1) => {
      const end = await ends(kernelId)
      expect(end).toMatchObject({ exitCode: 0 })
      expect(end).not.toHaveProperty('gpus')
      const [visible, told] = await linesOf(kernelId)
      expect([visible === '' || visible === undefined ? 0 : 1, told]).toEqual([gpus, 'none'])
    }
    await without(start(prints, { image: null }))
    await tools.set({ gpus: GPUS, fails: 'Failed to initialize NVML' })
    await without(start(prints))
    await tools.set({ gpus: GPUS, hangs: true })
    await without(start(prints))
  })

  test('idle GPUs, and too little memory of them, end a job as a process', async () => {
    const idle = start('sleep 1000', { ...ofModel('t4'), gpuIdleTimeoutMs: 1_000, stopGraceMs: 0 })
    const says = 'echo "CUDA error: out of memory" >&2; sleep 2; exit 1'
    expect(await ends(start(says, ofModel('a100')))).toMatchObject({ exitCode: 1, error: { name: 'gpu-memory' } })
    expect(await ends(idle)).toMatchObject({ error: { name: 'gpu-idle' } })
  })
})

describe('the scripts of jobs with GPUs', () => {
  async function run(script: string, { directory }: FakeTools, visible: string): Promise<string> {
    const env = { CUDA_VISIBLE_DEVICES: visible, gpu_path: `${directory}:${PATHS}` }
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script], { cwd: directory, env })
    return stdout
  }

  test('instances of GPUs have names and memory of their own', async () => {
    const tools = await fakeTools(await temporaryDirectory('fake-gpus'))
    const instances = { 'MIG-1': '3g.20gb', 'MIG-2': '1g.5gb' }
    await tools.set({ gpus: [{ uuid: 'GPU-x' }, { uuid: 'GPU-y', instances }] })
    const told = async (visible: string) => {
      const text = await run(`${TELL_DEVICES}\necho "$REPRISE_GPUS"`, tools, visible)
      return JSON.parse(text) as unknown
    }
    const name = 'NVIDIA A100-SXM4-40GB'
    expect(await told('MIG-2')).toEqual([
      { index: 1, uuid: 'MIG-2', name: `${name} MIG 1g.5gb`, memoryBytes: 5 * 2 ** 30 },
    ])
    expect(await told('GPU-y,GPU-x')).toMatchObject([{ uuid: 'GPU-x' }, { uuid: 'GPU-y', index: 1 }])
  })

  test('use is added up over the GPUs of the job, and over time', async () => {
    const tools = await fakeTools(await temporaryDirectory('fake-gpus'))
    await tools.set({
      gpus: [
        { uuid: 'GPU-x', usedMiB: 5_000, busy: 90 },
        { uuid: 'GPU-y', usedMiB: 10, busy: 0, watts: 100 },
        { uuid: 'GPU-z', usedMiB: 20, busy: 30, watts: 50 },
      ],
    })
    // The clock stands for that of the machine, and the pause for fifteen seconds of it; after the third it ends.
    const script = `export PATH="$gpu_path"
digits() { case $1 in '' | *[!0-9]*) return 1 ;; esac; }
${COUNT_DEVICES_FUNCTION.replace('read -r now rest </proc/uptime', 'now=$((1000 + 15 * turns)).5')}
turns=0
sleep() { turns=$((turns + 1)); cat use-of-job; [ "$turns" -lt 3 ] || exit 0; }
count_devices use-of-job`
    expect((await run(script, tools, '1,2')).split('\n')).toEqual([
      '30 30 0 0 0 0 0',
      '30 30 450 30 2250 30 0',
      '30 30 900 60 4500 60 0',
      '',
    ])
    expect((await run(script, tools, 'GPU-y')).split('\n').at(-2)).toBe('10 0 0 30 3000 30 30')
  })
})
