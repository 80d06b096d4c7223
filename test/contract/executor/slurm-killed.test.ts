import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-options.ts'
import { readRecord } from '../../../src/agent/executors/kernel-directory/kernel-directory.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type SlowSbatch, slowSbatch } from '../../support/slurm/slow-sbatch.ts'
import { type SlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import { createSlurmFixture, type SlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
const HOLDER = join(import.meta.dirname, 'slurm-holder.ts')
/** A process and a job are started, beside whatever else this machine does. */
const SLOWLY_MS = 90_000

/** Leaves a line for each time that it begins, and ends when it is let. */
const GATED = 'echo begun >>witness; while [ ! -e gate ]; do sleep 0.1; done; exit 5'
const SHORT = 'echo begun >>witness; exit 5'

describe.skipIf(missing !== null)(`an agent of Slurm that is killed${missing === null ? '' : `: ${missing}`}`, () => {
  let cluster: SlurmCluster
  let fixture: SlurmFixture
  let sbatch: SlowSbatch
  let next: Executor
  let holder: ChildProcess

  beforeAll(async () => {
    cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'), { jobAgeSeconds: 600 })
  })
  afterAll(() => cluster[Symbol.asyncDispose]())
  beforeEach(async () => {
    fixture = await createSlurmFixture(cluster)
    sbatch = slowSbatch(join(await temporaryDirectory('slow-sbatch'), 'bin'))
  })
  afterEach(async () => {
    holder.kill('SIGKILL')
    sbatch.goOn()
    for (const { kernelId, assignment } of next.observe()) next.forget(kernelId, assignment)
    await eventually(() => next.observe().length === 0, { withinMs: SLOWLY_MS })
    await next.close()
    await fixture.dispose()
  })

  /** Another process with an executor, which starts these kernels. */
  function hold(
    specs: KernelSpec[],
    {
      word = 'start',
      renewed = true,
      ...more
    }: { word?: 'start' | 'prepare'; renewed?: boolean } & Partial<SlurmOptions> = {},
  ) {
    const input = { agentId: fixture.agentId, slurm: { ...fixture.slurm, ...more }, specs, word, renewed }
    const words = [HOLDER, Buffer.from(JSON.stringify(input)).toString('base64')]
    const env = { ...process.env, PATH: `${sbatch.directory}:${process.env['PATH']}` }
    holder = spawn(process.execPath, words, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  }

  async function killHolder(): Promise<void> {
    expect(holder.exitCode).toBeNull()
    const gone = once(holder, 'exit')
    holder.kill('SIGKILL')
    await gone
  }

  async function takeOver(more: Partial<SlurmOptions> = {}): Promise<void> {
    next = fixture.create({ changed: () => undefined }, more)
    await next.recover()
  }

  const program = (script: string) => kernelSpec({ command: ['sh', '-c', script] })
  const file = (kernelId: string, ...names: string[]) => join(fixture.kernel(kernelId), ...names)
  const begunTimes = (kernelId: string) => {
    const path = file(kernelId, 'work', 'witness')
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
  }

  /** Its jobs of whatever state that Slurm knows. */
  async function jobsWith(words: string): Promise<string[]> {
    const text = await cluster.run('squeue', '--noheader', '--states=all', '--array', '--format=%i %T %k')
    return text.split('\n').filter((line) => line.includes(words))
  }

  async function jobsOf({ sessionId }: KernelSpec): Promise<string[]> {
    return jobsWith(sessionId)
  }

  async function endsOnce({ kernelId }: KernelSpec): Promise<void> {
    expect(await reaches(next, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 5, error: null })
    expect(begunTimes(kernelId)).toBe(1)
  }

  test('with a kernel that is prepared, whose start comes later', { timeout: 240_000 }, async () => {
    const spec = program(SHORT)
    hold([spec], { word: 'prepare' })
    await eventually(() => readRecord(fixture.kernel(spec.kernelId)), { withinMs: SLOWLY_MS })
    await killHolder()
    await takeOver()
    expect(await reaches(next, spec.kernelId, 'PREPARED', SLOWLY_MS)).toMatchObject({ startedAt: null })
    expect([await jobsOf(spec), begunTimes(spec.kernelId)]).toEqual([[], 0])
    next.start(spec, 1)
    await endsOnce(spec)
    expect(await jobsOf(spec)).toHaveLength(1)
  })

  test('with a start that is ordered, and nothing submitted', { timeout: 240_000 }, async () => {
    const spec = program(SHORT)
    hold([spec], { renewed: false })
    await eventually(() => existsSync(file(spec.kernelId, 'run.1')), { withinMs: SLOWLY_MS })
    await killHolder()
    expect(existsSync(file(spec.kernelId, 'submit'))).toBe(false)
    await takeOver()
    await endsOnce(spec)
  })

  test('while it submits, and its sbatch with it', { timeout: 240_000 }, async () => {
    const spec = program(SHORT)
    sbatch.pause('before')
    hold([spec])
    await sbatch.reached('before')
    await killHolder()
    sbatch.kill()
    expect(existsSync(file(spec.kernelId, 'submit'))).toBe(true)
    expect(await jobsOf(spec)).toEqual([])
    await takeOver()
    await endsOnce(spec)
    expect(await jobsOf(spec)).toHaveLength(1)
  })

  test('while it submits, and its sbatch succeeds behind that of the next', { timeout: 240_000 }, async () => {
    const spec = program(GATED)
    sbatch.pause('before')
    hold([spec])
    await sbatch.reached('before')
    await killHolder()
    await takeOver()
    await reaches(next, spec.kernelId, 'RUNNING', SLOWLY_MS)
    sbatch.goOn()
    // It finds the claim, or is cancelled before.
    await eventually(async () => (await jobsOf(spec)).some((line) => / (COMPLETED|CANCELLED) /.test(line)), {
      withinMs: SLOWLY_MS,
    })
    expect(await jobsOf(spec)).toHaveLength(2)
    writeFileSync(file(spec.kernelId, 'work', 'gate'), '')
    await endsOnce(spec)
  })

  test('while it submits, and its job begins before that of the next', { timeout: 240_000 }, async () => {
    const spec = program(GATED)
    sbatch.pause('before')
    hold([spec])
    await sbatch.reached('before')
    await killHolder()
    await takeOver({ args: ['--hold'] })
    const held = await eventually(async () => (await jobsOf(spec)).find((line) => line.includes(' PENDING ')), {
      withinMs: SLOWLY_MS,
    })
    sbatch.goOn()
    const { slurmJobId } = await reaches(next, spec.kernelId, 'RUNNING', SLOWLY_MS)
    expect(held.split(' ')[0]).not.toBe(slurmJobId)
    writeFileSync(file(spec.kernelId, 'work', 'gate'), '')
    await endsOnce(spec)
    // Nobody needs it any more.
    await eventually(async () => !(await jobsOf(spec)).some((line) => line.includes(' PENDING ')), {
      withinMs: SLOWLY_MS,
    })
  })

  test('before it has heard that its sbatch succeeded', { timeout: 240_000 }, async () => {
    const spec = program(SHORT)
    sbatch.pause('after')
    hold([spec])
    await sbatch.reached('after')
    await killHolder()
    await takeOver()
    await endsOnce(spec)
    expect(await jobsOf(spec)).toHaveLength(1)
  })

  test('while its job begins, which ends between its claim and its command', { timeout: 240_000 }, async () => {
    const spec = program(SHORT)
    sbatch.forbidWriting()
    hold([spec])
    await eventually(async () => (await jobsOf(spec)).some((line) => line.includes(' FAILED ')), {
      withinMs: SLOWLY_MS,
    })
    await killHolder()
    expect(readFileSync(file(spec.kernelId, 'status'), 'utf8')).toBe('')
    await takeOver()
    expect(await reaches(next, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({
      exitCode: null,
      error: { name: 'kernel-vanished' },
    })
    expect([(await jobsOf(spec)).length, begunTimes(spec.kernelId)]).toEqual([1, 0])
  })

  test('while its job waits, which then runs and ends while there is no agent', { timeout: 240_000 }, async () => {
    const spec = program(SHORT)
    hold([spec], { args: ['--hold'] })
    await eventually(async () => (await jobsOf(spec)).some((line) => line.includes(' PENDING ')), {
      withinMs: SLOWLY_MS,
    })
    await killHolder()
    await cluster.run('scontrol', 'release', `jobname=rp-${spec.kernelId}-1`)
    await eventually(async () => (await jobsOf(spec)).some((line) => line.includes(' COMPLETED ')), {
      withinMs: SLOWLY_MS,
    })
    expect(begunTimes(spec.kernelId)).toBe(1)
    await takeOver()
    await endsOnce(spec)
    expect(await jobsOf(spec)).toHaveLength(1)
  })

  test('while its job runs', { timeout: 240_000 }, async () => {
    const spec = program(GATED)
    hold([spec])
    await eventually(() => begunTimes(spec.kernelId) === 1, { withinMs: SLOWLY_MS })
    await killHolder()
    await takeOver()
    await reaches(next, spec.kernelId, 'RUNNING', SLOWLY_MS)
    writeFileSync(file(spec.kernelId, 'work', 'gate'), '')
    await endsOnce(spec)
    expect(await jobsOf(spec)).toHaveLength(1)
  })

  test('while it submits an array, which succeeds behind that of the next', { timeout: 240_000 }, async () => {
    const specs = Array.from({ length: 20 }, () => program(SHORT))
    sbatch.pause('before')
    hold(specs)
    await sbatch.reached('before')
    await killHolder()
    await takeOver()
    for (const spec of specs) await endsOnce(spec)
    const first = (await jobsWith('tasks=')).length
    sbatch.goOn()
    await sbatch.reached('after')
    await eventually(async () => !(await cluster.run('squeue', '--noheader')).trim(), { withinMs: SLOWLY_MS })
    expect(first).toBeGreaterThan(0)
    for (const spec of specs) await endsOnce(spec)
  })
})
