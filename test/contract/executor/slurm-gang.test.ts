import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ExecutorOffer } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import {
  nameCluster,
  type OwnSlurmCluster,
  type SlurmCluster,
  startOwnSlurmCluster,
  whyNoSlurmCluster,
} from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createSlurmFixture } from './slurm-fixture.ts'
import { openSlurm, type SlurmScene } from './slurm-scene.ts'

const missing = whyNoSlurmCluster()

describe('sessions on several nodes', () => {
  const LONG = { timeout: 300_000 }

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

  const ended = (scene: SlurmScene, specs: readonly KernelSpec[]) =>
    Promise.all(specs.map((spec) => scene.reaches(spec, 'EXITED')))
  const running = (scene: SlurmScene, specs: readonly KernelSpec[]) =>
    Promise.all(specs.map((spec) => scene.reaches(spec, 'RUNNING')))

  describe
    .skipIf(missing !== null)
    .concurrent(`sessions of several kernels on Slurm${missing === null ? '' : `: ${missing}`}`, LONG, () => {
      let cluster: SlurmCluster

      beforeAll(async () => {
        cluster = await sharedSlurmCluster()
        return nameCluster(cluster)
      })

      test('they are one job, and each task has its own directory, output and exit code', async () => {
        await using scene = await openSlurm(cluster)
        const { executor } = scene
        const specs = gangOf(['echo a; pwd; sleep 1; exit 3', 'echo b; pwd', 'echo c; pwd; exit 5'])
        for (const spec of specs) executor.prepare(spec, 1)
        for (const spec of specs.slice(1)) executor.start(spec, 1)
        // The job waits for the last of them.
        await eventually(() => specs.slice(1).every((spec) => existsSync(scene.file(spec, 'run.1'))))
        expect(existsSync(scene.file(specs[1]!, 'submit'))).toBe(false)
        executor.start(specs[0]!, 1)
        const ends = await ended(scene, specs)
        expect(ends.map(({ exitCode, error }) => [exitCode, error])).toEqual([
          [3, null],
          [0, null],
          [5, null],
        ])
        expect(new Set(ends.map(({ slurmJobId }) => slurmJobId)).size).toBe(1)
        for (const [n, { kernelId }] of specs.entries()) {
          const { text } = await readAll(executor, kernelId, 'STDOUT')
          expect(text).toBe(`${'abc'[n]}\n${scene.file({ kernelId }, 'work')}\n`)
        }
      })

      test('kernels that no node could have together are spread, and those of one node are not', async () => {
        await using scene = await openSlurm(cluster)
        const { executor } = scene
        const spread = gangOf(
          Array.from({ length: 2 }, () => 'nproc'),
          { resourceSlots: { cpu: String(cluster.cpusPerNode / 2 + 1) } },
        )
        for (const spec of spread) executor.start(spec, 1)
        const hosts = (await ended(scene, spread)).map(({ host }) => host)
        expect(new Set(hosts)).toEqual(new Set(cluster.nodes.map(({ name }) => name)))
        const gang = { size: 2, singleNode: true }
        const together = gangOf(['true', 'true'], { gang, resourceSlots: { cpu: '7', mem: String(64 * 1024 ** 2) } })
        for (const spec of together) executor.start(spec, 1)
        expect(new Set((await ended(scene, together)).map(({ host }) => host)).size).toBe(1)
      })

      test('the end, the failure and the stop of one leave the others alone', async () => {
        await using scene = await openSlurm(cluster)
        const { executor } = scene
        const long = 'trap "echo told; exit 9" TERM; while :; do sleep 0.1; done'
        const specs = gangOf(['exec sleep 1000', long, 'sleep 1; exit 4'])
        for (const spec of specs) executor.start(spec, 1)
        const [first, second, third] = specs as [KernelSpec, KernelSpec, KernelSpec]
        await running(scene, [first, second])
        expect(await scene.reaches(third, 'EXITED')).toMatchObject({
          exitCode: 4,
          stopped: false,
        })
        executor.stop(second.kernelId, 1, 60_000)
        expect(await scene.reaches(second, 'EXITED')).toMatchObject({
          exitCode: 9,
          stopped: true,
        })
        expect(await readAll(executor, second.kernelId, 'STDOUT')).toMatchObject({ text: 'told\n' })
        expect(find(executor, first.kernelId)).toMatchObject({ status: 'RUNNING' })
        executor.stop(first.kernelId, 1, 0)
        expect(await scene.reaches(first, 'EXITED')).toMatchObject({ error: null, stopped: true })
      })

      test('one that is stopped before all are started keeps the others from running', async () => {
        await using scene = await openSlurm(cluster)
        const { executor } = scene
        const specs = gangOf(['echo begun >>witness', 'echo begun >>witness'])
        const [first, second] = specs as [KernelSpec, KernelSpec]
        executor.start(first, 1)
        const other = async () => {
          const spec = kernelSpec({ command: ['true'] })
          executor.start(spec, 1)
          await scene.reaches(spec, 'EXITED')
        }
        await other()
        executor.stop(first.kernelId, 1, 0)
        await scene.reaches(first, 'EXITED')
        executor.start(second, 1)
        await eventually(() => existsSync(scene.file(second, 'run.1')))
        await other()
        expect(specs.map((spec) => scene.begunTimes(spec))).toEqual([0, 0])
        executor.stop(second.kernelId, 1, 0)
        expect(await scene.reaches(second, 'EXITED')).toMatchObject({ startedAt: null, stopped: true })
      })

      test('another instance takes over running jobs, and a cancelled job has failed for all', async () => {
        await using scene = await openSlurm(cluster)
        const specs = gangOf(Array.from({ length: 2 }, () => 'echo begun >>witness; exec sleep 1000'))
        for (const spec of specs) scene.executor.start(spec, 1)
        for (const spec of specs) await scene.hasBegun(spec)
        await scene.reopen()
        const [{ slurmJobId } = {}] = await running(scene, specs)
        expect((await cluster.run('squeue', '--noheader', '--format=%i')).trim().split('\n')).toContain(slurmJobId)
        await cluster.run('scancel', slurmJobId!)
        for (const end of await ended(scene, specs)) expect(end.error).toMatchObject({ name: 'cancelled-outside' })
        expect(specs.map((spec) => scene.begunTimes(spec))).toEqual([1, 1])
        for (const { kernelId } of specs) scene.executor.forget(kernelId, 1)
        await eventually(() => readdirSync(join(scene.fixture.root, 'batches')).length === 0)
      })
    })
})

