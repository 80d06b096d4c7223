import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { isAlive } from '../../../src/agent/executors/process/proc-stat.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { type EngineName, whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import {
  type PrivateRegistry,
  pushBase,
  startRegistry,
  whyNoRegistry,
} from '../../support/containers/private-registry.ts'
import { slowDown } from '../../support/containers/slow-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { openHandover } from './container-handover.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'

describe('outages', () => {
  const LONG = { timeout: 3 * SLOWLY_MS }
  const WAITS = 'echo begun; while [ ! -e gate ]; do sleep 0.1; done'

  /** Kernels whose engine is killed during an operation. */
  describeEngines('while %s is down', (name) => {
    const missing = whyNoEngine(name)
    let engine: PrivateEngine

    beforeAll(async () => {
      if (missing === null) engine = await startEngine(name, { ofRun: inject('runDirectory') })
    })
    afterAll(() => engine?.[Symbol.asyncDispose]())

    test.skipIf(missing !== null)('one that is forgotten meanwhile goes when it is back', LONG, async () => {
      await using agents = await openHandover(engine)
      const { executor, fixture } = agents
      await executor.recover()
      const spec = agents.start('exit 5')
      expect(await agents.ends(spec)).toMatchObject({ exitCode: 5 })
      await engine.stop('SIGKILL')
      executor.forget(spec.kernelId, 1)
      await eventually(() => !existsSync(agents.file(spec)), { withinMs: SLOWLY_MS })
      expect(find(executor, spec.kernelId)).toBeUndefined()
      await engine.start()
      await eventually(async () => (await fixture.container(spec.kernelId)) === undefined, { withinMs: SLOWLY_MS })
    })

    test.skipIf(missing !== null).each(['request', 'answer'] as const)(
      'one whose start is under way when the engine is killed runs, and once: %s',
      LONG,
      async (held) => {
        let once = true
        await using slow = await slowDown(engine.socket, (request) => {
          if (!once || !/\/start(\?|$)/.test(request)) return null
          once = false
          return held
        })
        await using agents = await openHandover(engine)
        const spec = kernelSpec({ command: ['sh', '-c', `echo begun >>/chain/witness; ${WAITS}; exit 5`] })
        const holder = agents.hold([spec], slow.socket)
        await eventually(() => (held === 'answer' ? slow.answered() : slow.asked()).length > 0, { withinMs: SLOWLY_MS })
        expect(readFileSync(agents.file(spec, 'status'), 'utf8')).toMatch(/^claimed \w+\n$/)
        await engine.stop('SIGKILL')
        await engine.start()
        await holder.reaches(spec.kernelId, 'RUNNING')
        writeFileSync(agents.file(spec, 'work', 'gate'), '')
        await holder.reaches(spec.kernelId, 'EXITED')
        await agents.takeOver()
        expect(await agents.ends(spec)).toMatchObject({ exitCode: 5, error: null })
        expect(readFileSync(join(agents.fixture.agentDir, 'chains', spec.chainId, 'witness'), 'utf8')).toBe('begun\n')
      },
    )

    test.skipIf(missing !== null)('one that is stopped meanwhile has its grace when it is back', LONG, async () => {
      await using agents = await openHandover(engine)
      const { executor } = agents
      await executor.recover()
      const spec = agents.start('trap "exit 7" TERM; echo ready; while :; do sleep 0.1; done')
      const isReady = async () => (await executor.readLog(spec.kernelId, 'STDOUT', 0, 100)).text === 'ready\n'
      await eventually(isReady, { withinMs: SLOWLY_MS })
      await engine.stop('SIGKILL')
      executor.stop(spec.kernelId, 1, 3_600_000)
      await eventually(() => existsSync(agents.file(spec, 'stop')), { withinMs: SLOWLY_MS })
      await engine.start()
      expect(await agents.ends(spec)).toMatchObject({ exitCode: 7, stopped: true, error: null })
    })

    test.skipIf(missing !== null || name === 'podman')(
      'possibly missing output is reported once, also if the agent is killed after that',
      LONG,
      async () => {
        await using agents = await openHandover(engine)
        const { spec } = await agents.holdRunning(WAITS)
        const stdout = agents.file(spec, 'stdout')
        const output = () => (existsSync(stdout) ? readFileSync(stdout, 'utf8') : '')
        await eventually(() => output() === 'begun\n', { withinMs: SLOWLY_MS })
        await engine.stop('SIGKILL')
        const first = agents.firstOf(spec)!
        process.kill(first.pid, 'SIGKILL')
        await eventually(() => !isAlive(first), { withinMs: SLOWLY_MS })
        await engine.start()
        // Before it is written down, the agent looks whether somebody removes one that was killed.
        await eventually(() => output().includes('may be missing'), { withinMs: SLOWLY_MS })
        await agents.takeOver()
        await agents.ends(spec)
        const { text } = await readAll(agents.executor, spec.kernelId, 'STDOUT')
        expect(text).toBe('begun\n[reprise: the container engine was down; output may be missing]\n')
      },
    )
  })
})

