import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor, GpuReport } from '../../../src/agent/executors/executor.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import { type Gpus, openGpus } from '../../../src/agent/gpus/gpu-watch.ts'
import { nvidiaDriver } from '../../../src/agent/gpus/nvidia.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { type FakeGpu, type FakeTools, fakeTools } from '../../support/agents/fake-gpu-tools.ts'
import { randomOf } from '../../support/random.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { testLog } from './process-fixture.ts'

/** GPUs of the process executor, with real kernels and a fake `nvidia-smi`. */
describe('GPUs', () => {
  const four: FakeGpu[] = ['a', 'b', 'c', 'd'].map((name) => ({ uuid: `GPU-${name}` }))
  const PRINTS = ['sh', '-c', 'echo "$CUDA_VISIBLE_DEVICES"; echo "$REPRISE_GPUS"']
  const HANGS = ['sh', '-c', 'echo "$CUDA_VISIBLE_DEVICES"; exec sleep 1000']

  let tools: FakeTools
  let agentDir: string
  let gpus: Gpus
  let executor: Executor
  let reports: GpuReport[]
  let specs: KernelSpec[]

  beforeEach(async () => {
    tools = await fakeTools(await temporaryDirectory('fake-gpus'))
    agentDir = await temporaryDirectory('gpus')
    specs = []
    await tools.set({ gpus: four })
    await begin()
  })
  afterEach(async () => {
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
  })

  /** Starts an agent's executor, as the next instance after the one that was closed. */
  async function begin(sharing?: number): Promise<void> {
    reports = []
    gpus = await openGpus({ drivers: [nvidiaDriver(tools.nvidiaSmi)], only: null, sharing, agentDir, log: testLog })
    const hooks = { changed: () => undefined, gpus: (report: GpuReport) => void reports.push(report) }
    executor = createProcessExecutor({ agentDir, log: testLog, gpus }, hooks)
    await executor.recover()
  }

  function start(count: number | string, command: string[] = HANGS, more: Partial<KernelSpec> = {}) {
    const resourceSlots: Record<string, string> = count === 0 ? {} : { 'cuda.device': String(count) }
    const environ = [{ name: 'CUDA_VISIBLE_DEVICES', value: 'all' }]
    const spec = kernelSpec({ command, resourceSlots, environ, ...more })
    executor.start(spec, 1)
    specs.push(spec)
    return spec.kernelId
  }

  const firstLine = async (kernelId: string) => {
    const text = await eventually(async () => {
      const { text: said } = await executor.readLog(kernelId, 'STDOUT', 0, 10_000)
      return said.includes('\n') && said
    })
    return text.split('\n')[0]!
  }

  test('each kernel gets GPUs of its own, and is told which; one without GPUs sees none', async () => {
    expect(reports.at(-1)).toMatchObject({ slots: { 'cuda.device': '4' }, fault: null })
    const [two, none, one] = [start(2), start(0, PRINTS), start(1, PRINTS)]
    const held = await firstLine(two)
    expect(held.split(',')).toHaveLength(2)
    expect((await reaches(executor, none, 'EXITED')).exitCode).toBe(0)
    expect((await readAll(executor, none, 'STDOUT')).text).toBe('\n[]\n')
    await reaches(executor, one, 'EXITED')
    const [own = '', json = ''] = (await readAll(executor, one, 'STDOUT')).text.split('\n')
    expect(held.split(',')).not.toContain(own)
    expect(JSON.parse(json)).toEqual([
      { index: expect.any(Number) as number, uuid: own, name: 'NVIDIA A100-SXM4-40GB', memoryBytes: 40_960 * 2 ** 20 },
    ])
    expect(gpus.observe().filter(({ kernelId }) => kernelId === two)).toHaveLength(2)
  })

  test('a kernel that finds too few GPUs fails, and the reason says why', async () => {
    const holder = start(3)
    await firstLine(holder)
    expect(await reaches(executor, start(2), 'FAILED')).toMatchObject({
      error: {
        name: 'gpu-unavailable',
        message: expect.stringContaining('4 in all, 0 out of service, 3 in use') as string,
      },
    })
  })

  test('a GPU that breaks ends its kernel, and no other kernel gets it until it is given back', async () => {
    const kernels = [start(1), start(1)]
    const [broken, other] = await Promise.all(kernels.map(firstLine))
    const rest = four.map((gpu) => ({ ...gpu, eccErrors: gpu.uuid === broken ? 3 : 0 }))
    await tools.set({ gpus: rest })
    await gpus.look()
    expect(await reaches(executor, kernels[0]!, 'EXITED')).toMatchObject({
      error: { name: 'gpu-lost', message: 'gpu-lost: 3 uncorrected memory errors (ECC)' },
    })
    expect(find(executor, kernels[1]!)).toMatchObject({ status: 'RUNNING' })
    expect(reports.at(-1)).toMatchObject({ slots: { 'cuda.device': '3' } })
    // The next instance of the agent knows it, too.
    await executor.close()
    await begin()
    const more = await Promise.all([start(1), start(1)].map(firstLine))
    expect(new Set([...more, other, broken]).size).toBe(4)
    expect(await reaches(executor, start(1), 'FAILED')).toMatchObject({ error: { name: 'gpu-unavailable' } })
    expect(gpus.giveBack(broken!)).toBe(true)
    expect(await firstLine(start(1))).toBe(broken)
  })

  test('a GPU that a person takes out keeps its kernel, is for no other, and stays out when the agent restarts', async () => {
    const kernelId = start(1)
    const taken = await firstLine(kernelId)
    executor.takeGpus!([{ uuid: taken, reason: 'taken out by ada: fan noise' }])
    expect(reports.at(-1)).toMatchObject({ slots: { 'cuda.device': '3' } })
    expect(gpus.takeOut(taken, 'again')).toBe(false)
    expect(find(executor, kernelId)).toMatchObject({ status: 'RUNNING' })
    await executor.close()
    await begin()
    expect(find(executor, kernelId)).toMatchObject({ status: 'RUNNING' })
    expect(gpus.observe().find(({ uuid }) => uuid === taken)).toMatchObject({
      kernelId,
      fault: 'taken out by ada: fan noise',
    })
    const others = await Promise.all([start(1), start(1), start(1)].map(firstLine))
    expect(others).not.toContain(taken)
    // It is watched as before: if it breaks, its kernel ends.
    await tools.set({ gpus: four.map((gpu) => ({ ...gpu, eccErrors: gpu.uuid === taken ? 1 : 0 })) })
    await gpus.look()
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ error: { name: 'gpu-lost' } })
    expect(await reaches(executor, start(1), 'FAILED')).toMatchObject({ error: { name: 'gpu-unavailable' } })
    executor.returnGpus!([taken])
    expect(await firstLine(start(1))).toBe(taken)
  })

  test('a GPU that disappears ends its kernel; the reason of a tool that fails is reported, and ends nothing', async () => {
    const kernelId = start(1)
    const own = await firstLine(kernelId)
    await tools.set({ gpus: four, fails: 'Failed to initialize NVML: Driver/library version mismatch' })
    await gpus.look()
    expect(reports.at(-1)).toMatchObject({
      fault: 'nvidia-smi: Failed to initialize NVML: Driver/library version mismatch',
      slots: { 'cuda.device': '0' },
    })
    expect(find(executor, kernelId)).toMatchObject({ status: 'RUNNING' })
    expect(await reaches(executor, start(1), 'FAILED')).toMatchObject({
      error: { name: 'gpu-unavailable', message: expect.stringContaining('Failed to initialize NVML') as string },
    })
    await tools.set({ gpus: four.filter(({ uuid }) => uuid !== own) })
    await gpus.look()
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ error: { name: 'gpu-lost' } })
    expect(reports.at(-1)).toMatchObject({ fault: null, slots: { 'cuda.device': '3' } })
  })

  test('a program that its GPUs have too little memory for is told from one that breaks', async () => {
    const says = 'echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB" >&2; exit 1'
    expect(await reaches(executor, start(1, ['sh', '-c', says]), 'EXITED')).toMatchObject({
      exitCode: 1,
      oomKilled: false,
      error: { name: 'gpu-memory' },
    })
    expect(await reaches(executor, start(0, ['sh', '-c', says]), 'EXITED')).toMatchObject({ error: null })
  })

  test('the report of a kernel has its GPUs and what it uses, also after a restart of the agent and at its end', async () => {
    const kernelId = start(2)
    const own = (await firstLine(kernelId)).split(',')
    const busy = four.map((gpu) => (own.includes(gpu.uuid) ? { ...gpu, usedMiB: 1024, busy: 50 } : gpu))
    await tools.set({ gpus: busy })
    await gpus.look()
    expect(find(executor, kernelId)).toMatchObject({
      gpus: own.map((uuid) => ({ slot: 'cuda.device', uuid, name: 'NVIDIA A100-SXM4-40GB' })),
      gpuUsage: { peakMemoryBytes: 2048 * 2 ** 20, meanUtilization: 0.5, peakUtilization: 0.5 },
    })
    await executor.close()
    await tools.set({ gpus: four })
    await begin()
    executor.stop(kernelId, 1, 0)
    const { gpuUsage } = await reaches(executor, kernelId, 'EXITED')
    expect(gpuUsage).toMatchObject({ peakMemoryBytes: 2048 * 2 ** 20, peakUtilization: 0.5 })
    expect(gpuUsage!.gpuSeconds).toBeGreaterThan(0)
    expect(await reaches(executor, start(0, PRINTS), 'EXITED')).not.toHaveProperty('gpus')
  })

  test('a kernel gets only GPUs of the model and the memory that it needs', async () => {
    await tools.set({ gpus: [{ uuid: 'GPU-t', name: 'Tesla T4', memoryMiB: 15_360 }, ...four.slice(0, 2)] })
    await gpus.look()
    const need = { gpuNeed: { model: 'a100', memoryBytes: 40 * 2 ** 30 } }
    expect(await firstLine(start(1, HANGS, need))).toBe('GPU-a')
    // What needs nothing leaves the large ones for those who do.
    expect(await firstLine(start(1))).toBe('GPU-t')
    expect(await reaches(executor, start(2, HANGS, need), 'FAILED')).toMatchObject({
      error: { name: 'gpu-unavailable', message: expect.stringContaining('of model a100 with 40 GiB') as string },
    })
  })

  test('kernels share a GPU by their parts, where the agent allows it', async () => {
    expect(await reaches(executor, start('0.5'), 'FAILED')).toMatchObject({ error: { name: 'gpu-unavailable' } })
    await executor.close()
    await begin(4)
    expect(reports.at(-1)).toMatchObject({ sharing: 4, slots: { 'cuda.device': '4' } })
    const halves = [start('0.5'), start('0.5')]
    expect(await Promise.all(halves.map(firstLine))).toEqual(['GPU-a', 'GPU-a'])
    expect(await firstLine(start('0.25'))).toBe('GPU-b')
    expect(await firstLine(start(2))).toBe('GPU-c,GPU-d')
    expect(await reaches(executor, start('0.2'), 'FAILED')).toMatchObject({ error: { name: 'gpu-unavailable' } })
    executor.stop(halves[0]!, 1, 0)
    const { gpuUsage } = await reaches(executor, halves[0]!, 'EXITED')
    expect(gpuUsage!.gpuSeconds).toBeLessThan(60)
    // The parts that are held follow from the kernels, also for the next instance.
    await executor.close()
    await begin(4)
    expect(await firstLine(start('0.75'))).toBe('GPU-b')
    expect(await firstLine(start('0.5'))).toBe('GPU-a')
  })

  test('a kernel whose GPUs all stay idle for as long as it allows is ended', async () => {
    const limit = { gpuIdleTimeoutMs: 300, stopGraceMs: 0 }
    const [idle, busy, patient] = [start(1, HANGS, limit), start(2, HANGS, limit), start(1)] as const
    const [, held] = await Promise.all([idle, busy, patient].map(firstLine))
    const [one] = held!.split(',')
    await tools.set({ gpus: four.map((gpu) => ({ ...gpu, busy: gpu.uuid === one ? 90 : 0 })) })
    await gpus.look()
    expect(find(executor, idle)).toMatchObject({ status: 'RUNNING' })
    await eventually(async () => {
      await gpus.look()
      return find(executor, idle)?.status === 'EXITED'
    })
    expect(find(executor, idle)).toMatchObject({
      error: { name: 'gpu-idle', message: expect.stringContaining('below 1 % of use for') as string },
    })
    for (const kernelId of [busy, patient]) expect(find(executor, kernelId)).toMatchObject({ status: 'RUNNING' })
  })

  test('two kernels never have the same GPU, whatever is killed and restarted', { timeout: 300_000 }, async () => {
    const random = randomOf(1)
    const witness = join(agentDir, 'witness')
    // Each writes its process down for its GPUs, unless that of another kernel is still alive.
    const script = `for u in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
      case $(cut -d ' ' -f 3 /proc/$(cat ${witness}-$u || echo 0)/stat) in [ZX]|'') ;; *) : >${witness}.shared ;; esac
      echo $$ >${witness}-$u; done 2>/dev/null; exec sleep 1000`
    let started = 0
    while (started < 200) {
      const action = random.below(10)
      if (action < 6) {
        start(1 + random.below(2), ['sh', '-c', script])
        started++
      } else if (action < 9) {
        const running = executor.observe().filter(({ status }) => status === 'RUNNING')
        const kernel = running[random.below(running.length + 1)]
        if (kernel !== undefined) executor.stop(kernel.kernelId, kernel.assignment, 0)
      } else {
        await executor.close()
        await begin()
        // As a server does, which does not know that they have been started.
        for (const spec of specs) executor.start(spec, 1)
      }
      const held = gpus.observe().filter(({ kernelId }) => kernelId !== null)
      expect(new Set(held.map(({ uuid }) => uuid)).size).toBe(held.length)
      await eventually(() => executor.observe().every(({ status }) => ['RUNNING', 'EXITED', 'FAILED'].includes(status)))
    }
    expect(existsSync(`${witness}.shared`)).toBe(false)
    expect(executor.observe().some(({ exitCode }) => exitCode === null)).toBe(true)
  })
})
