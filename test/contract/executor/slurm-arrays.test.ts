import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import { createSlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
/** A busy machine takes its time to start a job. */
const SLOWLY_MS = 120_000
const KERNELS = 9

describe.skipIf(missing !== null)(`arrays of a cluster${missing === null ? '' : `: ${missing}`}`, () => {
  test.each([
    ['that has none', 0, /^rp-[^b]/],
    ['that takes few tasks of one', 5, /^rp-b/],
  ])('%s: equal kernels run all the same, each once', { timeout: 400_000 }, async (_, arraySizeMax, name) => {
    await using cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'), {
      lines: [`MaxArraySize=${arraySizeMax}`],
      jobAgeSeconds: 600,
    })
    const fixture = await createSlurmFixture(cluster)
    const executor = fixture.create({ changed: () => undefined })
    await executor.recover()
    const specs = Array.from({ length: KERNELS }, () =>
      kernelSpec({ command: ['sh', '-c', 'echo x >>witness; exit 5'] }),
    )
    for (const spec of specs) executor.start(spec, 1)
    for (const { kernelId } of specs) {
      expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 5, error: null })
      const witness = join(fixture.kernel(kernelId), 'work', 'witness')
      expect(existsSync(witness) && readFileSync(witness, 'utf8')).toBe('x\n')
    }
    const names = (await cluster.run('squeue', '--noheader', '--states=all', '--array', '--format=%j'))
      .trim()
      .split('\n')
    expect(names).toHaveLength(KERNELS)
    expect(names.filter((each) => name.test(each)).length).toBeGreaterThan(KERNELS / 2)
    for (const { kernelId } of specs) executor.forget(kernelId, 1)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
  })
})