describe('restarts of the engine', () => {
  const ARRANGEMENTS = [
    { arrangement: 'docker with live-restore', name: 'docker', liveRestore: true },
    { arrangement: 'docker without live-restore', name: 'docker', liveRestore: false },
    { arrangement: 'podman', name: 'podman', liveRestore: true },
  ] as const

  const KERNELS = ['runs', 'ends', 'isCreated', 'isBeingCreated', 'isPulled', 'isPrepared', 'comesLater'] as const
  type KernelName = (typeof KERNELS)[number]
  const SILENT = 'the container engine does not answer'

  /** One engine is killed and started again, with a kernel in each state; each test below is about one of them. */
  describe.concurrent.each(ARRANGEMENTS)('$arrangement', { timeout: 3 * SLOWLY_MS }, ({ name, liveRestore }) => {
    describe('killed and started again', { concurrent: false }, () => {
      restarts(name, liveRestore)
    })
  })

  function restarts(name: EngineName, liveRestore: boolean): void {
    const missing = whyNoEngine(name) ?? whyNoRegistry()
    let registry: PrivateRegistry
    let engine: PrivateEngine
    let fixture: ContainerFixture
    let executor: Executor
    const specs = {} as Record<KernelName, KernelSpec>
    let meanwhile: { prepared: unknown; later: unknown; running: unknown }

    beforeAll(async () => {
      if (missing !== null) return
      registry = await startRegistry(join(await temporaryDirectory(`engine-restarts-${name}`), 'registry'))
      engine = await startEngine(name, { ofRun: inject('runDirectory'), liveRestore })
      fixture = await createContainerFixture(engine)
      const image = await pushBase(engine, registry.host, 'team/tool:1')
      executor = fixture.create({ changed: () => undefined })
      await executor.recover()
      for (const kernel of KERNELS) {
        const waits = kernel === 'runs' || kernel === 'ends' ? 'while [ ! -e gate ]; do sleep 0.1; done; ' : ''
        const script = `echo begun >>/chain/witness; echo out; ${waits}echo end; exit ${kernel === 'ends' ? 3 : 5}`
        specs[kernel] = kernelSpec({
          command: ['sh', '-c', script],
          image: kernel === 'isPulled' ? image : null,
        })
      }
      for (const kernel of ['isCreated', 'isBeingCreated', 'isPrepared'] as const) {
        executor.prepare(specs[kernel], 1)
        await reaches(executor, specs[kernel].kernelId, 'PREPARED', SLOWLY_MS)
      }
      for (const kernel of ['runs', 'ends'] as const) start(kernel)
      const ran = await eventually(() => beganAs('ends'), { withinMs: SLOWLY_MS })
      await eventually(() => beganAs('runs'), { withinMs: SLOWLY_MS })
      for (const kernel of ['runs', 'ends'] as const) {
        const says = async () => (await executor.readLog(specs[kernel].kernelId, 'STDOUT', 0, 100)).text === 'out\n'
        await eventually(says, { withinMs: SLOWLY_MS })
      }

      registry.pause()
      start('isPulled')
      await reaches(executor, specs.isPulled.kernelId, 'PULLING', SLOWLY_MS)
      start('isBeingCreated')
      await eventually(() => hasScript('isBeingCreated'), { withinMs: SLOWLY_MS })
      engine.pause()
      start('isCreated')
      await eventually(() => hasScript('isCreated'), { withinMs: SLOWLY_MS })
      await engine.stop('SIGKILL')

      writeFileSync(file('ends', 'work', 'gate'), '')
      await eventually(() => !isAlive(ran), { withinMs: SLOWLY_MS })
      start('isPrepared')
      start('comesLater')
      meanwhile = {
        prepared: await eventually(() => find(executor, specs.isPrepared.kernelId)?.waiting, { withinMs: SLOWLY_MS }),
        later: await eventually(() => find(executor, specs.comesLater.kernelId)?.progress, { withinMs: SLOWLY_MS }),
        running: find(executor, specs.runs.kernelId)?.status,
      }
      registry.goOn()
      await engine.start()
    })

    afterAll(async () => {
      registry?.goOn()
      await executor?.close()
      await engine?.[Symbol.asyncDispose]()
      await registry?.[Symbol.asyncDispose]()
      await fixture?.dispose()
    })

    const start = (kernel: KernelName) => executor.start(specs[kernel], 1)
    const file = (kernel: KernelName, ...path: string[]) => join(fixture.kernel(specs[kernel].kernelId), ...path)
    const readOutput = async (kernel: KernelName) => (await readAll(executor, specs[kernel].kernelId, 'STDOUT')).text
    const ends = (kernel: KernelName) => reaches(executor, specs[kernel].kernelId, 'EXITED', SLOWLY_MS)
    const witness = (kernel: KernelName) =>
      readFileSync(join(fixture.agentDir, 'chains', specs[kernel].chainId, 'witness'), 'utf8')
    const hasScript = (kernel: KernelName) => existsSync(file(kernel)) && readdirSync(file(kernel)).includes('run.1')
    const beganAs = (kernel: KernelName) =>
      existsSync(file(kernel, 'status')) ? parseStatus(readFileSync(file(kernel, 'status'), 'utf8')).shim : null

    test.skipIf(missing !== null)(
      'while it is down, new kernels report why they wait, and running ones are kept',
      () => {
        expect(meanwhile).toEqual({ prepared: { reason: SILENT }, later: SILENT, running: 'RUNNING' })
      },
    )

    test.skipIf(missing !== null)('one that ended meanwhile', async () => {
      expect(await ends('ends')).toMatchObject({ exitCode: 3, error: null })
      const output = await readOutput('ends')
      // Docker loses the output that is written while it is down, together with the end.
      if (name === 'podman') expect(output).toBe('out\nend\n')
      else expect(output).toMatch(/^out\n(end\n)?\[reprise: the container engine was down; output may be missing\]\n$/)
    })

    test.skipIf(missing !== null)('one that runs', async () => {
      if (liveRestore) {
        await eventually(async () => (await fixture.container(specs.runs.kernelId))?.State === 'running')
        expect(find(executor, specs.runs.kernelId)).toMatchObject({ status: 'RUNNING' })
        writeFileSync(file('runs', 'work', 'gate'), '')
        expect(await ends('runs')).toMatchObject({ exitCode: 5, error: null })
        expect(await readOutput('runs')).toBe('out\nend\n')
      } else {
        expect(await ends('runs')).toMatchObject({ error: { name: 'node-failed' } })
      }
      expect(witness('runs')).toBe('begun\n')
    })

    test
      .skipIf(missing !== null)
      .each(['isCreated', 'isBeingCreated', 'isPulled', 'isPrepared', 'comesLater'] as const)(
      'one that %s runs afterwards, and once',
      async (kernel) => {
        expect(await ends(kernel)).toMatchObject({ exitCode: 5, error: null })
        expect(witness(kernel)).toBe('begun\n')
        expect(await readOutput(kernel)).toBe('out\nend\n')
      },
    )

    test.skipIf(missing !== null)('nothing is left of those that are forgotten', async () => {
      for (const { kernelId } of Object.values(specs)) executor.forget(kernelId, 1)
      const isGone = async ({ kernelId }: KernelSpec) =>
        (await fixture.container(kernelId)) === undefined && !existsSync(fixture.kernel(kernelId))
      for (const spec of Object.values(specs)) await eventually(() => isGone(spec), { withinMs: SLOWLY_MS })
    })
  }
})
