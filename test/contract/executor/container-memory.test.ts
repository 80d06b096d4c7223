import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { describeEnginesConcurrently } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'

const MEM_BYTES = 48 * 1024 * 1024
const mem = { mem: String(MEM_BYTES) }
/** Alone: another process that needed a page while this one died would have the system kill the next, which may be the shell. */
const EATS = 'tail </dev/zero >/dev/null'
const OUT_OF_MEMORY = { name: 'oom-killed', message: `ran out of its ${MEM_BYTES} bytes of memory` }

describeEnginesConcurrently('what %s says of a container that was killed', (name) => {
  const missing = whyNoEngine(name)
  let engine: ContainerEngine
  let fixture: ContainerFixture
  let executor: Executor

  beforeAll(async () => {
    if (missing !== null) return
    engine = await sharedEngine(name)
    fixture = await createContainerFixture(engine, { pull: 'never' })
    executor = fixture.create({ changed: () => undefined })
    await executor.recover()
  })
  afterAll(async () => {
    for (const { kernelId, assignment } of executor?.observe() ?? []) executor.forget(kernelId, assignment)
    await eventually(() => (executor?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
    await executor?.close()
    await fixture?.dispose()
  })

  function start(script: string, resourceSlots: Record<string, string> = mem): string {
    const spec = kernelSpec({ command: ['sh', '-c', script], resourceSlots })
    executor.start(spec, 1)
    return spec.kernelId
  }
  const ends = (kernelId: string) => reaches(executor, kernelId, 'EXITED', SLOWLY_MS)

  test.skipIf(missing !== null).each([
    ['its main process runs out of memory', `exec ${EATS}`, 137],
    ['it lost a process for lack of memory, and fails', `${EATS}; exit 3`, 3],
  ])('%s', async (_, script, exitCode) => {
    expect(await ends(start(script))).toMatchObject({ exitCode, oomKilled: true, error: OUT_OF_MEMORY })
  })

  test.skipIf(missing !== null).each([
    ['it lost a process for lack of memory, and succeeds', `${EATS}; echo "$?"; exit 0`, 0],
    ['its program kills itself', 'kill -KILL $$', 137],
    // Files that are kept in memory fill the limit as well.
    [
      'its program kills itself when files have filled its memory',
      'head -c 90000000 /dev/zero >file; kill -KILL $$',
      137,
    ],
    ['it says so itself', 'exit 137', 137],
  ])('%s: that is no lack of memory', async (_, script, exitCode) => {
    expect(await ends(start(script))).toMatchObject({ exitCode, oomKilled: false, error: null })
  })

  test.skipIf(missing !== null)('one that loses a process and succeeds has lost it', async () => {
    const kernelId = start(`${EATS}; echo $?`)
    await ends(kernelId)
    expect((await readAll(executor, kernelId, 'STDOUT')).text).toBe('137\n')
  })

  test.skipIf(missing !== null).each([
    ['somebody kills it', 'POST', 'kill', { exitCode: 137, error: null }],
    ['somebody removes it', 'DELETE', '?force=1', { exitCode: null, error: { name: 'cancelled-outside' } }],
  ] as const)('%s from outside', async (_, method, what, end) => {
    const kernelId = start('sleep 1000')
    await reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)
    const { Id } = (await fixture.container(kernelId))!
    await engine.call(method, `/containers/${Id}${method === 'POST' ? `/${what}` : what}`)
    expect(await ends(kernelId)).toMatchObject({ ...end, oomKilled: false })
  })
})
