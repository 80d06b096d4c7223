import { beforeAll, describe, expect, test } from 'vitest'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import { nameCluster, type SlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { find, reaches } from './executor-subject.ts'
import { openSlurm, type SlurmScene } from './slurm-scene.ts'

const missing = whyNoSlurmCluster()
/** Slurm looks for jobs past their end every half minute. */
const MINUTES_MS = 600_000
const LONG = { timeout: 2 * MINUTES_MS }

const endOf = (scene: SlurmScene, { kernelId }: KernelSpec, status: 'EXITED' | 'FAILED') =>
  reaches(scene.executor, kernelId, status, MINUTES_MS)

describe
  .skipIf(missing !== null)
  .concurrent(`ends that Slurm makes${missing === null ? '' : `: ${missing}`}`, LONG, () => {
    let cluster: SlurmCluster

    beforeAll(async () => {
      cluster = await sharedSlurmCluster()
      return nameCluster(cluster)
    })

    test('at its time limit, whether or not the program heeds the signal', async () => {
      await using scene = await openSlurm(cluster, { args: ['--time=1'] })
      const specs = ['trap "exit 0" TERM', 'trap "exit 3" TERM', 'trap "" TERM'].map((trap) =>
        scene.start(`${trap}; echo begun >>witness; while :; do sleep 0.1; done`),
      )
      // Limits are whole minutes: the end is moved instead.
      for (const spec of specs) {
        await scene.hasBegun(spec)
        const { slurmJobId } = await scene.reaches(spec, 'RUNNING')
        await cluster.run('scontrol', 'update', `JobId=${slurmJobId}`, 'EndTime=now+1')
      }
      const ends = await Promise.all(specs.map((spec) => endOf(scene, spec, 'EXITED')))
      expect(ends.map(({ exitCode, error }) => [exitCode, error?.name])).toEqual([
        [0, 'task-timeout'],
        [3, 'task-timeout'],
        [null, 'task-timeout'],
      ])
      expect(specs.map((spec) => scene.begunTimes(spec))).toEqual([1, 1, 1])
    })

    test('at its deadline, before it has begun', async () => {
      const other = ['--licenses=rare', '--output=/dev/null', '--chdir=/', '--wrap=exec sleep 1000']
      const jobId = (await cluster.run('sbatch', '--parsable', ...other)).trim()
      await using scene = await openSlurm(cluster, { args: ['--licenses=rare', '--time=1', '--deadline=now+3600'] })
      const spec = scene.start('echo begun >>witness')
      const { slurmJobId } = await eventually(
        () => {
          const kernel = find(scene.executor, spec.kernelId)
          return kernel?.waiting?.reason.includes('Licenses') && kernel
        },
        { withinMs: MINUTES_MS },
      )
      await cluster.run('scontrol', 'update', `JobId=${slurmJobId}`, 'Deadline=now+2')
      const failed = await endOf(scene, spec, 'FAILED')
      expect(failed).toMatchObject({ startedAt: null, error: { name: 'scheduler-timeout' } })
      await cluster.run('scancel', jobId)
      expect(scene.begunTimes(spec)).toBe(0)
    })

    test('where a node cannot open what it writes its output to', async () => {
      await using scene = await openSlurm(cluster, { args: ['--output=/proc/no-such-directory/output'] })
      const spec = scene.start('echo begun >>witness')
      const failed = await endOf(scene, spec, 'FAILED')
      expect(failed).toMatchObject({
        startedAt: null,
        error: { name: 'executor-failed', message: 'Slurm could not launch its job' },
      })
      expect(scene.begunTimes(spec)).toBe(0)
    })
  })
