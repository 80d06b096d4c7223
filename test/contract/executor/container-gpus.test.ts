import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chownSync, mkdirSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Executor, GpuReport } from '../../../src/agent/executors/executor.ts'
import { amdDriver } from '../../../src/agent/gpus/amd.ts'
import { chooseContainer, type ContainerConfig } from '../../../src/agent/executors/container/choose-container.ts'
import { isEngineHere } from '../../../src/agent/executors/container/container-gpus.ts'
import type { GpuDriver } from '../../../src/agent/gpus/gpu-driver.ts'
import { type Gpus, openGpus } from '../../../src/agent/gpus/gpu-watch.ts'
import { nvidiaDriver } from '../../../src/agent/gpus/nvidia.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { FOREVER } from '../../../src/domain/retention.ts'
import { addRocm, type FakeGpu, type FakeTools, fakeTools } from '../../support/agents/fake-gpu-tools.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { testLog } from './process-fixture.ts'

/**
 * GPUs that the agent assigns to containers. The engines are real; the GPUs are not. `nvidia-smi` is a fake. Podman
 * gives containers /dev/null under other names, which a description of devices (CDI) names like GPUs. For Docker, a
 * program stands in for the hook of NVIDIA's toolkit, and writes down what Docker asks it for.
 */

const GPUS: FakeGpu[] = ['a', 'b', 'c', 'd'].map((name) => ({ uuid: `GPU-${name}` }))
/** The first two have their UUIDs as names, too. The others have only numbers, as older toolkits write them. */
const NAMES = [
  ['GPU-a', 0],
  ['GPU-b', 1],
  ['0', 0],
  ['1', 1],
  ['2', 2],
  ['3', 3],
] as const
const CONFIG: ContainerConfig = {
  containerAllow: ['*'],
  containerPull: 'never',
  containerImageKeep: FOREVER,
  containerNetwork: 'none',
  containerVolumes: [],
  containerPids: 1024,
  containerShm: 64 * 1024 * 1024,
  containerReadonly: true,
  containerParallel: 1,
  gpus: 'auto',
  chainBytesMax: null,
  chainFilesMax: null,
  uploadBytesMax: 1024 ** 3,
}
const DEVICES = {
  cdiVersion: '0.3.0',
  kind: 'nvidia.com/gpu',
  devices: NAMES.map(([name, node]) => ({
    name,
    containerEdits: {
      deviceNodes: [{ path: `/dev/reprise-gpu${node}`, hostPath: '/dev/null', type: 'c', major: 1, minor: 3 }],
    },
  })),
}
const HOOK = `#!/bin/sh
bundle=$(sed 's/.*"bundle": *"\\([^"]*\\)".*/\\1/')
grep -o 'NVIDIA_VISIBLE_DEVICES=[^"]*' "$bundle/config.json" | tail -n 1 >>"$(dirname "$0")/asked"
`
const LOOK =
  'echo "$CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES"; echo "$REPRISE_GPUS"; echo $(ls /dev | grep reprise-gpu)'
const HANGS = `${LOOK}; exec sleep 1000`
const LONG = { timeout: 3 * SLOWLY_MS }
const MEMORY_BYTES = 40_960 * 2 ** 20

