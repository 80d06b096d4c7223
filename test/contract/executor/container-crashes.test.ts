import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { FENCED } from '../../../src/agent/executors/executor.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { isAlive, scanProcesses, uptimeSeconds } from '../../../src/agent/executors/process/proc-stat.ts'
import { createFence } from '../../../src/agent/fence.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { describeEngines, describeEnginesConcurrently } from '../../support/containers/describe-engines.ts'
import { BASE_IMAGE, type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { slowDown } from '../../support/containers/slow-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { type HeldAgent, holdAgent, SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { openHandover } from './container-handover.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'

describe('crashes', () => {
  const log = pino({ enabled: false })

  describeEngines('an agent with %s that is killed', (name) => {
    const missing = whyNoEngine(name)
    let engine: PrivateEngine
    let fixture: ContainerFixture
    let next: Executor
    let holder: HeldAgent

    beforeAll(async () => {
      if (missing === null) engine = await startEngine(name, { ofRun: inject('runDirectory') })
    })
    afterAll(() => engine?.[Symbol.asyncDispose]())
    beforeEach(async () => {
      if (missing !== null) return
      fixture = await createContainerFixture(engine, { pull: 'never' })
      next = fixture.create({ changed: () => undefined })
    })
    afterEach(async () => {
      if (missing !== null) return
      await holder.kill()
      for (const { kernelId, assignment } of next.observe()) next.forget(kernelId, assignment)
      await eventually(() => next.observe().length === 0, { withinMs: SLOWLY_MS })
      await next.close()
      await fixture.dispose()
    })

    async function hold(spec: KernelSpec, socket = engine.socket): Promise<HeldAgent> {
      holder = holdAgent(fixture, socket, [spec])
      await holder.reaches(spec.kernelId, 'PREPARED')
      return holder
    }

    const hasScript = (kernelId: string) => {
      const files = readdirSync(fixture.kernel(kernelId)).filter((file) => /^run\.\w+$/.test(file))
      return files.some((file) => readFileSync(join(fixture.kernel(kernelId), file), 'utf8').endsWith('}'))
    }
    /** The first process of its container, as the agent has written it down. */
    const beganAs = (kernelId: string) => {
      const status = join(fixture.kernel(kernelId), 'status')
      return existsSync(status) ? parseStatus(readFileSync(status, 'utf8')).shim : null
    }
    /** A lease as after an answer of the server. Without one, a keeper ends with its agent. */
    const setFence = (fenceAfterMs: number) => {
      const fence = createFence(fixture.agentDir, () => undefined, log)
      fence.renew(uptimeSeconds(), fenceAfterMs)
      fence.close()
    }
    const workFile = (kernelId: string, file: string) => join(fixture.kernel(kernelId), 'work', file)

    test.skipIf(missing !== null)('while its container is made: that one runs, and once', async () => {
      const spec = kernelSpec({ command: ['sh', '-c', 'echo begun >>witness; exit 5'] })
      const agent = await hold(spec)
      engine.pause()
      agent.start()
      await eventually(() => hasScript(spec.kernelId), { withinMs: SLOWLY_MS })
      await agent.kill()
      engine.goOn()
      await next.recover()
      expect(await reaches(next, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 5, error: null })
      expect(readFileSync(workFile(spec.kernelId, 'witness'), 'utf8')).toBe('begun\n')
    })

    test.skipIf(missing !== null)('while it runs: its output is whole, to the byte', async () => {
      const script =
        'print() { head -c 20000 /bin/busybox; echo line; echo error >&2; }; print; touch said; while [ ! -e gate ]; do sleep 0.1; done; print'
      const spec = kernelSpec({ command: ['sh', '-c', script] })
      const agent = await hold(spec)
      agent.start()
      await eventually(() => existsSync(workFile(spec.kernelId, 'said')), { withinMs: SLOWLY_MS })
      await agent.kill()
      appendFileSync(workFile(spec.kernelId, 'gate'), '')
      await next.recover()
      expect(await reaches(next, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 0, error: null })
      const output = readFileSync(join(fixture.kernel(spec.kernelId), 'stdout'))
      const printed = Buffer.concat([readFileSync('/bin/busybox').subarray(0, 20_000), Buffer.from('line\n')])
      expect(output.equals(Buffer.concat([printed, printed]))).toBe(true)
      expect((await readAll(next, spec.kernelId, 'STDERR')).text).toBe('error\nerror\n')
    })

    test.skipIf(missing !== null).each([
      ['past its fence', false],
      ['past its fence, and the engine is killed as well', true],
    ])('%s: its container is ended, by nobody but the keeper', async (_, isEngineDown) => {
      const spec = kernelSpec({ command: ['sh', '-c', 'while :; do echo beat >>heart; sleep 0.1; done'] })
      const agent = await hold(spec)
      agent.start()
      const ran = await eventually(() => beganAs(spec.kernelId), { withinMs: SLOWLY_MS })
      await eventually(() => existsSync(workFile(spec.kernelId, 'heart')), { withinMs: SLOWLY_MS })
      setFence(3_600_000)
      await agent.kill()
      expect(await fixture.container(spec.kernelId)).toMatchObject({ State: 'running' })
      if (isEngineDown) await engine.stop('SIGKILL')
      expect(isAlive(ran)).toBe(true)
      setFence(1_000)
      // Not by the engine's word: Podman's list calls one running whose end its watcher has not told it.
      await eventually(() => !isAlive(ran), { withinMs: SLOWLY_MS })
      const beats = readFileSync(workFile(spec.kernelId, 'heart'), 'utf8')
      if (isEngineDown) await engine.start()
      await next.recover()
      expect(await reaches(next, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ error: FENCED })
      expect(readFileSync(workFile(spec.kernelId, 'heart'), 'utf8')).toBe(beats)
    })

    test.skipIf(missing !== null).each([
      ['has been started, and it does not know', 'answer'],
      ['is started when its fence has passed', 'request'],
    ] as const)('while its container %s: the keeper ends it', async (_, holds) => {
      await using slow = await slowDown(engine.socket, (request) => (/ \S+\/start(\?|$)/.test(request) ? holds : null))
      const spec = kernelSpec({ command: ['sh', '-c', 'while :; do echo beat >>heart; sleep 0.1; done'] })
      const agent = await hold(spec, slow.socket)
      agent.start()
      await eventually(() => slow.asked().length > 0, { withinMs: SLOWLY_MS })
      if (holds === 'answer') await eventually(() => slow.answered().length > 0, { withinMs: SLOWLY_MS })
      setFence(3_600_000)
      await agent.kill()
      const container = (await fixture.container(spec.kernelId))!.Id
      expect(readFileSync(join(fixture.kernel(spec.kernelId), 'status'), 'utf8')).toBe(`claimed ${container}\n`)
      const passed = uptimeSeconds() + 1
      setFence(1_000)
      if (holds === 'request') {
        // The keeper has looked, and has found nothing.
        await eventually(() => uptimeSeconds() > passed + 3, { withinMs: SLOWLY_MS })
        expect(existsSync(join(fixture.kernel(spec.kernelId), 'stop'))).toBe(false)
        slow.passOn()
        await eventually(() => slow.answered().length > 0, { withinMs: SLOWLY_MS })
      }
      await eventually(() => membersOf(container).length === 0, { withinMs: SLOWLY_MS })
      expect(existsSync(join(fixture.kernel(spec.kernelId), 'stop'))).toBe(true)
      await next.recover()
      expect(await reaches(next, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ error: FENCED })
    })
  })

  /** The processes of a container, without what watches it. */
  function membersOf(container: string): number[] {
    return scanProcesses()
      .map(({ pid }) => pid)
      .filter((pid) => {
        try {
          return new RegExp(`/(libpod-)?${container}`).test(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))
        } catch {
          return false
        }
      })
  }
})

