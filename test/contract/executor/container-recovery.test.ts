import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { isAlive } from '../../../src/agent/executors/process/proc-stat.ts'
import { describeEnginesConcurrently } from '../../support/containers/describe-engines.ts'
import { BASE_IMAGE, type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { slowDown } from '../../support/containers/slow-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { openHandover } from './container-handover.ts'
import { kernelSpec, reaches } from './executor-subject.ts'

const LONG = { timeout: 3 * SLOWLY_MS }
const MEM_BYTES = 48 * 1024 * 1024
const WAITS = 'echo begun; while [ ! -e gate ]; do sleep 0.1; done'

/** What an agent finds that was away. */
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

  test.skipIf(missing !== null)("one of somebody else that has a kernel's name is left alone", LONG, async () => {
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

  test.skipIf(missing !== null)('one that somebody removes while the agent is away', LONG, async () => {
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

async function create(engine: ContainerEngine, containerName: string, labels: Record<string, string>): Promise<string> {
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
