import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type SlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createSlurmFixture, type SlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
const SLOWLY_MS = 120_000

describe.skipIf(missing !== null)(
  `sessions of several kernels on Slurm${missing === null ? '' : `: ${missing}`}`,
  () => {
    let cluster: SlurmCluster
    let fixture: SlurmFixture
    let executor: Executor

    beforeAll(async () => {
      // Some sites have Slurm end all tasks a while after the first.
      cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'), { lines: ['WaitTime=1'] })
    })
    afterAll(() => cluster[Symbol.asyncDispose]())
    beforeEach(async () => {
      fixture = await createSlurmFixture(cluster)
      await open()
    })
    afterEach(async () => {
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
      await executor.close()
      await fixture.dispose()
    })

    async function open(): Promise<void> {
      executor = fixture.create({ changed: () => undefined })
      await executor.recover()
    }

    /** One kernel for each script: main1, sub1, sub2, … */
    function gangOf(scripts: readonly string[], more: Partial<KernelSpec> = {}): KernelSpec[] {
      const sessionId = uuidv7()
      return scripts.map((script, n) =>
        kernelSpec({
          sessionId,
          role: n === 0 ? 'main' : 'sub',
          index: Math.max(1, n),
          gang: { size: scripts.length, singleNode: false },
          command: ['sh', '-c', script],
          ...more,
        }),
      )
    }

    const ended = (specs: readonly KernelSpec[]) =>
      Promise.all(specs.map(({ kernelId }) => reaches(executor, kernelId, 'EXITED', SLOWLY_MS)))
    const running = (specs: readonly KernelSpec[]) =>
      Promise.all(specs.map(({ kernelId }) => reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)))
    const witnessed = ({ kernelId }: KernelSpec) => {
      const path = join(fixture.kernel(kernelId), 'work', 'witness')
      return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
    }
    const jobs = async () => (await cluster.run('squeue', '--noheader', '--states=all', '--format=%i %j')).trim()

    test('they are one job with a task each, which has a directory, output and exit code of its own', async () => {
      const specs = gangOf(['echo a; pwd; sleep 1; exit 3', 'echo b; pwd', 'echo c; pwd; exit 5'])
      for (const spec of specs) executor.prepare(spec, 1)
      for (const spec of specs.slice(1)) executor.start(spec, 1)
      // The job waits for the last of them.
      await eventually(() =>
        specs.slice(1).every(({ kernelId }) => existsSync(join(fixture.kernel(kernelId), 'run.1'))),
      )
      expect(existsSync(join(fixture.kernel(specs[1]!.kernelId), 'submit'))).toBe(false)
      executor.start(specs[0]!, 1)
      const ends = await ended(specs)
      expect(ends.map(({ exitCode, error }) => [exitCode, error])).toEqual([
        [3, null],
        [0, null],
        [5, null],
      ])
      expect(new Set(ends.map(({ slurmJobId }) => slurmJobId)).size).toBe(1)
      for (const [n, { kernelId }] of specs.entries()) {
        const { text } = await readAll(executor, kernelId, 'STDOUT')
        expect(text).toBe(`${'abc'[n]}\n${join(fixture.kernel(kernelId), 'work')}\n`)
      }
    })

    test('kernels that no node could have together are spread, and those of one node are not', async () => {
      const spread = gangOf(
        Array.from({ length: 2 }, () => 'nproc'),
        { resourceSlots: { cpu: '12' } },
      )
      for (const spec of spread) executor.start(spec, 1)
      const hosts = (await ended(spread)).map(({ host }) => host)
      expect(new Set(hosts)).toEqual(new Set(cluster.nodes.map(({ name }) => name)))
      const gang = { size: 2, singleNode: true }
      const together = gangOf(['true', 'true'], { gang, resourceSlots: { cpu: '7', mem: String(64 * 1024 ** 2) } })
      for (const spec of together) executor.start(spec, 1)
      expect(new Set((await ended(together)).map(({ host }) => host)).size).toBe(1)
    })

    test('the end, the failure and the stop of one leave the others alone', async () => {
      const long = 'trap "echo told; exit 9" TERM; while :; do sleep 0.1; done'
      const specs = gangOf(['exec sleep 1000', long, 'sleep 1; exit 4'])
      for (const spec of specs) executor.start(spec, 1)
      const [first, second, third] = specs as [KernelSpec, KernelSpec, KernelSpec]
      await running([first, second])
      expect(await reaches(executor, third.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({
        exitCode: 4,
        stopped: false,
      })
      executor.stop(second.kernelId, 1, 60_000)
      expect(await reaches(executor, second.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({
        exitCode: 9,
        stopped: true,
      })
      expect(await readAll(executor, second.kernelId, 'STDOUT')).toMatchObject({ text: 'told\n' })
      expect(find(executor, first.kernelId)).toMatchObject({ status: 'RUNNING' })
      executor.stop(first.kernelId, 1, 0)
      expect(await reaches(executor, first.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ error: null, stopped: true })
    }, 300_000)

    test('one that is stopped before all are started keeps the others from running', async () => {
      const specs = gangOf(['echo x >>witness', 'echo x >>witness'])
      const [first, second] = specs as [KernelSpec, KernelSpec]
      executor.start(first, 1)
      const other = async () => {
        const spec = kernelSpec({ command: ['true'] })
        executor.start(spec, 1)
        await reaches(executor, spec.kernelId, 'EXITED', SLOWLY_MS)
      }
      await other()
      executor.stop(first.kernelId, 1, 0)
      await reaches(executor, first.kernelId, 'EXITED')
      executor.start(second, 1)
      await eventually(() => existsSync(join(fixture.kernel(second.kernelId), 'run.1')))
      await other()
      expect(specs.map(witnessed)).toEqual([0, 0])
      executor.stop(second.kernelId, 1, 0)
      expect(await reaches(executor, second.kernelId, 'EXITED')).toMatchObject({ startedAt: null, stopped: true })
    }, 300_000)

    test('another instance takes over what runs, and a job that somebody cancels has failed for all', async () => {
      const specs = gangOf(Array.from({ length: 2 }, () => 'echo x >>witness; exec sleep 1000'))
      for (const spec of specs) executor.start(spec, 1)
      await eventually(() => specs.every((spec) => witnessed(spec) === 1), { withinMs: SLOWLY_MS })
      await executor.close()
      await open()
      const [{ slurmJobId } = {}] = await running(specs)
      expect(await jobs()).toContain(slurmJobId)
      await cluster.run('scancel', slurmJobId!)
      for (const end of await ended(specs)) expect(end.error).toMatchObject({ name: 'cancelled-outside' })
      expect(specs.map(witnessed)).toEqual([1, 1])
      for (const { kernelId } of specs) executor.forget(kernelId, 1)
      await eventually(() => readdirSync(join(fixture.root, 'batches')).length === 0)
    }, 300_000)
  },
)
