import { describe, expect, test } from 'vitest'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { createContainerFixture } from './container-fixture.ts'
import { execConformance } from './exec-conformance.ts'
import { executorConformance } from './executor-conformance.ts'
import { kernelSpec, reaches } from './executor-subject.ts'

describe('conformance', () => {
  const SLOWLY_MS = 90_000

  describeEngines('containers of %s', (name) => {
    const missing = whyNoEngine(name)
    const createFixture = async () => createContainerFixture(await sharedEngine(name), { pull: 'never' })

    executorConformance(`container, with ${name}`, createFixture, missing)

    test.skipIf(missing !== null)(
      'what is no program in the image is told, and the same words of a program that ran are not',
      { timeout: SLOWLY_MS * 2 },
      async () => {
        const fixture = await createFixture()
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
})

describe('commands in a container', () => {
  describeEngines('containers of %s', (name) => {
    const missing = whyNoEngine(name)

    async function echoServer(): Promise<string[]> {
      const port = await fixedPort()
      return ['sh', '-c', `echo port ${port}; exec nc -ll -p ${port} -e cat`]
    }

    for (const network of ['host', 'none']) {
      const createFixture = async () => ({
        ...(await createContainerFixture(await sharedEngine(name), { pull: 'never', network })),
        echoServer,
      })
      execConformance(`a container with network ${network}`, createFixture, missing)
    }
  })
})
