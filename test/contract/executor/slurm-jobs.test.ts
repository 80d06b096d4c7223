import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { findKeeper } from '../../support/slurm/find-keeper.ts'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import {
  nameCluster,
  type SlurmCluster,
  startOwnSlurmCluster,
  whyNoSlurmCluster,
} from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createSlurmFixture, LONG_FENCE_MS, TOO_SHORT_MS } from './slurm-fixture.ts'
import { gated, openSlurm, SLOWLY_MS, type SlurmScene } from './slurm-scene.ts'

const missing = whyNoSlurmCluster()

describe('jobs', () => {
  const LONG = { timeout: 300_000 }

  /** Jobs that are not to be requeued have to be changed before somebody can. */
  async function requeue(cluster: SlurmCluster, { executor }: SlurmScene, { kernelId }: KernelSpec): Promise<void> {
    const jobId = `${find(executor, kernelId)?.slurmJobId}`
    await cluster.run('scontrol', 'update', `JobId=${jobId}`, 'Requeue=1')
    await cluster.run('scontrol', 'requeue', jobId)
    const row = () => cluster.run('squeue', '--noheader', '--states=all', `--jobs=${jobId}`, '--Format=RestartCnt')
    await eventually(async () => Number((await row()).trim()) > 0, { withinMs: SLOWLY_MS })
  }

  describe.skipIf(missing !== null).concurrent(`jobs of Slurm${missing === null ? '' : `: ${missing}`}`, LONG, () => {
    let cluster: SlurmCluster

    beforeAll(async () => {
      cluster = await sharedSlurmCluster()
      return nameCluster(cluster)
    })

    test('equal ones become one array, in which each runs once and has its own output', async () => {
      await using scene = await openSlurm(cluster)
      const { executor, fixture } = scene
      const specs = Array.from({ length: 20 }, (_, n) =>
        kernelSpec({ command: ['sh', '-c', `echo ${n}; exit ${n % 3}`] }),
      )
      // All of them wait before the first is submitted.
      executor.renewed?.(TOO_SHORT_MS)
      for (const spec of specs) executor.start(spec, 1)
      await eventually(() => executor.observe().every(({ waiting }) => waiting?.reason.includes('too short')))
      executor.renewed?.(LONG_FENCE_MS)
      const squeue = ['--noheader', '--states=all', '--array', '--format=%K %k']
      const job = await eventually(async () =>
        (await cluster.run('squeue', ...squeue))
          .split('\n')
          .find((line) => line.startsWith(`7 reprise agent=${fixture.agentId} `)),
      )
      const lines = readFileSync(/ tasks=(\S+)$/.exec(job)![1]!, 'utf8').split('\n')
      // They are in the order in which they were ready.
      const ofEach = specs.map(({ kernelId, sessionId }) => `${kernelId} 1 session=${sessionId} attempt=1`)
      expect(lines.slice(0, -1).toSorted()).toEqual(ofEach.toSorted())
      for (const [n, spec] of specs.entries()) {
        expect(await scene.reaches(spec, 'EXITED')).toMatchObject({ exitCode: n % 3, error: null })
        expect(await readAll(executor, spec.kernelId, 'STDOUT')).toMatchObject({ text: `${n}\n` })
      }
      expect(readdirSync(join(fixture.root, 'batches'))).toHaveLength(1)
      for (const { kernelId } of specs) executor.forget(kernelId, 1)
      await eventually(() => readdirSync(join(fixture.root, 'batches')).length === 0)
    })

    test('a program does not begin if the disk has no space for the line that says so', async () => {
      await using scene = await openSlurm(cluster)
      const { executor, fixture } = scene
      const ran = join(cluster.shared, `ran-${randomUUID()}`)
      const spec = kernelSpec({ command: ['sh', '-c', `: >${ran}`] })
      executor.prepare(spec, 1)
      await reaches(executor, spec.kernelId, 'PREPARED')
      const path = join(fixture.root, 'kernels', spec.kernelId)
      symlinkSync('/dev/full', join(existsSync(join(path, 'job')) ? join(path, 'job') : path, 'status'))
      executor.start(spec, 1)
      expect(await scene.reaches(spec, 'EXITED')).toMatchObject({ exitCode: null, error: { name: 'kernel-vanished' } })
      expect(existsSync(ran)).toBe(false)
    })

    test('a program that could not be run is explained, with the name of its file', async () => {
      await using scene = await openSlurm(cluster)
      const { executor } = scene
      const place = mkdtempSync(join(cluster.shared, 'programs-'))
      chmodSync(place, 0o755)
      const file = (name: string, text: string, mode = 0o755) => {
        const path = join(place, name)
        writeFileSync(path, text)
        chmodSync(path, mode)
        return path
      }
      const windows = file('windows.sh', '#!/bin/sh\r\necho hello\r\n')
      const windowsOption = file('option.sh', '#!/bin/sh -e\r\necho hello\r\n')
      const plain = file('plain.sh', '#!/bin/sh\n', 0o644)
      const noInterpreter = file('none.py', '#!/no/such/python\n')
      const noEnv = file('env.py', '#!/usr/bin/env no-such-python\n')
      const cases: [string[], number, RegExp | null][] = [
        [['no-such-command'], 127, /^command not found: no-such-command is not on the session’s PATH$/],
        [['/no/such/command'], 127, /^command not found: there is no \/no\/such\/command on node \S+$/],
        [['./train.sh'], 127, /^command not found: there is no \.\/train\.sh in the directory of its own/],
        [[plain], 126, /plain\.sh is no program: it is not executable\. chmod \+x/],
        [[windows], 127, /windows\.sh cannot be run: its lines end with a carriage return/],
        [[windowsOption], 2, /option\.sh cannot be run: its lines end with a carriage return/],
        [[noInterpreter], 127, /none\.py cannot be run: its first line names the interpreter \/no\/such\/python/],
        [[noEnv], 127, /env\.py cannot be run: its first line names the interpreter no-such-python/],
        [['sh', '-c', 'no-such-command'], 127, null],
        [['sh', '-c', 'exit 126'], 126, null],
        [['sh', '-c', 'exit 2'], 2, null],
      ]
      const environ = [{ name: 'PATH', value: '/usr/bin:/bin' }]
      const specs = cases.map(([command]) => kernelSpec({ command, environ }))
      for (const spec of specs) executor.start(spec, 1)
      for (const [index, [, exitCode, message]] of cases.entries()) {
        const error = message && { name: 'command-not-found', message: expect.stringMatching(message), exitCode }
        expect(await scene.reaches(specs[index]!, 'EXITED')).toMatchObject({ exitCode, error })
      }
      rmSync(place, { recursive: true })
    })

    test('the stop of one task of an array leaves the others alone, also if Slurm has not been asked since it began', async () => {
      await using scene = await openSlurm(cluster, { pollMs: 600_000 })
      const { executor } = scene
      const specs = Array.from({ length: 16 }, () => kernelSpec({ command: ['sh', '-c', gated(5)] }))
      for (const spec of specs) executor.start(spec, 1)
      for (const spec of specs) await scene.reaches(spec, 'RUNNING')
      // One of them has the number by which Slurm knows the array.
      const ofArray = (await cluster.run('squeue', '--noheader', '--states=RUNNING', '--array', '--format=%F')).split(
        '\n',
      )
      const isFirst = (spec: KernelSpec) =>
        ofArray.includes(/^began (\d+)/.exec(readFileSync(scene.file(spec, 'status'), 'utf8'))![1]!)
      const stopped = specs.find(isFirst)!
      executor.stop(stopped.kernelId, 1, 1_000)
      expect(await scene.reaches(stopped, 'EXITED')).toMatchObject({ stopped: true })
      for (const spec of specs) scene.openGate(spec)
      for (const spec of specs.filter((each) => each !== stopped))
        expect(await scene.reaches(spec, 'EXITED')).toMatchObject({ exitCode: 5, error: null })
    })

    test('programs that heed their stop at once have the exit code that they end with', async () => {
      await using scene = await openSlurm(cluster)
      const { executor } = scene
      // Each a job of its own, whose script gets the signal: unequal ones share no array.
      const specs = Array.from({ length: 20 }, (_, index) =>
        kernelSpec({
          command: ['sh', '-c', 'trap "exit 7" TERM; echo begun >>witness; while :; do sleep 0.1; done'],
          resourceSlots: { mem: String((64 + index) * 1024 * 1024) },
        }),
      )
      for (const spec of specs) executor.start(spec, 1)
      for (const spec of specs) await scene.hasBegun(spec)
      for (const spec of specs) await scene.reaches(spec, 'RUNNING')
      for (const { kernelId } of specs) executor.stop(kernelId, 1, 60_000)
      const ended = await Promise.all(specs.map((spec) => scene.reaches(spec, 'EXITED')))
      expect(ended.map(({ exitCode }) => exitCode)).toEqual(specs.map(() => 7))
    })

    test('another instance takes over running and waiting jobs, and each runs once', async () => {
      await using scene = await openSlurm(cluster)
      const first = scene.start(gated(4))
      await scene.hasBegun(first)
      const second = scene.start('echo begun >>witness; exit 5')
      await eventually(() => existsSync(scene.file(second, 'run.1')))
      await scene.reopen()
      scene.openGate(first)
      expect(await scene.reaches(first, 'EXITED')).toMatchObject({ exitCode: 4, error: null })
      expect(await scene.reaches(second, 'EXITED')).toMatchObject({ exitCode: 5, error: null })
      expect([first, second].map((each) => scene.begunTimes(each))).toEqual([1, 1])
    })

    test('a job that is submitted twice runs once', async () => {
      await using scene = await openSlurm(cluster)
      const { fixture } = scene
      const kernel = scene.start(gated(6))
      await scene.hasBegun(kernel)
      const script = `/bin/sh ${join(fixture.root, 'bin', readdirSync(join(fixture.root, 'bin'))[0]!, 'job.sh')}`
      const now = Math.floor(Date.now() / 1000)
      const job = `${script} ${fixture.root} ${now} one ${kernel.kernelId} 1`
      await cluster.run('sbatch', '--wait', '--output=/dev/null', '--chdir=/', `--wrap=exec ${job}`)
      scene.openGate(kernel)
      expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ exitCode: 6, error: null })
      expect(scene.begunTimes(kernel)).toBe(1)
    })

    test('a cancelled one has failed for an external reason', async () => {
      await using scene = await openSlurm(cluster)
      const kernel = scene.start('trap "exit 0" TERM; while :; do sleep 0.1; done')
      await scene.reaches(kernel, 'RUNNING')
      await cluster.run('scancel', `--name=rp-${kernel.kernelId}-1`)
      expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({
        error: { name: 'cancelled-outside' },
        stopped: false,
      })
    })

    test.each([
      ['heeds', 'trap "exit 3" TERM', { exitCode: 3, error: { name: 'cancelled-outside' } }],
      ['does not heed', 'trap "" TERM', { exitCode: null, error: { name: 'node-failed' } }],
    ])('a requeued one, where the agent %s that, does not run again', async (_, trap, end) => {
      await using scene = await openSlurm(cluster)
      const kernel = scene.start(`${trap}; echo begun >>witness; while :; do sleep 0.1; done`)
      await scene.hasBegun(kernel)
      await scene.reaches(kernel, 'RUNNING')
      await requeue(cluster, scene, kernel)
      expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ ...end, stopped: false })
      const waiting = () => cluster.run('squeue', '--noheader', '--states=PENDING', `--name=rp-${kernel.kernelId}-1`)
      await eventually(async () => (await waiting()).trim() === '', { withinMs: SLOWLY_MS })
      expect(scene.begunTimes(kernel)).toBe(1)
    })

    test('a stop works while the keeper hangs, and the program ignores it', async () => {
      await using scene = await openSlurm(cluster)
      const { executor } = scene
      const kernel = scene.start('trap "" TERM; echo begun >>witness; while :; do sleep 0.1; done')
      await scene.hasBegun(kernel)
      await scene.reaches(kernel, 'RUNNING')
      const keeper = await eventually(() => findKeeper(kernel.kernelId))
      process.kill(-keeper, 'SIGSTOP')
      executor.stop(kernel.kernelId, 1, 500)
      expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ error: null, stopped: true })
      await eventually(async () => (await findKeeper(kernel.kernelId)) === undefined, { withinMs: SLOWLY_MS })
    })

    test('one that has just claimed its start is not judged by an earlier answer of Slurm', async () => {
      await using scene = await openSlurm(cluster, { args: ['--hold'] })
      const kernel = scene.start('echo begun >>witness; exit 9')
      const now = () => find(scene.executor, kernel.kernelId)
      await eventually(() => now()?.waiting?.reason.includes('JobHeldUser'), { withinMs: SLOWLY_MS })
      expect(now()).toMatchObject({ status: 'PREPARED', starting: true })
      // The first thing that its script does; the second may be a while away.
      const status = scene.file(kernel, 'status')
      writeFileSync(status, '', { flag: 'wx' })
      // Slurm is asked several times meanwhile.
      await pause(3_000)
      expect(now()?.status).not.toBe('EXITED')
      rmSync(status)
      await cluster.run('scontrol', 'release', `jobname=rp-${kernel.kernelId}-1`)
      expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ exitCode: 9, error: null })
      expect(scene.begunTimes(kernel)).toBe(1)
    })

    test('a lease that nobody renews any more ends the job', async () => {
      await using scene = await openSlurm(cluster)
      const { executor } = scene
      // A job that has waited longer than half of it does not begin without a new one.
      const renew = () => executor.renewed?.(32_000)
      // It may begin before the first of these, and would have the fixture's lease.
      renew()
      const renewing = setInterval(renew, 500)
      const kernel = scene.start('echo begun >>witness; exec sleep 1000')
      await scene.hasBegun(kernel).finally(() => clearInterval(renewing))
      expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ error: { name: 'agent-fenced' } })
      expect(scene.begunTimes(kernel)).toBe(1)
    })

    test('with too short a fence nothing is started, and the error names it', async () => {
      await using scene = await openSlurm(cluster)
      const { executor } = scene
      executor.renewed?.(20_000)
      const kernel = scene.start('echo begun >>witness')
      const waiting = await eventually(() => find(executor, kernel.kernelId)?.waiting)
      expect(waiting.reason).toContain('too short')
      expect(scene.begunTimes(kernel)).toBe(0)
    })
  })
})

describe('arrays', () => {
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
})

describe('ends of jobs', () => {
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

      test('where a node cannot open its output file', async () => {
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
})
