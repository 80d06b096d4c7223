import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { UNREACHABLE } from '../../../src/agent/executors/slurm/slurm-contact.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-options.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { findKeeper } from '../../support/slurm/find-keeper.ts'
import { type SlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createSlurmFixture, LONG_FENCE_MS, type SlurmFixture, TOO_SHORT_MS } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
/** A busy machine takes its time to start a job, and Slurm's programs theirs to see that nobody answers. */
const SLOWLY_MS = 120_000

describe.skipIf(missing !== null)(`Slurm in trouble${missing === null ? '' : `: ${missing}`}`, () => {
  let cluster: SlurmCluster
  let fixture: SlurmFixture
  let executor: Executor
  let labels: Record<string, string>[]

  beforeAll(async () => {
    cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'))
  })
  afterAll(() => cluster[Symbol.asyncDispose]())
  beforeEach(async () => {
    fixture = await createSlurmFixture(cluster)
    await open()
  })
  afterEach(async () => {
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
  })

  async function open(more: Partial<SlurmOptions> = {}): Promise<void> {
    labels = []
    executor = fixture.create({ changed: () => undefined, labelled: (now) => void labels.push(now) }, more)
    await executor.recover()
  }

  function start(script: string): string {
    const spec = kernelSpec({ command: ['sh', '-c', script] })
    executor.start(spec, 1)
    return spec.kernelId
  }

  /** Leaves a line for each time that it begins. */
  const witnessed = (kernelId: string) => {
    const path = join(fixture.kernel(kernelId), 'work', 'witness')
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
  }

  test('equal ones become one array, in which each runs once and has output of its own', async () => {
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
      (await cluster.run('squeue', ...squeue)).split('\n').find((line) => line.startsWith('7 ')),
    )
    const lines = readFileSync(/ tasks=(\S+)$/.exec(job)![1]!, 'utf8').split('\n')
    // They are in the order in which they were ready.
    const ofEach = specs.map(({ kernelId, sessionId }) => `${kernelId} 1 session=${sessionId} attempt=1`)
    expect(lines.slice(0, -1).toSorted()).toEqual(ofEach.toSorted())
    for (const [n, { kernelId }] of specs.entries()) {
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: n % 3, error: null })
      expect(await readAll(executor, kernelId, 'STDOUT')).toMatchObject({ text: `${n}\n` })
    }
    expect(readdirSync(join(fixture.root, 'batches'))).toHaveLength(1)
    for (const { kernelId } of specs) executor.forget(kernelId, 1)
    await eventually(() => readdirSync(join(fixture.root, 'batches')).length === 0)
  })

  test('the stop of one task of an array leaves the others alone, also if Slurm has not been asked since it began', async () => {
    await executor.close()
    await open({ pollMs: 600_000 })
    const specs = Array.from({ length: 16 }, () =>
      kernelSpec({ command: ['sh', '-c', 'echo begun; while [ ! -e gate ]; do sleep 0.1; done; exit 5'] }),
    )
    for (const spec of specs) executor.start(spec, 1)
    const ids = specs.map(({ kernelId }) => kernelId)
    for (const id of ids) await reaches(executor, id, 'RUNNING', SLOWLY_MS)
    // One of them has the number by which Slurm knows the array.
    const ofArray = (await cluster.run('squeue', '--noheader', '--states=RUNNING', '--array', '--format=%F')).split(
      '\n',
    )
    const isFirst = (id: string) =>
      ofArray.includes(/^began (\d+)/.exec(readFileSync(join(fixture.kernel(id), 'status'), 'utf8'))![1]!)
    const stopped = ids.find(isFirst)!
    executor.stop(stopped, 1, 1_000)
    expect(await reaches(executor, stopped, 'EXITED', SLOWLY_MS)).toMatchObject({ stopped: true })
    for (const id of ids) writeFileSync(join(fixture.kernel(id), 'work', 'gate'), '')
    for (const id of ids.filter((each) => each !== stopped))
      expect(await reaches(executor, id, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 5, error: null })
  }, 300_000)

  test('programs that heed their stop at once have the exit code that they end with', async () => {
    // Each a job of its own, whose script gets the signal: unequal ones share no array.
    const specs = Array.from({ length: 20 }, (_, index) =>
      kernelSpec({
        command: ['sh', '-c', 'trap "exit 7" TERM; echo x >>witness; while :; do sleep 0.1; done'],
        resourceSlots: { mem: String((64 + index) * 1024 * 1024) },
      }),
    )
    for (const spec of specs) executor.start(spec, 1)
    const ids = specs.map(({ kernelId }) => kernelId)
    for (const id of ids) await eventually(() => witnessed(id) === 1, { withinMs: SLOWLY_MS })
    for (const id of ids) await reaches(executor, id, 'RUNNING', SLOWLY_MS)
    for (const id of ids) executor.stop(id, 1, 60_000)
    const ended = await Promise.all(ids.map((id) => reaches(executor, id, 'EXITED', SLOWLY_MS)))
    expect(ended.map(({ exitCode }) => exitCode)).toEqual(ids.map(() => 7))
  }, 300_000)

  test('another instance takes over what runs and what waits, and all of it runs once', async () => {
    const first = start('echo x >>witness; sleep 5; exit 4')
    await eventually(() => witnessed(first) === 1)
    const second = start('echo x >>witness; exit 5')
    await eventually(() => existsSync(join(fixture.kernel(second), 'run.1')))
    await executor.close()
    await open()
    expect(await reaches(executor, first, 'EXITED')).toMatchObject({ exitCode: 4, error: null })
    expect(await reaches(executor, second, 'EXITED')).toMatchObject({ exitCode: 5, error: null })
    expect([witnessed(first), witnessed(second)]).toEqual([1, 1])
  })

  test('a job that is submitted twice runs once', async () => {
    const kernelId = start('echo x >>witness; sleep 4; exit 6')
    await eventually(() => witnessed(kernelId) === 1)
    const script = `/bin/sh ${join(fixture.root, 'bin', readdirSync(join(fixture.root, 'bin'))[0]!, 'job.sh')}`
    const now = Math.floor(Date.now() / 1000)
    const job = `${script} ${fixture.root} ${now} one ${kernelId} 1`
    await cluster.run('sbatch', '--wait', '--output=/dev/null', '--chdir=/', `--wrap=exec ${job}`)
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 6, error: null })
    expect(witnessed(kernelId)).toBe(1)
  })

  test('one that somebody cancels has failed for a reason from outside', async () => {
    const kernelId = start('trap "exit 0" TERM; while :; do sleep 0.1; done')
    await reaches(executor, kernelId, 'RUNNING')
    await cluster.run('scancel', `--name=rp-${kernelId}-1`)
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({
      error: { name: 'cancelled-outside' },
      stopped: false,
    })
  })

  /** Jobs that are not to be requeued have to be changed before somebody can. */
  async function requeue(kernelId: string): Promise<void> {
    const jobId = `${find(executor, kernelId)?.slurmJobId}`
    await cluster.run('scontrol', 'update', `JobId=${jobId}`, 'Requeue=1')
    await cluster.run('scontrol', 'requeue', jobId)
    const row = () => cluster.run('squeue', '--noheader', '--states=all', `--jobs=${jobId}`, '--Format=RestartCnt')
    await eventually(async () => Number((await row()).trim()) > 0, { withinMs: SLOWLY_MS })
  }

  test.each([
    ['heeds', 'trap "exit 3" TERM', { exitCode: 3, error: { name: 'cancelled-outside' } }],
    ['does not heed', 'trap "" TERM', { exitCode: null, error: { name: 'node-failed' } }],
  ])('one that somebody requeues, and %s that, does not run again', { timeout: 300_000 }, async (_, trap, end) => {
    const kernelId = start(`${trap}; echo x >>witness; while :; do sleep 0.1; done`)
    await eventually(() => witnessed(kernelId) === 1, { withinMs: SLOWLY_MS })
    await reaches(executor, kernelId, 'RUNNING')
    await requeue(kernelId)
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ ...end, stopped: false })
    const waiting = () => cluster.run('squeue', '--noheader', '--states=PENDING', `--name=rp-${kernelId}-1`)
    await eventually(async () => (await waiting()).trim() === '', { withinMs: SLOWLY_MS })
    expect(witnessed(kernelId)).toBe(1)
  })

  test('a stop works where the keeper stands still, and the program does not heed it', async () => {
    const kernelId = start('trap "" TERM; echo x >>witness; while :; do sleep 0.1; done')
    await eventually(() => witnessed(kernelId) === 1, { withinMs: SLOWLY_MS })
    await reaches(executor, kernelId, 'RUNNING')
    const keeper = await eventually(() => findKeeper(kernelId))
    process.kill(-keeper, 'SIGSTOP')
    executor.stop(kernelId, 1, 500)
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ error: null, stopped: true })
    await eventually(async () => (await findKeeper(kernelId)) === undefined, { withinMs: SLOWLY_MS })
  }, 300_000)

  test('one that has just claimed its start is not judged by what Slurm said before', async () => {
    await executor.close()
    executor = fixture.create({ changed: () => undefined }, { args: ['--hold'] })
    await executor.recover()
    const kernelId = start('echo x >>witness; exit 9')
    await eventually(() => find(executor, kernelId)?.waiting?.reason.includes('JobHeldUser'), { withinMs: SLOWLY_MS })
    expect(find(executor, kernelId)).toMatchObject({ status: 'PREPARED', starting: true })
    // The first thing that its script does; the second may be a while away.
    const status = join(fixture.kernel(kernelId), 'status')
    writeFileSync(status, '', { flag: 'wx' })
    await sleep(3_000)
    expect(find(executor, kernelId)?.status).not.toBe('EXITED')
    rmSync(status)
    await cluster.run('scontrol', 'release', `jobname=rp-${kernelId}-1`)
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 9, error: null })
    expect(witnessed(kernelId)).toBe(1)
  }, 400_000)

  test('while the controller is away, ends arrive, stops work, and a label says so', async () => {
    await executor.close()
    await open({ capacityMs: 1_000 })
    const short = start('while [ ! -e gate ]; do sleep 0.1; done; exit 8')
    const long = start('exec sleep 1000')
    for (const kernelId of [short, long]) await reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)
    expect(labels).toEqual([])
    await cluster.controller.stop('SIGTERM')
    try {
      executor.stop(long, 1, 3_000)
      writeFileSync(join(fixture.kernel(short), 'work', 'gate'), '')
      expect(await reaches(executor, long, 'EXITED', SLOWLY_MS)).toMatchObject({ error: null, stopped: true })
      expect(await reaches(executor, short, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 8, error: null })
      await eventually(() => labels.length > 0, { withinMs: SLOWLY_MS })
    } finally {
      await cluster.controller.start()
    }
    expect(labels).toEqual([UNREACHABLE])
    await eventually(() => labels.length > 1, { withinMs: SLOWLY_MS })
    expect(labels).toEqual([UNREACHABLE, {}])
  }, 600_000)

  test('a start that is ordered while the controller is away waits, says why, and begins once', async () => {
    const running = start('while [ ! -e gate ]; do sleep 0.1; done; exit 8')
    await reaches(executor, running, 'RUNNING', SLOWLY_MS)
    await cluster.controller.stop('SIGTERM')
    const backAt = performance.now() + 30_000
    const [ordered, stopped] = [start('echo x >>witness; exit 9'), start('echo x >>witness')]
    try {
      for (const kernelId of [ordered, stopped]) {
        const waiting = await eventually(() => find(executor, kernelId)?.waiting, { withinMs: SLOWLY_MS })
        expect(waiting.reason).toContain('Unable to contact slurm controller')
      }
      executor.stop(stopped, 1, 0)
      expect(await reaches(executor, stopped, 'EXITED', SLOWLY_MS)).toMatchObject({ startedAt: null, stopped: true })
      writeFileSync(join(fixture.kernel(running), 'work', 'gate'), '')
      expect(await reaches(executor, running, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 8, error: null })
      await sleep(Math.max(0, backAt - performance.now()))
      expect(find(executor, ordered)?.status).toBe('PREPARED')
    } finally {
      await cluster.controller.start()
    }
    expect(await reaches(executor, ordered, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 9, error: null })
    expect([ordered, stopped].map(witnessed)).toEqual([1, 0])
    const jobs = await cluster.run('squeue', '--noheader', '--states=all', '--format=%j')
    expect(jobs.split('\n').filter((name) => name.includes(ordered)).length).toBeLessThanOrEqual(1)
    expect(jobs).not.toContain(stopped)
  }, 600_000)

  test('a lease that nobody renews any more ends the job', async () => {
    // A job that has waited longer than half of it does not begin without a new one.
    const renew = () => executor.renewed?.(32_000)
    // It may begin before the first of these, and would have the fixture's lease.
    renew()
    const renewing = setInterval(renew, 500)
    const kernelId = start('echo x >>witness; exec sleep 1000')
    await eventually(() => witnessed(kernelId) === 1, { withinMs: SLOWLY_MS }).finally(() => clearInterval(renewing))
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ error: { name: 'agent-fenced' } })
    expect(witnessed(kernelId)).toBe(1)
  }, 200_000)

  test('with a fence that is too short nothing is started, and it says so', async () => {
    executor.renewed?.(20_000)
    const kernelId = start('echo x >>witness')
    const waiting = await eventually(() => find(executor, kernelId)?.waiting)
    expect(waiting.reason).toContain('too short')
    expect(witnessed(kernelId)).toBe(0)
  })

  test('a controller that is killed right behind a submission and comes back has each job run once', async () => {
    const kernelIds = Array.from({ length: 3 }, () => start('echo x >>witness; sleep 2; exit 7'))
    await sleep(1_000)
    await cluster.controller.stop('SIGKILL')
    await cluster.controller.start()
    // It gives ids out again that it has forgotten, and drains a node that knows one of them: "Duplicate jobid". So this
    // is the last test of this cluster.
    const operator = setInterval(() => void resumeNodes(), 2_000)
    try {
      for (const kernelId of kernelIds) {
        const ended = await eventually(
          () => {
            const kernel = find(executor, kernelId)
            return (kernel?.status === 'EXITED' || kernel?.status === 'FAILED') && kernel
          },
          { withinMs: 240_000 },
        )
        expect([7, null]).toContain(ended.exitCode)
        expect(witnessed(kernelId)).toBeLessThanOrEqual(1)
      }
      const states = () => cluster.run('sinfo', '--noheader', '--format=%T')
      await eventually(async () => !/drain|down/.test(await states()), { withinMs: SLOWLY_MS })
    } finally {
      clearInterval(operator)
    }
  }, 600_000)

  /** What an operator does about drained nodes. */
  async function resumeNodes(): Promise<void> {
    const names = cluster.nodes.map(({ name }) => name).join()
    await cluster.run('scontrol', 'update', `NodeName=${names}`, 'State=RESUME').catch(() => '')
  }
})
