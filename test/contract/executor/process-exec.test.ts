import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { execConformance, request } from './exec-conformance.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import type { Arrangement } from './isolation-of.ts'
import { createProcessFixture } from './process-fixture.ts'
import { expectNothingPlantedRuns } from './planted-programs.ts'
import { arrangements } from './process-isolations.ts'

const SERVER =
  'const s=require("net").createServer(c=>c.pipe(c)).listen(0,"127.0.0.1",()=>console.log("port "+s.address().port))'

/** An agent that is not root has no way back into namespaces that it has closed behind a kernel. */
const cannotEnter = (arrangement: Arrangement) => arrangement.startsWith('namespaces by ')

const closed = arrangements.filter(({ arrangement }) => cannotEnter(arrangement))
const open = arrangements.filter(({ arrangement }) => !cannotEnter(arrangement))

describe.each(closed)('in a kernel isolated by $arrangement', ({ arrangement, fault }) => {
  test.skipIf(fault !== null)(
    `a command is refused, and it is said why${fault === null ? '' : `: ${fault}`}`,
    async () => {
      const fixture = await createProcessFixture({ arrangement })
      const executor = fixture.create({ changed: () => undefined })
      await executor.recover()
      const spec = kernelSpec({ command: ['sleep', '1000'] })
      executor.start(spec, 1)
      await reaches(executor, spec.kernelId, 'RUNNING')
      const refused = eventually(() =>
        executor.exec!(spec.kernelId, 1, request(['true'])).then(
          () => 'entered',
          (error: { code: string }) => error.code !== 'SESSION_NOT_RUNNING' && error.code,
        ),
      )
      expect(await refused).toBe('CHANNEL_UNSUPPORTED')
      executor.forget(spec.kernelId, 1)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      await fixture.dispose()
    },
  )
})

for (const { arrangement, fault } of open.filter((each) => each.arrangement.startsWith('namespaces'))) {
  expectNothingPlantedRuns(arrangement, fault)
}

for (const { arrangement, fault } of open) {
  const createFixture = async () => ({
    ...(await createProcessFixture({ arrangement })),
    echoServer: () => Promise.resolve([process.execPath, '-e', SERVER]),
  })
  execConformance(`processes isolated by ${arrangement}`, createFixture, fault)
}
