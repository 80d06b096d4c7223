import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { parseStatus } from '../../../src/agent/executors/kernel-directory/shim-status.ts'
import { isAlive, type ProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import {
  BASE_IMAGE,
  ENGINES,
  type PrivateEngine,
  startEngine,
  whyNoEngine,
} from '../../support/containers/private-engine.ts'
import { slowDown } from '../../support/containers/slow-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { type HeldAgent, holdAgent, SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'

const LONG = { timeout: 3 * SLOWLY_MS }
const MEM_BYTES = 48 * 1024 * 1024
const WAITS = 'echo begun; while [ ! -e gate ]; do sleep 0.1; done'

/** What an agent finds that was away, or whose engine was. */
describe.each(ENGINES)('containers of %s', (name) => {
  const missing = whyNoEngine(name)
  let engine: PrivateEngine
  let fixture: ContainerFixture
  let executor: Executor
  let holder: HeldAgent | null

  beforeAll(async () => {
    if (missing === null) engine = await startEngine(name, { ofRun: inject('runDirectory') })
  })
  afterAll(() => engine?.[Symbol.asyncDispose]())
  beforeEach(async () => {
    if (missing !== null) return
    holder = null
    fixture = await createContainerFixture(engine, { pull: 'never' })
    executor = fixture.create({ changed: () => undefined })
  })
  afterEach(async () => {
    if (missing !== null) return
    await holder?.kill()
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
    await executor.close()
    await fixture.dispose()
  })

  async function start(script: string): Promise<KernelSpec> {
    const spec = kernelSpec({ command: ['sh', '-c', script] })
    executor.start(spec, 1)
    return spec
  }

  /** Another agent runs it until it is killed. */
  async function hold(script: string, more: Partial<KernelSpec> = {}, socket = engine.socket): Promise<KernelSpec> {
    const spec = kernelSpec({ command: ['sh', '-c', script], ...more })
    holder = holdAgent(fixture, socket, [spec])
    holder.start()
    await holder.reaches(spec.kernelId, 'RUNNING')
    await eventually(() => firstOf(spec), { withinMs: SLOWLY_MS })
    return spec
  }

  /** The next agent, which knows of the other one what that has written down. */
  async function takeOver(): Promise<void> {
    await holder!.kill()
    await executor.close()
    executor = fixture.create({ changed: () => undefined })
    await executor.recover()
  }

  const file = ({ kernelId }: KernelSpec, ...path: string[]) => join(fixture.kernel(kernelId), ...path)
  const ends = ({ kernelId }: KernelSpec) => reaches(executor, kernelId, 'EXITED', SLOWLY_MS)
  const firstOf = (spec: KernelSpec): ProcStat | null =>
    existsSync(file(spec, 'status')) ? parseStatus(readFileSync(file(spec, 'status'), 'utf8')).shim : null
  const isGone = (kernelId: string) =>
    eventually(async () => (await fixture.container(kernelId)) === undefined, { withinMs: SLOWLY_MS })

  async function create(containerName: string, labels: Record<string, string>): Promise<string> {
    const { status, text } = await engine.call('POST', `/containers/create?name=${containerName}`, {
      Image: BASE_IMAGE,
      Cmd: ['sleep', '1000'],
      Labels: labels,
      HostConfig: { NetworkMode: 'host' },
    })
    expect({ status, text }).toMatchObject({ status: 201 })
    const { Id } = JSON.parse(text) as { Id: string }
    await engine.call('POST', `/containers/${Id}/start`)
    return Id
  }
  const stateOf = async (id: string) => {
    const { status, text } = await engine.call('GET', `/containers/${id}/json`)
    return status !== 200 ? null : (JSON.parse(text) as { State: { Status: string } }).State.Status
  }

  test.skipIf(missing !== null)(
    'one that is forgotten while the engine is down goes when it is back',
    LONG,
    async () => {
      await executor.recover()
      const spec = await start('exit 5')
      expect(await ends(spec)).toMatchObject({ exitCode: 5 })
      await engine.stop('SIGKILL')
      executor.forget(spec.kernelId, 1)
      await eventually(() => !existsSync(file(spec)), { withinMs: SLOWLY_MS })
      expect(find(executor, spec.kernelId)).toBeUndefined()
      await engine.start()
      await isGone(spec.kernelId)
    },
  )

  test.skipIf(missing !== null)('one of the agent whose kernel nobody knows goes, and no other', LONG, async () => {
    const labels = (agentId: string) => ({
      'reprise.agent': agentId,
      'reprise.kernel': uuidv7(),
      'reprise.assignment': '1',
    })
    const own = await create(`reprise-${uuidv7()}-1`, labels(fixture.agentId))
    const others = [await create(`reprise-${uuidv7()}-1`, labels(uuidv7())), await create('somebody', {})]
    expect(await stateOf(own)).toBe('running')
    await executor.recover()
    await eventually(async () => (await stateOf(own)) === null, { withinMs: SLOWLY_MS })
    for (const id of others) {
      expect(await stateOf(id)).toBe('running')
      await engine.call('DELETE', `/containers/${id}?force=1`)
    }
  })

  test.skipIf(missing !== null)("one of somebody else that has a kernel's name is left alone", LONG, async () => {
    await executor.recover()
    const spec = kernelSpec()
    const id = await create(`reprise-${spec.kernelId}-1`, {})
    executor.start(spec, 1)
    expect(await reaches(executor, spec.kernelId, 'FAILED', SLOWLY_MS)).toMatchObject({
      startedAt: null,
      error: { name: 'executor-failed', message: `there is another container reprise-${spec.kernelId}-1` },
    })
    executor.forget(spec.kernelId, 1)
    await eventually(() => !existsSync(file(spec)), { withinMs: SLOWLY_MS })
    expect(await stateOf(id)).toBe('running')
    await engine.call('DELETE', `/containers/${id}?force=1`)
  })

  test.skipIf(missing !== null)('one that somebody removes while the agent is away', LONG, async () => {
    const spec = await hold(WAITS)
    await holder!.kill()
    const { Id } = (await fixture.container(spec.kernelId))!
    await engine.call('DELETE', `/containers/${Id}?force=1`)
    await takeOver()
    expect(await ends(spec)).toMatchObject({ exitCode: null, error: { name: 'cancelled-outside' } })
  })

  test.skipIf(missing !== null)('one that runs out of memory while the agent is away', LONG, async () => {
    const eats = `${WAITS}; tail </dev/zero >/dev/null; exit 3`
    const spec = await hold(eats, { resourceSlots: { mem: String(MEM_BYTES) } })
    const first = firstOf(spec)!
    await holder!.kill()
    writeFileSync(file(spec, 'work', 'gate'), '')
    await eventually(() => !isAlive(first), { withinMs: SLOWLY_MS })
    await takeOver()
    expect(await ends(spec)).toMatchObject({ exitCode: 3, oomKilled: true, error: { name: 'oom-killed' } })
  })

  test.skipIf(missing !== null)('one that the end of its machine has taken along', LONG, async () => {
    const spec = await hold(WAITS)
    await holder!.kill()
    const first = firstOf(spec)!
    process.kill(first.pid, 'SIGKILL')
    await eventually(() => !isAlive(first), { withinMs: SLOWLY_MS })
    const record = JSON.parse(readFileSync(file(spec, 'spec.json'), 'utf8')) as object
    writeFileSync(file(spec, 'spec.json'), JSON.stringify({ ...record, bootId: uuidv7() }))
    await takeOver()
    expect(await ends(spec)).toMatchObject({ exitCode: 137, error: { name: 'node-failed' } })
  })

  test.skipIf(missing !== null).each(['request', 'answer'] as const)(
    'one whose start is under way when the engine is killed runs, and once: %s',
    LONG,
    async (held) => {
      let once = true
      await using slow = await slowDown(engine.socket, `${engine.socket}.slow`, (request) => {
        if (!once || !/\/start(\?|$)/.test(request)) return null
        once = false
        return held
      })
      const spec = kernelSpec({ command: ['sh', '-c', `echo begun >>/chain/witness; ${WAITS}; exit 5`] })
      holder = holdAgent(fixture, slow.socket, [spec])
      holder.start()
      await eventually(() => (held === 'answer' ? slow.answered() : slow.asked()).length > 0, { withinMs: SLOWLY_MS })
      expect(readFileSync(file(spec, 'status'), 'utf8')).toMatch(/^claimed \w+\n$/)
      await engine.stop('SIGKILL')
      await engine.start()
      await holder.reaches(spec.kernelId, 'RUNNING')
      writeFileSync(file(spec, 'work', 'gate'), '')
      await holder.reaches(spec.kernelId, 'EXITED')
      await takeOver()
      expect(await ends(spec)).toMatchObject({ exitCode: 5, error: null })
      expect(readFileSync(join(fixture.agentDir, 'chains', spec.chainId, 'witness'), 'utf8')).toBe('begun\n')
    },
  )

  test.skipIf(missing !== null).each([
    ['any event', /\/events/],
    ['any event, and the end of any output', /\/events|[?&]follow=(1|true)/],
  ])('ends are known without %s', LONG, async (_, told) => {
    await using slow = await slowDown(engine.socket, `${engine.socket}.slow`, (request) =>
      told.test(request) ? 'answer' : null,
    )
    const specs = ['exit 5', 'sleep 2; exit 6'].map((script) => kernelSpec({ command: ['sh', '-c', script] }))
    holder = holdAgent(fixture, slow.socket, specs)
    holder.start()
    for (const { kernelId } of specs) await holder.reaches(kernelId, 'EXITED')
    expect(slow.asked().some((request) => request.includes('/events'))).toBe(true)
    await takeOver()
    expect(await Promise.all(specs.map(ends))).toMatchObject([{ exitCode: 5 }, { exitCode: 6 }])
  })

  test.skipIf(missing !== null)(
    'one that is stopped while the engine is down has its grace when it is back',
    LONG,
    async () => {
      await executor.recover()
      const spec = await start('trap "exit 7" TERM; echo ready; while :; do sleep 0.1; done')
      const isReady = async () => (await executor.readLog(spec.kernelId, 'STDOUT', 0, 100)).text === 'ready\n'
      await eventually(isReady, { withinMs: SLOWLY_MS })
      await engine.stop('SIGKILL')
      executor.stop(spec.kernelId, 1, 3_600_000)
      await eventually(() => existsSync(file(spec, 'stop')), { withinMs: SLOWLY_MS })
      await engine.start()
      expect(await ends(spec)).toMatchObject({ exitCode: 7, stopped: true, error: null })
    },
  )

  test.skipIf(missing !== null || name === 'podman')(
    'what may be missing of an output is said once, also if the agent is killed behind that',
    LONG,
    async () => {
      const spec = await hold(WAITS)
      const output = () => (existsSync(file(spec, 'stdout')) ? readFileSync(file(spec, 'stdout'), 'utf8') : '')
      await eventually(() => output() === 'begun\n', { withinMs: SLOWLY_MS })
      await engine.stop('SIGKILL')
      const first = firstOf(spec)!
      process.kill(first.pid, 'SIGKILL')
      await eventually(() => !isAlive(first), { withinMs: SLOWLY_MS })
      await engine.start()
      // Before it is written down, the agent looks whether somebody removes one that was killed.
      await eventually(() => output().includes('may be missing'), { withinMs: SLOWLY_MS })
      await takeOver()
      await ends(spec)
      const { text } = await readAll(executor, spec.kernelId, 'STDOUT')
      expect(text).toBe('begun\n[reprise: the container engine was down; output may be missing]\n')
    },
  )
})
