import { afterEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { eventually } from '../../support/eventually.ts'
import { listen, request } from './exec-conformance.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import type { Arrangement } from './isolation-of.ts'
import { createProcessFixture } from './process-fixture.ts'

/** Only in the kernel's own /tmp, and first on the PATH of the agent: as npm puts directories there that others can make. */
const PLANTED = '/tmp/planted-by-kernel'
/** Programs that the way into a kernel may run. Each records its user, and then runs the real one. */
const PLANT = `mkdir -p ${PLANTED}
for name in setpriv nsenter unshare setsid sh rm bwrap env; do
  printf '#!/bin/sh\\nid -u >>${PLANTED}/ran-as\\nexec /usr/bin/%s "$@"\\n' $name >${PLANTED}/$name
done
chmod 755 ${PLANTED}/*
: >${PLANTED}/ran-as
echo planted; sleep 1000`

/** Attacks of a kernel on whoever enters it. */
export function expectNothingPlantedRuns(arrangement: Arrangement, fault: string | null): void {
  describe.skipIf(fault !== null)(`a kernel isolated by ${arrangement}${fault === null ? '' : `: ${fault}`}`, () => {
    const path = process.env['PATH']
    afterEach(() => {
      process.env['PATH'] = path
    })

    test('plants programs, and a command in it runs none of them, and has no more rights than the kernel', async () => {
      process.env['PATH'] = `${PLANTED}:${path}`
      const fixture = await createProcessFixture({ arrangement })
      const executor: Executor = fixture.create({ changed: () => undefined })
      await executor.recover()
      const spec = kernelSpec({ command: ['/bin/sh', '-c', PLANT] })
      executor.start(spec, 1)
      await reaches(executor, spec.kernelId, 'RUNNING')
      await eventually(async () => (await executor.readLog(spec.kernelId, 'STDOUT', 0, 100)).text === 'planted\n')
      for (const tty of [false, true]) {
        const command = ['/bin/sh', '-c', `id -u; cat ${PLANTED}/ran-as; echo end`]
        const channel = await executor.exec!(spec.kernelId, 1, request(command, { tty }))
        const { heard, says } = listen(channel)
        await says('end')
        expect(heard().replaceAll('\r', '')).toMatch(/^[1-9]\d*\nend\n/)
        channel.stdin.end()
        await channel.ended
      }
      executor.forget(spec.kernelId, 1)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      await fixture.dispose()
    })
  })
}
