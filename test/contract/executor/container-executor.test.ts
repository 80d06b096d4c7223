import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { ENGINES, type PrivateEngine, startEngine, whyNoEngine } from '../../support/containers/private-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { createContainerFixture } from './container-fixture.ts'
import { executorConformance } from './executor-conformance.ts'
import { kernelSpec, reaches } from './executor-subject.ts'

const SLOWLY_MS = 90_000

describe.each(ENGINES)('%s', (name) => {
  const missing = whyNoEngine(name)
  let engine: PrivateEngine

  beforeAll(async () => {
    if (missing === null) engine = await startEngine(name, { ofRun: inject('runDirectory') })
  })
  afterAll(() => engine?.[Symbol.asyncDispose]())

  executorConformance(`container, with ${name}`, () => createContainerFixture(engine, { pull: 'never' }), missing)

  test.skipIf(missing !== null)(
    'what is no program in the image is told, and the same words of a program that ran are not',
    { timeout: SLOWLY_MS * 2 },
    async () => {
      const fixture = await createContainerFixture(engine, { pull: 'never' })
      const executor = fixture.create({ changed: () => undefined })
      await executor.recover()
      const end = async (...command: string[]) => {
        const spec = kernelSpec({ command })
        executor.start(spec, 1)
        return reaches(executor, spec.kernelId, 'EXITED', SLOWLY_MS)
      }
      const told = (message: string) => ({ error: { name: 'command-not-found', message } })
      expect(await end('no-such-program')).toMatchObject(
        told('command not found: there is no no-such-program in the image'),
      )
      expect(await end('/etc/passwd')).toMatchObject(told('/etc/passwd is no program: it is not executable'))
      expect(await end('sh', '-c', 'echo failed to exec pid1: No such file or directory >&2; exit 1')).toMatchObject({
        exitCode: 1,
        error: null,
      })
      for (const { kernelId } of executor.observe()) executor.forget(kernelId, 1)
      await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
      await executor.close()
      await fixture.dispose()
    },
  )
})
