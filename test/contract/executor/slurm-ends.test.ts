import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type SlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import { createSlurmFixture, type SlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
/** Slurm's limits are whole minutes, and it looks for them every half minute. */
const MINUTES_MS = 240_000

describe.skipIf(missing !== null)(`ends that Slurm makes${missing === null ? '' : `: ${missing}`}`, () => {
  let cluster: SlurmCluster
  let fixture: SlurmFixture
  let executor: Executor | undefined

  beforeAll(async () => {
    cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'))
  })
  afterAll(() => cluster[Symbol.asyncDispose]())
  beforeEach(async () => {
    fixture = await createSlurmFixture(cluster)
  })
  afterEach(async () => {
    for (const { kernelId, assignment } of executor!.observe()) executor!.forget(kernelId, assignment)
    await eventually(() => executor!.observe().length === 0)
    await executor!.close()
    await fixture.dispose()
  })

  /** @returns ids of kernels, which leave a line for each time that they begin */
  async function start(args: string[], ...scripts: string[]): Promise<string[]> {
    executor = fixture.create({ changed: () => undefined }, { args })
    await executor.recover()
    return scripts.map((script) => {
      const spec = kernelSpec({ command: ['sh', '-c', `echo x >>witness; ${script}`] })
      executor!.start(spec, 1)
      return spec.kernelId
    })
  }

  const begunTimes = (kernelId: string) => {
    const path = join(fixture.kernel(kernelId), 'work', 'witness')
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
  }

  test('at its time limit, whether or not the program heeds the signal', { timeout: 600_000 }, async () => {
    const ways = ['trap "exit 0" TERM', 'trap "exit 3" TERM', 'trap "" TERM']
    const kernelIds = await start(['--time=1'], ...ways.map((trap) => `${trap}; while :; do sleep 0.1; done`))
    const ends = await Promise.all(kernelIds.map((id) => reaches(executor!, id, 'EXITED', MINUTES_MS)))
    expect(ends.map(({ exitCode, error }) => [exitCode, error?.name])).toEqual([
      [0, 'task-timeout'],
      [3, 'task-timeout'],
      [null, 'task-timeout'],
    ])
    expect(kernelIds.map(begunTimes)).toEqual([1, 1, 1])
  })

  test('at its deadline, before it has begun', { timeout: 600_000 }, async () => {
    const other = ['--exclusive', '--nodes=2', '--output=/dev/null', '--chdir=/', '--wrap=exec sleep 1000']
    const jobId = (await cluster.run('sbatch', '--parsable', ...other)).trim()
    const [kernelId] = await start(['--time=1', '--deadline=now+65'], 'exit 0')
    const failed = await reaches(executor!, kernelId!, 'FAILED', MINUTES_MS)
    await cluster.run('scancel', jobId)
    expect(failed).toMatchObject({ startedAt: null, error: { name: 'scheduler-timeout' } })
    expect(begunTimes(kernelId!)).toBe(0)
  })

  test('where a node cannot open what it writes its output to', { timeout: 300_000 }, async () => {
    const [kernelId] = await start(['--output=/proc/no-such-directory/output'], 'exit 0')
    const failed = await reaches(executor!, kernelId!, 'FAILED', MINUTES_MS)
    expect(failed).toMatchObject({
      startedAt: null,
      error: { name: 'executor-failed', message: 'Slurm could not launch its job' },
    })
    expect(begunTimes(kernelId!)).toBe(0)
  })
})