describe.skipIf(process.getuid?.() !== 0)('GPUs that the agent assigns', () => {
  describeEngines('to containers of %s', (name) => {
    const missing = whyNoEngine(name)
    let engine: PrivateEngine
    let programs: string
    let tools: FakeTools
    let fixture: ContainerFixture
    let gpus: Gpus
    let executor: Executor
    let reports: GpuReport[]

    beforeAll(async () => {
      if (missing !== null) return
      programs = await temporaryDirectory('hook')
      await writeFile(join(programs, 'nvidia-container-runtime-hook'), HOOK)
      await chmod(join(programs, 'nvidia-container-runtime-hook'), 0o755)
      const own = name === 'docker' ? { programs } : { devices: DEVICES }
      engine = await startEngine(name, { ofRun: inject('runDirectory'), ...own })
    })
    afterAll(async () => {
      await engine?.[Symbol.asyncDispose]()
    })

    beforeEach(async () => {
      if (missing !== null) return
      tools = await fakeTools(await temporaryDirectory('fake-gpus'))
      await tools.set({ gpus: GPUS })
      fixture = await createContainerFixture(engine, { pull: 'never', network: 'none' })
      await begin([nvidiaDriver(tools.nvidiaSmi)])
    })
    afterEach(async () => {
      for (const { kernelId, assignment } of executor?.observe() ?? []) executor.forget(kernelId, assignment)
      await eventually(() => (executor?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
      await executor?.close()
      await fixture?.dispose()
    })

    async function begin(drivers: GpuDriver[]): Promise<void> {
      reports = []
      gpus = await openGpus({ drivers, only: null, agentDir: fixture.agentDir, log: testLog })
      const hooks = { changed: () => undefined, gpus: (report: GpuReport) => void reports.push(report) }
      executor = fixture.create(hooks, gpus)
      await executor.recover()
    }
    async function restart(): Promise<void> {
      await executor.close()
      await begin([nvidiaDriver(tools.nvidiaSmi)])
    }

    function start(count: number, script: string, more: Partial<KernelSpec> = {}): string {
      const resourceSlots: Record<string, string> = count === 0 ? {} : { 'cuda.device': String(count) }
      const environ = [{ name: 'CUDA_VISIBLE_DEVICES', value: 'all' }]
      const spec = kernelSpec({ command: ['sh', '-c', script], resourceSlots, environ, ...more })
      executor.start(spec, 1)
      return spec.kernelId
    }
    /** What a kernel says when it has begun: its variables, and the nodes that it finds. */
    const said = async (kernelId: string) => {
      const text = await eventually(
        async () => {
          const { text: output } = await executor.readLog(kernelId, 'STDOUT', 0, 10_000)
          const { status, error } = find(executor, kernelId) ?? {}
          if (status === 'FAILED') throw new Error(error?.message)
          return output.split('\n').length > 3 && output
        },
        { withinMs: SLOWLY_MS },
      )
      const [variables = '', json = '', nodes = ''] = text.split('\n')
      const [visible = '', ofNvidia = ''] = variables.split(' ')
      return { visible, ofNvidia, told: JSON.parse(json) as unknown, nodes }
    }
    const failed = (kernelId: string) => reaches(executor, kernelId, 'FAILED', SLOWLY_MS)
    const ends = (kernelId: string) => reaches(executor, kernelId, 'EXITED', SLOWLY_MS)

    test.skipIf(missing !== null)('are its own, under the same names as for a process', LONG, async () => {
      expect(reports.at(-1)).toMatchObject({ slots: { 'cuda.device': '4' }, fault: null })
      const two = start(2, HANGS)
      const ofTwo = await said(two)
      const [one, none] = [start(1, HANGS), start(0, HANGS)]
      const [ofOne, ofNone] = [await said(one), await said(none)]
      expect(ofTwo).toMatchObject({ visible: 'GPU-a,GPU-b', ofNvidia: 'GPU-a,GPU-b' })
      expect(ofOne).toMatchObject({
        visible: 'GPU-c',
        ofNvidia: 'GPU-c',
        told: [{ index: 2, uuid: 'GPU-c', name: 'NVIDIA A100-SXM4-40GB', memoryBytes: MEMORY_BYTES }],
      })
      expect(ofNone).toEqual({ visible: '', ofNvidia: 'void', told: [], nodes: '' })
      if (name === 'podman') expect([ofTwo.nodes, ofOne.nodes]).toEqual(['reprise-gpu0 reprise-gpu1', 'reprise-gpu2'])
      else {
        const asked = (await readFile(join(programs, 'asked'), 'utf8')).trim().split('\n')
        expect(asked.toSorted()).toEqual(['NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b', 'NVIDIA_VISIBLE_DEVICES=GPU-c'])
      }
      // The next instance of the agent knows who has which, and what they have used until now.
      await gpus.look()
      const busy = GPUS.map((gpu) => (gpu.uuid === 'GPU-c' ? { ...gpu, usedMiB: 1024, busy: 50 } : gpu))
      await tools.set({ gpus: busy })
      await gpus.look()
      await restart()
      expect(find(executor, one)).toMatchObject({ gpus: [{ slot: 'cuda.device', uuid: 'GPU-c', index: 2 }] })
      expect(await failed(start(2, LOOK))).toMatchObject({
        error: { name: 'gpu-unavailable', message: expect.stringContaining('4 in all, 0 out of service, 3 in use') },
      })
      const last = start(1, HANGS)
      expect(await said(last)).toMatchObject({ visible: 'GPU-d' })
      executor.stop(one, 1, 0)
      const { gpuUsage } = await ends(one)
      expect(gpuUsage).toMatchObject({ peakMemoryBytes: 2 ** 30, peakUtilization: 0.5 })
      expect(gpuUsage!.gpuSeconds).toBeGreaterThan(0)
      expect(await said(start(1, HANGS))).toMatchObject({ visible: 'GPU-c' })
    })

    test.skipIf(missing !== null)('end their container when they break, or are idle for too long', LONG, async () => {
      const limit = { gpuIdleTimeoutMs: 300, stopGraceMs: 0 }
      const [kernel, idle] = [start(1, HANGS), start(1, HANGS, limit)]
      const [{ visible: broken }] = [await said(kernel), await said(idle)]
      await tools.set({ gpus: GPUS.map((gpu) => ({ ...gpu, eccErrors: gpu.uuid === broken ? 3 : 0 })) })
      await gpus.look()
      expect(await ends(kernel)).toMatchObject({
        error: { name: 'gpu-lost', message: 'gpu-lost: 3 uncorrected memory errors (ECC)' },
      })
      await eventually(
        async () => {
          await gpus.look()
          return find(executor, idle)?.status === 'EXITED'
        },
        { withinMs: SLOWLY_MS },
      )
      expect(find(executor, idle)).toMatchObject({ error: { name: 'gpu-idle' } })
      expect(reports.at(-1)).toMatchObject({ slots: { 'cuda.device': '3' } })
      expect((await said(start(1, HANGS))).visible).not.toBe(broken)
      executor.returnGpus!([broken])
      expect(reports.at(-1)).toMatchObject({ slots: { 'cuda.device': '4' } })
      const says = 'echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB" >&2; exit 1'
      expect(await ends(start(1, says))).toMatchObject({ exitCode: 1, oomKilled: false, error: { name: 'gpu-memory' } })
    })

    test.skipIf(missing !== null)('are offered by the agent, as far as its tools find them', LONG, async () => {
      const { PATH: before } = process.env
      process.env['PATH'] = `${tools.directory}:${before}`
      try {
        const config = { ...CONFIG, containerEngine: `unix://${engine.socket}` }
        const agentDir = await temporaryDirectory('agent')
        const chosen = await chooseContainer(config, agentDir, testLog)
        const own = chosen.create({ changed: () => undefined }, randomUUID())
        await own.close()
        expect(chosen.gpuSlots).toEqual({ 'cuda.device': '4' })
      } finally {
        process.env['PATH'] = before
      }
    })

    test.skipIf(missing !== null)('are not those that kernels already have by their numbers', LONG, async () => {
      const { description } = fixture
      expect(description.hostName).toBe(hostname())
      expect(isEngineHere({ ...description, memoryBytes: 2 * description.memoryBytes })).toBe(true)
      expect(isEngineHere({ ...description, hostName: 'another' })).toBe(true)
      expect(isEngineHere({ ...description, kernelVersion: '6.6-linuxkit' })).toBe(false)
      await executor.close()
      // This instance sees no GPUs.
      executor = fixture.create({ changed: () => undefined })
      await executor.recover()
      const before = start(1, 'exec sleep 1000')
      await reaches(executor, before, 'RUNNING', SLOWLY_MS)
      expect(find(executor, before)).not.toHaveProperty('gpus')
      await restart()
      const [first, second] = [start(1, HANGS), start(2, HANGS)]
      const own = [await said(first), await said(second)].map(({ visible }) => visible)
      expect(own.join(',').split(',').toSorted()).toEqual(['GPU-b', 'GPU-c', 'GPU-d'])
      expect(find(executor, before)).toMatchObject({ status: 'RUNNING', gpus: [{ uuid: 'GPU-a' }] })
    })

    test.skipIf(missing !== null)("of AMD are its own nodes, which the project's user may open", LONG, async () => {
      const tree = await mkdtemp('/dev/reprise-test-')
      try {
        mkdirSync(join(tree, 'dri'))
        await chmod(tree, 0o755)
        for (const node of ['kfd', 'dri/renderD128', 'dri/renderD129']) {
          execFileSync('mknod', ['-m', '0660', join(tree, node), 'c', '1', '3'])
          chownSync(join(tree, node), 0, 4242)
        }
        const cards = [{ uniqueId: '0xa' }, { uniqueId: '0xb' }]
        await executor.close()
        await begin([amdDriver(await addRocm(tools, cards), tree)])
        expect(reports.at(-1)).toMatchObject({ slots: { 'rocm.device': '2' } })
        const script = `echo $(cd ${tree} && echo kfd dri/*); : >${tree}/kfd && echo "$ROCR_VISIBLE_DEVICES $HIP_VISIBLE_DEVICES"`
        const [first, second] = [1, 2].map((place) =>
          start(0, `${script}; sleep ${place}`, { resourceSlots: { 'rocm.device': '1' }, projectId: `p${place}` }),
        )
        await Promise.all([ends(first!), ends(second!)])
        const texts = await Promise.all([first!, second!].map((id) => readAll(executor, id, 'STDOUT')))
        expect(texts.map(({ text }) => text).toSorted()).toEqual([
          'kfd dri/renderD128\nGPU-a 0\n',
          'kfd dri/renderD129\nGPU-b 0\n',
        ])
      } finally {
        await rm(tree, { recursive: true, force: true })
      }
    })
  })
})
