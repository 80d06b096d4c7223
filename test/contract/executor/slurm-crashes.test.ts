import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { UNREACHABLE } from '../../../src/agent/executors/slurm/slurm-commands.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type OwnSlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { find } from './executor-subject.ts'
import { gated, openSlurm, SLOWLY_MS } from './slurm-scene.ts'

const missing = whyNoSlurmCluster()
/** Slurm's programs take their time to see that nobody answers. */
const LONG = { timeout: 600_000 }

describe.skipIf(missing !== null)(
  `a controller of Slurm in trouble${missing === null ? '' : `: ${missing}`}`,
  LONG,
  () => {
    let cluster: OwnSlurmCluster

    beforeAll(async () => {
      cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'))
      return () => cluster[Symbol.asyncDispose]()
    })

    test('while it is away, ends arrive, stops work, and a label says so', async () => {
      const labels: Record<string, string>[] = []
      await using scene = await openSlurm(cluster, {
        capacityMs: 1_000,
        hooks: { labelled: (now) => void labels.push(now) },
      })
      const short = scene.start(gated(8))
      const long = scene.start('exec sleep 1000')
      for (const kernel of [short, long]) await scene.reaches(kernel, 'RUNNING')
      await scene.hasBegun(short)
      expect(labels).toEqual([])
      await cluster.controller.stop('SIGTERM')
      try {
        scene.executor.stop(long.kernelId, 1, 3_000)
        scene.openGate(short)
        expect(await scene.reaches(long, 'EXITED')).toMatchObject({ error: null, stopped: true })
        expect(await scene.reaches(short, 'EXITED')).toMatchObject({ exitCode: 8, error: null })
        await eventually(() => labels.length > 0, { withinMs: SLOWLY_MS })
      } finally {
        await cluster.controller.start()
      }
      expect(labels).toEqual([UNREACHABLE])
      await eventually(() => labels.length > 1, { withinMs: SLOWLY_MS })
      expect(labels).toEqual([UNREACHABLE, {}])
    })

    test('a start that is ordered while it is away waits, says why, and begins once', async () => {
      await using scene = await openSlurm(cluster)
      const { executor } = scene
      const running = scene.start(gated(8))
      await scene.reaches(running, 'RUNNING')
      await scene.hasBegun(running)
      await cluster.controller.stop('SIGTERM')
      const [ordered, stopped] = [scene.start('echo begun >>witness; exit 9'), scene.start('echo begun >>witness')]
      try {
        for (const { kernelId } of [ordered, stopped]) {
          const waiting = await eventually(() => find(executor, kernelId)?.waiting, { withinMs: SLOWLY_MS })
          expect(waiting.reason).toContain('Unable to contact slurm controller')
        }
        executor.stop(stopped.kernelId, 1, 0)
        expect(await scene.reaches(stopped, 'EXITED')).toMatchObject({ startedAt: null, stopped: true })
        scene.openGate(running)
        expect(await scene.reaches(running, 'EXITED')).toMatchObject({ exitCode: 8, error: null })
        // It has been submitted in vain more than once.
        const submit = () => JSON.parse(readFileSync(scene.file(ordered, 'submit'), 'utf8')) as { submissions: number }
        await eventually(() => submit().submissions > 2, { withinMs: SLOWLY_MS })
        expect(find(executor, ordered.kernelId)?.status).toBe('PREPARED')
      } finally {
        await cluster.controller.start()
      }
      expect(await scene.reaches(ordered, 'EXITED')).toMatchObject({ exitCode: 9, error: null })
      expect([ordered, stopped].map((each) => scene.begunTimes(each))).toEqual([1, 0])
      const jobs = await cluster.run('squeue', '--noheader', '--states=all', '--format=%j')
      expect(jobs.split('\n').filter((name) => name.includes(ordered.kernelId)).length).toBeLessThanOrEqual(1)
      expect(jobs).not.toContain(stopped.kernelId)
    })

    test('one that is killed right behind a submission and comes back has each job run once', async () => {
      await using scene = await openSlurm(cluster)
      const specs = Array.from({ length: 3 }, () => scene.start('echo begun >>witness; sleep 2; exit 7'))
      const jobs = () => cluster.run('squeue', '--noheader', '--states=all', '--format=%k')
      await eventually(async () => (await jobs()).includes(scene.fixture.agentId), { withinMs: SLOWLY_MS })
      await cluster.controller.stop('SIGKILL')
      await cluster.controller.start()
      // It gives ids out again that it has forgotten, and drains a node that knows one of them: "Duplicate jobid". So this
      // is the last test of this cluster.
      const operator = setInterval(() => void resumeNodes(), 2_000)
      try {
        for (const spec of specs) {
          const ended = await eventually(
            () => {
              const kernel = find(scene.executor, spec.kernelId)
              return (kernel?.status === 'EXITED' || kernel?.status === 'FAILED') && kernel
            },
            { withinMs: 240_000 },
          )
          expect([7, null]).toContain(ended.exitCode)
          expect(scene.begunTimes(spec)).toBeLessThanOrEqual(1)
        }
        const states = () => cluster.run('sinfo', '--noheader', '--format=%T')
        await eventually(async () => !/drain|down/.test(await states()), { withinMs: SLOWLY_MS })
      } finally {
        clearInterval(operator)
      }
    })

    /** What an operator does about drained nodes. */
    async function resumeNodes(): Promise<void> {
      const names = cluster.nodes.map(({ name }) => name).join()
      await cluster.run('scontrol', 'update', `NodeName=${names}`, 'State=RESUME').catch(() => '')
    }
  },
)
