import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { isAlive, readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import { whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches } from './executor-subject.ts'

const SLOWLY_MS = 90_000

const missing = whyNoEngine('podman')

/** Only what watches a container learns of its end, and tells Podman. */
test.skipIf(missing !== null)('a container of which Podman says for ever that it runs', async () => {
  const fixture = await createContainerFixture(await sharedEngine('podman'), { pull: 'never' })
  const executor = fixture.create({ changed: () => undefined })
  await executor.recover()
  const spec = kernelSpec({ command: ['sleep', '1000'] })
  const { kernelId } = spec
  executor.prepare(spec, 1)
  await reaches(executor, kernelId, 'PREPARED', SLOWLY_MS)
  executor.start(spec, 1)
  await reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)
  const { shim } = parseStatus(readFileSync(join(fixture.kernel(kernelId), 'status'), 'utf8'))
  const watcher = readProcStat(shim!.parent)!
  process.kill(watcher.pid, 'SIGKILL')
  await eventually(() => !isAlive(watcher), { withinMs: SLOWLY_MS })
  process.kill(shim!.pid, 'SIGKILL')
  expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS * 2)).toMatchObject({
    exitCode: null,
    error: { name: 'kernel-vanished' },
  })
  expect(await fixture.container(kernelId)).toMatchObject({ State: 'running' })
  executor.forget(kernelId, 1)
  await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
  await eventually(async () => (await fixture.container(kernelId)) === undefined, { withinMs: SLOWLY_MS })
  await executor.close()
  await fixture.dispose()
})