describe('capacity', () => {
  describe.skipIf(missing !== null)(`what Slurm has${missing === null ? '' : `: ${missing}`}`, () => {
    let cluster: OwnSlurmCluster

    beforeAll(async () => {
      cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'), { gpusPerNode: 2 })
    })
    afterAll(() => cluster[Symbol.asyncDispose]())

    test('is offered again when a node goes, and when it returns', async () => {
      const fixture = await createSlurmFixture(cluster, { capacityMs: 500 })
      const offers: ExecutorOffer[] = []
      const executor = fixture.create({ changed: () => undefined, offers: (offer) => void offers.push(offer) })
      await executor.recover()
      const cpus = () => offers.at(-1)?.slots['cpu']
      const node = cluster.nodes[0]!.name
      try {
        expect(cpus()).toBe('32')
        await cluster.run('scontrol', 'update', `NodeName=${node}`, 'State=DRAIN', 'Reason=test')
        await eventually(() => cpus() === '16').catch(async (error: unknown) => {
          throw new Error(await cluster.run('sinfo', '-N', '--Format=NodeList:|,StateLong:|,CPUsState:|'), {
            cause: error,
          })
        })
        await cluster.run('scontrol', 'update', `NodeName=${node}`, 'State=RESUME')
        await eventually(() => cpus() === '32')
        expect(offers).toHaveLength(3)
      } finally {
        await executor.close()
        await fixture.dispose()
      }
    })

    test('includes GPUs, of which a job sees those that it asked for', async () => {
      const fixture = await createSlurmFixture(cluster, { gres: { 'cuda.device': 'gpu' } })
      const offers: ExecutorOffer[] = []
      const executor = fixture.create({ changed: () => undefined, offers: (offer) => void offers.push(offer) })
      await executor.recover()
      const print = ['sh', '-c', 'echo "$CUDA_VISIBLE_DEVICES"; sleep 1']
      const run = (amount: string, more: Partial<KernelSpec> = {}) => {
        const spec = kernelSpec({ command: print, resourceSlots: { cpu: '1', 'cuda.device': amount }, ...more })
        executor.start(spec, 1)
        return spec.kernelId
      }
      const seen = async (kernelId: string) => {
        await reaches(executor, kernelId, 'EXITED')
        return (await readAll(executor, kernelId, 'STDOUT')).text.trim()
      }
      try {
        expect(offers.at(-1)).toMatchObject({
          slots: { 'cuda.device': '4' },
          slotsPerKernelMax: { 'cuda.device': '2' },
        })
        expect(await seen(run('2'))).toBe('0,1')
        expect(await seen(run('1'))).toBe('0')
        expect(await seen(run('0'))).not.toMatch(/\d/)
        const sessionId = uuidv7()
        const gang = { size: 2, singleNode: true }
        const [first, second] = [run('1', { sessionId, gang }), run('1', { sessionId, gang, role: 'sub' })]
        const jobs = await Promise.all([first, second].map(seen))
        const hosts = [first, second].map((kernelId) => find(executor, kernelId)?.host)
        expect(new Set(hosts).size).toBe(1)
        for (const devices of jobs) expect(devices).toMatch(/^\d$/)
        const refused = await reaches(executor, run('3'), 'FAILED')
        expect(refused.error).toMatchObject({ name: 'submit-refused' })
      } finally {
        for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
        await eventually(() => executor.observe().length === 0)
        await executor.close()
        await fixture.dispose()
      }
    })
  })
})