describe('recovery', () => {
  const LONG = { timeout: 3 * SLOWLY_MS }
  const MEM_BYTES = 48 * 1024 * 1024
  const WAITS = 'echo begun; while [ ! -e gate ]; do sleep 0.1; done'

  /** Containers that an agent finds when it returns. */
  describeEnginesConcurrently('containers of %s', (name) => {
    const missing = whyNoEngine(name)

    test.skipIf(missing !== null)('one of the agent whose kernel nobody knows goes, and no other', LONG, async () => {
      const engine = await sharedEngine(name)
      await using agents = await openHandover(engine)
      const labels = (agentId: string) => ({
        'reprise.agent': agentId,
        'reprise.kernel': uuidv7(),
        'reprise.assignment': '1',
      })
      const own = await create(engine, `reprise-${uuidv7()}-1`, labels(agents.fixture.agentId))
      const others = [
        await create(engine, `reprise-${uuidv7()}-1`, labels(uuidv7())),
        await create(engine, `somebody-${uuidv7()}`, {}),
      ]
      expect(await stateOf(engine, own)).toBe('running')
      await agents.executor.recover()
      await eventually(async () => (await stateOf(engine, own)) === null, { withinMs: SLOWLY_MS })
      for (const id of others) {
        expect(await stateOf(engine, id)).toBe('running')
        await engine.call('DELETE', `/containers/${id}?force=1`)
      }
    })

    test.skipIf(missing !== null)("a foreign one that has a kernel's name is left alone", LONG, async () => {
      const engine = await sharedEngine(name)
      await using agents = await openHandover(engine)
      const { executor } = agents
      await executor.recover()
      const spec = kernelSpec()
      const id = await create(engine, `reprise-${spec.kernelId}-1`, {})
      executor.start(spec, 1)
      expect(await reaches(executor, spec.kernelId, 'FAILED', SLOWLY_MS)).toMatchObject({
        startedAt: null,
        error: { name: 'executor-failed', message: `there is another container reprise-${spec.kernelId}-1` },
      })
      executor.forget(spec.kernelId, 1)
      await eventually(() => !existsSync(agents.file(spec)), { withinMs: SLOWLY_MS })
      expect(await stateOf(engine, id)).toBe('running')
      await engine.call('DELETE', `/containers/${id}?force=1`)
    })

    test.skipIf(missing !== null)('one that is removed while the agent is away', LONG, async () => {
      const engine = await sharedEngine(name)
      await using agents = await openHandover(engine)
      const { spec, holder } = await agents.holdRunning(WAITS)
      await holder.kill()
      const { Id } = (await agents.fixture.container(spec.kernelId))!
      await engine.call('DELETE', `/containers/${Id}?force=1`)
      await agents.takeOver()
      expect(await agents.ends(spec)).toMatchObject({ exitCode: null, error: { name: 'cancelled-outside' } })
    })

    test.skipIf(missing !== null)('one that runs out of memory while the agent is away', LONG, async () => {
      await using agents = await openHandover(await sharedEngine(name))
      const eats = `${WAITS}; tail </dev/zero >/dev/null; exit 3`
      const { spec, holder } = await agents.holdRunning(eats, { resourceSlots: { mem: String(MEM_BYTES) } })
      const first = agents.firstOf(spec)!
      await holder.kill()
      writeFileSync(agents.file(spec, 'work', 'gate'), '')
      await eventually(() => !isAlive(first), { withinMs: SLOWLY_MS })
      await agents.takeOver()
      expect(await agents.ends(spec)).toMatchObject({ exitCode: 3, oomKilled: true, error: { name: 'oom-killed' } })
    })

    test.skipIf(missing !== null)('one that the end of its machine has taken along', LONG, async () => {
      await using agents = await openHandover(await sharedEngine(name))
      const { spec, holder } = await agents.holdRunning(WAITS)
      await holder.kill()
      const first = agents.firstOf(spec)!
      process.kill(first.pid, 'SIGKILL')
      await eventually(() => !isAlive(first), { withinMs: SLOWLY_MS })
      const record = JSON.parse(readFileSync(agents.file(spec, 'spec.json'), 'utf8')) as object
      writeFileSync(agents.file(spec, 'spec.json'), JSON.stringify({ ...record, bootId: uuidv7() }))
      await agents.takeOver()
      expect(await agents.ends(spec)).toMatchObject({ exitCode: 137, error: { name: 'node-failed' } })
    })

    test.skipIf(missing !== null).each([
      ['any event', /\/events/],
      ['any event, and the end of any output', /\/events|[?&]follow=(1|true)/],
    ])('ends are known without %s', LONG, async (_, told) => {
      const engine = await sharedEngine(name)
      await using slow = await slowDown(engine.socket, (request) => (told.test(request) ? 'answer' : null))
      await using agents = await openHandover(engine)
      const specs = ['exit 5', 'sleep 2; exit 6'].map((script) => kernelSpec({ command: ['sh', '-c', script] }))
      const holder = agents.hold(specs, slow.socket)
      for (const { kernelId } of specs) await holder.reaches(kernelId, 'EXITED')
      expect(slow.asked().some((request) => request.includes('/events'))).toBe(true)
      await agents.takeOver()
      expect(await Promise.all(specs.map(agents.ends))).toMatchObject([{ exitCode: 5 }, { exitCode: 6 }])
    })
  })

  async function create(
    engine: ContainerEngine,
    containerName: string,
    labels: Record<string, string>,
  ): Promise<string> {
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

  async function stateOf(engine: ContainerEngine, id: string): Promise<string | null> {
    const { status, text } = await engine.call('GET', `/containers/${id}/json`)
    return status !== 200 ? null : (JSON.parse(text) as { State: { Status: string } }).State.Status
  }
})
