import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { isAlive } from '../../../src/agent/executors/process/proc-stat.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'

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
    'says so while it %s: what runs runs, and what is new waits',
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
      // What stands still loses nothing, nor does what was still running.
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
    'is not told that anything is missing of what ended while only the agent was away',
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
