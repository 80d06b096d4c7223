import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { isAlive, readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { type HeldAgent, holdAgent, SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'

describe('a silent engine', () => {
  const SILENT = 'the container engine does not answer'
  const LONG = { timeout: 3 * SLOWLY_MS }
  const MAY_BE_MISSING = '[reprise: the container engine was down; output may be missing]\n'

  describeEngines('an agent whose %s does not answer', (name) => {
    const missing = whyNoEngine(name)
    let engine: PrivateEngine
    let fixture: ContainerFixture
    let executor: Executor
    let labels: Record<string, string>[]

    beforeAll(async () => {
      if (missing !== null) return
      engine = await startEngine(name, { ofRun: inject('runDirectory') })
      fixture = await createContainerFixture(engine, { pull: 'never' })
      await open()
    })
    afterAll(async () => {
      engine?.goOn()
      for (const { kernelId, assignment } of executor?.observe() ?? []) executor.forget(kernelId, assignment)
      await eventually(() => (executor?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
      await executor?.close()
      await engine?.[Symbol.asyncDispose]()
      await fixture?.dispose()
    })

    async function open(): Promise<void> {
      labels = []
      executor = fixture.create({ changed: () => undefined, labelled: (said) => void labels.push(said) })
      await executor.recover()
    }

    function start(script: string): string {
      const spec = kernelSpec({ command: ['sh', '-c', script] })
      executor.start(spec, 1)
      return spec.kernelId
    }

    /** It goes on when its `gate` is there, and has said that it waits. */
    async function startWaiting(): Promise<{
      kernelId: string
      open(): void
      process: { pid: number; startTicks: number }
    }> {
      const kernelId = start('echo begun; while [ ! -e gate ]; do sleep 0.1; done; echo end')
      await eventually(async () => (await executor.readLog(kernelId, 'STDOUT', 0, 100)).text === 'begun\n', {
        withinMs: SLOWLY_MS,
      })
      const status = readFileSync(join(fixture.kernel(kernelId), 'status'), 'utf8')
      const openGate = () => writeFileSync(join(fixture.kernel(kernelId), 'work', 'gate'), '')
      return { kernelId, open: openGate, process: parseStatus(status).shim! }
    }

    /** Before its image is found, or behind that. */
    function saysWhyItWaits(kernelId: string): boolean {
      const { progress, waiting } = find(executor, kernelId) ?? {}
      return progress === SILENT || waiting?.reason === SILENT
    }

    const isUnreachable = () => eventually(() => labels.length > 0, { withinMs: SLOWLY_MS })

    test.skipIf(missing !== null).each(['stands still', 'was killed'])(
      'is reported while it %s: running kernels continue, and new ones wait',
      LONG,
      async (how) => {
        labels.length = 0
        const running = await startWaiting()
        if (how === 'was killed') await engine.stop('SIGKILL')
        else engine.pause()
        const later = start('exit 5')
        await isUnreachable()
        expect(labels).toEqual([{ engine: 'unreachable' }])
        await eventually(() => saysWhyItWaits(later), { withinMs: SLOWLY_MS }).catch((error: Error) => {
          throw new Error(`${error.message}; it is ${JSON.stringify(find(executor, later))}`)
        })
        expect(find(executor, running.kernelId)).toMatchObject({ status: 'RUNNING' })
        if (how === 'was killed') await engine.start()
        else engine.goOn()
        await eventually(() => labels.length > 1, { withinMs: SLOWLY_MS })
        expect(labels).toEqual([{ engine: 'unreachable' }, {}])
        expect(await reaches(executor, later, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 5, error: null })
        running.open()
        expect(await reaches(executor, running.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 0 })
        // A paused container loses no output, nor does a running one.
        expect((await readAll(executor, running.kernelId, 'STDOUT')).text).toBe('begun\nend\n')
      },
    )

    test.skipIf(missing !== null).each(['after it was seen', 'while nobody looked'])(
      'knows later that it was down, %s',
      LONG,
      async (when) => {
        labels.length = 0
        const running = await startWaiting()
        if (when === 'while nobody looked') await executor.close()
        await engine.stop('SIGKILL')
        if (when === 'after it was seen') {
          await isUnreachable()
          await executor.close()
        }
        running.open()
        await eventually(() => !isAlive(running.process), { withinMs: SLOWLY_MS })
        await engine.start()
        await open()
        expect(await reaches(executor, running.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 0 })
        const { text } = await readAll(executor, running.kernelId, 'STDOUT')
        // Containers of Podman have somebody else who takes their output.
        if (name === 'podman') expect(text).toBe('begun\nend\n')
        else expect(text.replace('end\n', '')).toBe(`begun\n${MAY_BE_MISSING}`)
        expect(existsSync(join(fixture.agentDir, 'engine.json'))).toBe(true)
      },
    )

    test.skipIf(missing !== null)(
      'reports no missing output for a kernel that ended while only the agent was away',
      LONG,
      async () => {
        const running = await startWaiting()
        await executor.close()
        running.open()
        await eventually(() => !isAlive(running.process), { withinMs: SLOWLY_MS })
        await open()
        await reaches(executor, running.kernelId, 'EXITED', SLOWLY_MS)
        expect((await readAll(executor, running.kernelId, 'STDOUT')).text).toBe('begun\nend\n')
      },
    )
  })
})

describe('stops', () => {
  /** It says that it has heard, and ends at a word, which it gets when the agent is gone. */
  const HEEDS =
    'trap "echo heard; until [ -e gate ]; do sleep 0.05; done; exit 7" TERM; echo ready; while :; do sleep 0.05; done'
  const IGNORES = 'trap "echo heard" TERM; echo ready; while :; do sleep 0.05; done'
  const SHORT_MS = 500

  const CASES = [
    { what: 'that heeds it', script: HEEDS, graceMs: 600_000, exitCode: 7 },
    { what: 'that does not, and whose grace goes on', script: IGNORES, graceMs: 15_000, exitCode: 137 },
    { what: 'that does not, and whose grace passes meanwhile', script: IGNORES, graceMs: SHORT_MS, exitCode: 137 },
  ]

  describeEngines('an agent with %s that is killed while it stops a kernel', (name) => {
    const missing = whyNoEngine(name)
    let engine: ContainerEngine
    let fixture: ContainerFixture
    let next: Executor
    let holder: HeldAgent
    const specs = CASES.map(({ script }) => kernelSpec({ command: ['sh', '-c', script] }))

    beforeAll(async () => {
      if (missing !== null) return
      engine = await sharedEngine(name)
      fixture = await createContainerFixture(engine, { pull: 'never' })
      next = fixture.create({ changed: () => undefined })
      holder = holdAgent(fixture, engine.socket, specs)
      holder.start()
      for (const { kernelId } of specs) await holder.reaches(kernelId, 'RUNNING')
      for (const { kernelId } of specs) await eventually(() => says(kernelId, 'ready'), { withinMs: SLOWLY_MS })
      for (const [at, { kernelId }] of specs.entries()) holder.stop(kernelId, CASES[at]!.graceMs)
      for (const { kernelId } of specs.slice(0, 2))
        await eventually(() => says(kernelId, 'heard'), { withinMs: SLOWLY_MS })
      await holder.kill()
      await pause(SHORT_MS)
      writeFileSync(join(fixture.kernel(specs[0]!.kernelId), 'work', 'gate'), '')
      await next.recover()
    })
    afterAll(async () => {
      await holder?.kill()
      for (const { kernelId, assignment } of next?.observe() ?? []) next.forget(kernelId, assignment)
      await eventually(() => (next?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
      await next?.close()
      await fixture?.dispose()
    })

    async function says(kernelId: string, text: string): Promise<boolean> {
      const { Id } = (await fixture.container(kernelId))!
      const { text: output } = await engine.call('GET', `/containers/${Id}/logs?stdout=1`)
      return output.includes(text)
    }

    test.skipIf(missing !== null).each(CASES.map((each, at) => ({ ...each, at })))(
      '$what: the next agent continues it',
      async ({ at, exitCode }) => {
        const { kernelId } = specs[at]!
        expect(await reaches(next, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({
          exitCode,
          stopped: true,
          oomKilled: false,
          error: null,
        })
        // Nobody knows whether the signal had been sent: it is sent again.
        expect((await readAll(next, kernelId, 'STDOUT')).text).toMatch(/^ready\n(heard\n){0,2}$/)
      },
    )
  })
})

describe('watching', () => {
  const missing = whyNoEngine('podman')

  /** Only what watches a container learns of its end, and tells Podman. */
  test.skipIf(missing !== null)('a container of which Podman says for ever that it runs', async () => {
    const fixture = await createContainerFixture(await sharedEngine('podman'), { pull: 'never' })
    const executor = fixture.create({ changed: () => undefined })
    await executor.recover()
    const spec = kernelSpec({ command: ['sleep', '1000'] })
    const { kernelId } = spec
    executor.prepare(spec, 1)
    await reaches(executor, kernelId, 'PREPARED', SLOWLY_MS)
    executor.start(spec, 1)
    await reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)
    const { shim } = parseStatus(readFileSync(join(fixture.kernel(kernelId), 'status'), 'utf8'))
    const watcher = readProcStat(shim!.parent)!
    process.kill(watcher.pid, 'SIGKILL')
    await eventually(() => !isAlive(watcher), { withinMs: SLOWLY_MS })
    process.kill(shim!.pid, 'SIGKILL')
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS * 2)).toMatchObject({
      exitCode: null,
      error: { name: 'kernel-vanished' },
    })
    expect(await fixture.container(kernelId)).toMatchObject({ State: 'running' })
    executor.forget(kernelId, 1)
    await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
    await eventually(async () => (await fixture.container(kernelId)) === undefined, { withinMs: SLOWLY_MS })
    await executor.close()
    await fixture.dispose()
  })
})
