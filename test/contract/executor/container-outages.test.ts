import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { isAlive } from '../../../src/agent/executors/process/proc-stat.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { slowDown } from '../../support/containers/slow-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { openHandover } from './container-handover.ts'
import { find, kernelSpec, readAll } from './executor-subject.ts'

const LONG = { timeout: 3 * SLOWLY_MS }
const WAITS = 'echo begun; while [ ! -e gate ]; do sleep 0.1; done'

/** What becomes of kernels whose engine is killed in the midst of something. */
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
    'what may be missing of an output is said once, also if the agent is killed behind that',
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
