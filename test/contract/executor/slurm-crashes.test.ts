import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { readRecord } from '../../../src/agent/executors/kernels/kernel-directory.ts'
import { UNREACHABLE } from '../../../src/agent/executors/slurm/slurm-commands.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-host.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import { type SlowSbatch, slowSbatch } from '../../support/slurm/slow-sbatch.ts'
import {
  nameCluster,
  type OwnSlurmCluster,
  type SlurmCluster,
  startOwnSlurmCluster,
  whyNoSlurmCluster,
} from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec } from './executor-subject.ts'
import { gated, openSlurm, SLOWLY_MS, type SlurmScene } from './slurm-scene.ts'

const missing = whyNoSlurmCluster()

describe('crashes', () => {
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

      test('while it is away, ends arrive, stops work, and a label reports it', async () => {
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

      test('a start that is ordered while it is away waits, with the reason, and happens once', async () => {
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
          const submit = () =>
            JSON.parse(readFileSync(scene.file(ordered, 'submit'), 'utf8')) as { submissions: number }
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

      /** Resumes drained nodes, as an operator does. */
      async function resumeNodes(): Promise<void> {
        const names = cluster.nodes.map(({ name }) => name).join()
        await cluster.run('scontrol', 'update', `NodeName=${names}`, 'State=RESUME').catch(() => '')
      }
    },
  )
})

describe('killed processes', () => {
  const HOLDER = join(import.meta.dirname, 'slurm-holder.ts')
  const LONG = { timeout: 300_000 }

  const GATED = gated(5)
  const SHORT = 'echo begun >>witness; exit 5'

  /** An agent in a process that is killed, and in this one the next instance of the same agent. */
  interface Succession extends AsyncDisposable {
    readonly sbatch: SlowSbatch
    readonly next: SlurmScene
    killHolder(): Promise<void>
    /** Opens the next instance. */
    takeOver(more?: Partial<SlurmOptions>): Promise<void>
    /** The lines of Slurm about this kernel's jobs, whatever their state: `id state comment`. */
    jobsOf(spec: KernelSpec): Promise<string[]>
    jobsWith(text: string): Promise<string[]>
    /** Resolves once one of the kernel's jobs is in this state. */
    hasJob(spec: KernelSpec, state: string): Promise<string>
    endsOnce(spec: KernelSpec): Promise<void>
  }

  interface How extends Partial<SlurmOptions> {
    word?: 'start' | 'prepare'
    renewed?: boolean
  }

  const program = (script: string) => kernelSpec({ command: ['sh', '-c', script] })

  /** @param prepareSbatch called before the holder starts these kernels */
  async function hold(
    cluster: SlurmCluster,
    specs: KernelSpec[],
    { word = 'start', renewed = true, ...more }: How = {},
    prepareSbatch: (sbatch: SlowSbatch) => void = () => undefined,
  ): Promise<Succession> {
    const next = await openSlurm(cluster, { isOpen: false })
    const { fixture } = next
    const sbatch = slowSbatch(join(await temporaryDirectory('slow-sbatch'), 'bin'))
    prepareSbatch(sbatch)
    const input = { agentId: fixture.agentId, slurm: { ...fixture.slurm, ...more }, specs, word, renewed }
    const words = [HOLDER, Buffer.from(JSON.stringify(input)).toString('base64')]
    const env = { ...process.env, PATH: `${sbatch.directory}:${process.env['PATH']}` }
    const holder = spawn(process.execPath, words, { env, stdio: ['ignore', 'inherit', 'inherit'] })
    const succession: Succession = {
      sbatch,
      next,
      async killHolder() {
        expect(holder.exitCode).toBeNull()
        const gone = once(holder, 'exit')
        holder.kill('SIGKILL')
        await gone
      },
      takeOver: (options) => next.reopen(options),
      jobsOf: ({ sessionId }) => succession.jobsWith(sessionId),
      async jobsWith(text) {
        const jobs = await cluster.run('squeue', '--noheader', '--states=all', '--array', '--format=%i %T %k')
        return jobs.split('\n').filter((line) => line.includes(text))
      },
      hasJob: (spec, state) =>
        eventually(async () => (await succession.jobsOf(spec)).find((line) => line.includes(` ${state} `)), {
          withinMs: SLOWLY_MS,
          what: `a job that is ${state}`,
        }),
      async endsOnce(spec) {
        expect(await next.reaches(spec, 'EXITED')).toMatchObject({ exitCode: 5, error: null })
        expect(next.begunTimes(spec)).toBe(1)
      },
      async [Symbol.asyncDispose]() {
        holder.kill('SIGKILL')
        sbatch.goOn()
        await next[Symbol.asyncDispose]()
      },
    }
    return succession
  }

  describe
    .skipIf(missing !== null)
    .concurrent(`an agent of Slurm that is killed${missing === null ? '' : `: ${missing}`}`, LONG, () => {
      let cluster: SlurmCluster

      beforeAll(async () => {
        cluster = await sharedSlurmCluster()
        return nameCluster(cluster)
      })

      test('with a kernel that is prepared, whose start comes later', async () => {
        const spec = program(SHORT)
        await using agent = await hold(cluster, [spec], { word: 'prepare' })
        await eventually(() => readRecord(agent.next.file(spec)), { withinMs: SLOWLY_MS })
        await agent.killHolder()
        await agent.takeOver()
        expect(await agent.next.reaches(spec, 'PREPARED')).toMatchObject({ startedAt: null })
        expect([await agent.jobsOf(spec), agent.next.begunTimes(spec)]).toEqual([[], 0])
        agent.next.executor.start(spec, 1)
        await agent.endsOnce(spec)
        expect(await agent.jobsOf(spec)).toHaveLength(1)
      })

      test('with a start that is ordered, and nothing submitted', async () => {
        const spec = program(SHORT)
        await using agent = await hold(cluster, [spec], { renewed: false })
        await eventually(() => existsSync(agent.next.file(spec, 'run.1')), { withinMs: SLOWLY_MS })
        await agent.killHolder()
        expect(existsSync(agent.next.file(spec, 'submit'))).toBe(false)
        await agent.takeOver()
        await agent.endsOnce(spec)
      })

      test('while it submits, and its sbatch with it', async () => {
        const spec = program(SHORT)
        await using agent = await hold(cluster, [spec], {}, (sbatch) => sbatch.pause('before'))
        await agent.sbatch.reached('before')
        await agent.killHolder()
        agent.sbatch.kill()
        expect(existsSync(agent.next.file(spec, 'submit'))).toBe(true)
        expect(await agent.jobsOf(spec)).toEqual([])
        await agent.takeOver()
        await agent.endsOnce(spec)
        expect(await agent.jobsOf(spec)).toHaveLength(1)
      })

      test('while it submits, and its sbatch succeeds behind that of the next', async () => {
        const spec = program(GATED)
        await using agent = await hold(cluster, [spec], {}, (sbatch) => sbatch.pause('before'))
        await agent.sbatch.reached('before')
        await agent.killHolder()
        await agent.takeOver()
        await agent.next.reaches(spec, 'RUNNING')
        agent.sbatch.goOn()
        // It finds the claim, or is cancelled before.
        await eventually(async () => (await agent.jobsOf(spec)).some((line) => / (COMPLETED|CANCELLED) /.test(line)), {
          withinMs: SLOWLY_MS,
        })
        expect(await agent.jobsOf(spec)).toHaveLength(2)
        agent.next.openGate(spec)
        await agent.endsOnce(spec)
      })

      test('while it submits, and its job begins before that of the next', async () => {
        const spec = program(GATED)
        await using agent = await hold(cluster, [spec], {}, (sbatch) => sbatch.pause('before'))
        await agent.sbatch.reached('before')
        await agent.killHolder()
        await agent.takeOver({ args: ['--hold'] })
        const held = await agent.hasJob(spec, 'PENDING')
        agent.sbatch.goOn()
        const { slurmJobId } = await agent.next.reaches(spec, 'RUNNING')
        expect(held.split(' ')[0]).not.toBe(slurmJobId)
        agent.next.openGate(spec)
        await agent.endsOnce(spec)
        // Nobody needs it any more.
        await eventually(async () => !(await agent.jobsOf(spec)).some((line) => line.includes(' PENDING ')), {
          withinMs: SLOWLY_MS,
        })
      })

      test('before it knows that its sbatch succeeded', async () => {
        const spec = program(SHORT)
        await using agent = await hold(cluster, [spec], {}, (sbatch) => sbatch.pause('after'))
        await agent.sbatch.reached('after')
        await agent.killHolder()
        await agent.takeOver()
        await agent.endsOnce(spec)
        expect(await agent.jobsOf(spec)).toHaveLength(1)
      })

      test('while its job begins, which ends between its claim and its command', async () => {
        const spec = program(SHORT)
        await using agent = await hold(cluster, [spec], {}, (sbatch) => sbatch.forbidWriting())
        await agent.hasJob(spec, 'FAILED')
        await agent.killHolder()
        expect(readFileSync(agent.next.file(spec, 'status'), 'utf8')).toBe('')
        await agent.takeOver()
        expect(await agent.next.reaches(spec, 'EXITED')).toMatchObject({
          exitCode: null,
          error: { name: 'kernel-vanished' },
        })
        expect([(await agent.jobsOf(spec)).length, agent.next.begunTimes(spec)]).toEqual([1, 0])
      })

      test('while its job waits, which then runs and ends while there is no agent', async () => {
        const spec = program(SHORT)
        await using agent = await hold(cluster, [spec], { args: ['--hold'] })
        await agent.hasJob(spec, 'PENDING')
        await agent.killHolder()
        await cluster.run('scontrol', 'release', `jobname=rp-${spec.kernelId}-1`)
        await agent.hasJob(spec, 'COMPLETED')
        expect(agent.next.begunTimes(spec)).toBe(1)
        await agent.takeOver()
        await agent.endsOnce(spec)
        expect(await agent.jobsOf(spec)).toHaveLength(1)
      })

      test('while its job runs', async () => {
        const spec = program(GATED)
        await using agent = await hold(cluster, [spec])
        await agent.next.hasBegun(spec)
        await agent.killHolder()
        await agent.takeOver()
        await agent.next.reaches(spec, 'RUNNING')
        agent.next.openGate(spec)
        await agent.endsOnce(spec)
        expect(await agent.jobsOf(spec)).toHaveLength(1)
      })

      test('while it submits an array, which succeeds behind that of the next', async () => {
        const specs = Array.from({ length: 20 }, () => program(SHORT))
        await using agent = await hold(cluster, specs, {}, (sbatch) => sbatch.pause('before'))
        await agent.sbatch.reached('before')
        await agent.killHolder()
        await agent.takeOver()
        const { agentId } = agent.next.fixture
        for (const spec of specs) await agent.endsOnce(spec)
        const first = (await agent.jobsWith(`agent=${agentId} tasks=`)).length
        agent.sbatch.goOn()
        await agent.sbatch.reached('after')
        const unended = () => cluster.run('squeue', '--noheader', '--format=%k')
        await eventually(async () => !(await unended()).includes(agentId), { withinMs: SLOWLY_MS })
        expect(first).toBeGreaterThan(0)
        for (const spec of specs) await agent.endsOnce(spec)
      })
    })
})
