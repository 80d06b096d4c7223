import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { type HeldAgent, holdAgent, SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'

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
    '$what: the next one goes on with it',
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
