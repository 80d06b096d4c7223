import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { EXIT_LINE_WAIT_MS } from '../../../src/agent/executors/slurm/judge-job.ts'
import { openLease } from '../../../src/agent/executors/slurm/lease.ts'
import { KEEPER_SCRIPT } from '../../../src/agent/executors/slurm/job-script.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { startCommand } from '../../support/programs/command-line.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { hangingDirectory, whyNoHangingDirectory } from '../../support/slurm/hanging-directory.ts'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import { nameCluster, type SlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec } from './executor-subject.ts'
import { testLog } from './process-fixture.ts'
import { LONG_FENCE_MS } from './slurm-fixture.ts'
import { gated, openSlurm, SLOWLY_MS, type SlurmScene } from './slurm-scene.ts'

describe('the shared directory', () => {
  const missing = whyNoSlurmCluster()
  const missingHang = missing ?? whyNoHangingDirectory()
  const LONG = { timeout: 300_000 }
  /** A time without any change: the agent reads the directory several times meanwhile. */
  const STILL_MS = 2_000

  const GATED = gated(6)

  let cluster: SlurmCluster

  beforeAll(async () => {
    if (missing !== null) return
    cluster = await sharedSlurmCluster()
    return nameCluster(cluster)
  })

  const statusOf = ({ executor }: SlurmScene, { kernelId }: KernelSpec) => find(executor, kernelId)?.status

  /** It is in no queue: the time that it has to start goes on. */
  async function isHeldUp({ executor }: SlurmScene, { kernelId }: KernelSpec, why: string): Promise<void> {
    const told = await eventually(
      () => {
        const kernel = find(executor, kernelId)
        return kernel?.progress != null && kernel
      },
      { withinMs: SLOWLY_MS },
    )
    expect(told).toMatchObject({ progress: why })
    expect(told.waiting).toBeUndefined()
  }

  /** The agent has seen that the directory is away: a kernel that should start reports it. */
  async function isNoticed(scene: SlurmScene): Promise<void> {
    const { executor } = scene
    const { kernelId } = scene.start('true')
    await eventually(() => find(executor, kernelId)?.progress, { withinMs: SLOWLY_MS })
    executor.forget(kernelId, 1)
  }

  async function whileAway({ fixture }: SlurmScene, what: (kernels: string) => Promise<void>): Promise<void> {
    const away = `${fixture.slurm.directory}.away`
    renameSync(fixture.slurm.directory, away)
    try {
      await what(join(away, fixture.agentId, 'kernels'))
    } finally {
      renameSync(away, fixture.slurm.directory)
    }
  }

  describe
    .skipIf(missing !== null)
    .concurrent(`while the shared directory is away${missing === null ? '' : `: ${missing}`}`, () => {
      test('a running job is not taken to have ended, and its end is reported', LONG, async () => {
        await using scene = await openSlurm(cluster)
        const { executor } = scene
        const kernel = scene.start(GATED)
        await scene.reaches(kernel, 'RUNNING')
        await whileAway(scene, async (kernels) => {
          // A shorter one is written at once.
          executor.renewed?.(LONG_FENCE_MS / 2)
          writeFileSync(join(kernels, kernel.kernelId, 'work', 'gate'), '')
          const jobs = () => cluster.run('squeue', '--noheader', `--name=rp-${kernel.kernelId}-1`)
          await eventually(async () => (await jobs()).trim() === '', { withinMs: SLOWLY_MS })
          // Several answers of Slurm say that it is over, for longer than another node's files may take.
          await pause(EXIT_LINE_WAIT_MS + 3_000)
          expect(statusOf(scene, kernel)).toBe('RUNNING')
        })
        expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ exitCode: 6, error: null })
        expect(scene.begunTimes(kernel)).toBe(1)
      })

      test('new jobs wait for it, and can be stopped', LONG, async () => {
        await using scene = await openSlurm(cluster)
        const { executor } = scene
        const prepared = kernelSpec({ command: ['sh', '-c', 'echo begun >>witness; exit 6'] })
        executor.prepare(prepared, 1)
        await scene.reaches(prepared, 'PREPARED')
        let fresh = prepared
        await whileAway(scene, async () => {
          fresh = scene.start('echo begun >>witness; exit 7')
          executor.start(prepared, 1)
          const stopped = scene.start('true')
          for (const each of [prepared, fresh, stopped])
            await isHeldUp(scene, each, 'the shared directory is not there')
          executor.stop(stopped.kernelId, 1, 0)
          expect(await scene.reaches(stopped, 'EXITED')).toMatchObject({ startedAt: null, stopped: true })
          await pause(STILL_MS)
          expect([prepared, fresh].map((each) => statusOf(scene, each))).toEqual(['PREPARED', 'PREPARING'])
        })
        expect(await scene.reaches(prepared, 'EXITED')).toMatchObject({ exitCode: 6, error: null })
        expect(await scene.reaches(fresh, 'EXITED')).toMatchObject({ exitCode: 7, error: null })
        expect([prepared, fresh].map((each) => scene.begunTimes(each))).toEqual([1, 1])
      })

      test('running jobs can be stopped', LONG, async () => {
        await using scene = await openSlurm(cluster)
        const { executor } = scene
        const kernel = scene.start('trap "echo told; exit 3" TERM; echo begun >>witness; while :; do sleep 0.1; done')
        await scene.hasBegun(kernel)
        await scene.reaches(kernel, 'RUNNING')
        await whileAway(scene, async (kernels) => {
          await isNoticed(scene)
          executor.stop(kernel.kernelId, 1, 60_000)
          const output = join(kernels, kernel.kernelId, 'stdout')
          await eventually(() => readFileSync(output, 'utf8') === 'told\n', { withinMs: SLOWLY_MS })
        })
        expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ exitCode: 3, stopped: true })
      })

      test("a stop of a job in Slurm's queue keeps it from running", LONG, async () => {
        await using scene = await openSlurm(cluster, { args: ['--hold'] })
        const { executor } = scene
        const kernel = scene.start('echo begun >>witness')
        await eventually(() => find(executor, kernel.kernelId)?.waiting?.reason.includes('JobHeldUser'), {
          withinMs: SLOWLY_MS,
        })
        await whileAway(scene, async () => {
          executor.stop(kernel.kernelId, 1, 60_000)
          await isNoticed(scene)
          await pause(STILL_MS)
          expect(statusOf(scene, kernel)).toBe('PREPARED')
        })
        expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ startedAt: null, stopped: true })
        const jobs = () => cluster.run('squeue', '--noheader', `--name=rp-${kernel.kernelId}-1`)
        await eventually(async () => (await jobs()).trim() === '', { withinMs: SLOWLY_MS })
        expect(scene.begunTimes(kernel)).toBe(0)
      })
    })

  describe.skipIf(missingHang !== null)(
    `while the shared directory hangs${missingHang === null ? '' : `: ${missingHang}`}`,
    () => {
      /** A scene whose directory hangs when it is told to, and goes on at the end. */
      async function openOnMount() {
        const resources = new AsyncDisposableStack()
        const mount = resources.use(await hangingDirectory(await temporaryDirectory('hanging')))
        const hooks = { changed: () => undefined as void }
        const scene = resources.use(
          await openSlurm({ ...cluster, shared: mount.path }, { hooks: { changed: () => hooks.changed() } }),
        )
        resources.defer(() => mount.goOn())
        return { mount, scene, hooks, [Symbol.asyncDispose]: () => resources.disposeAsync() }
      }
      type OnMount = Awaited<ReturnType<typeof openOnMount>>

      /** Right behind a look, which would be held itself: until it goes on, the test may not look either. */
      async function hangOnOutput({ mount, scene, hooks }: OnMount, { kernelId }: KernelSpec): Promise<void> {
        await new Promise<void>((resolve) => {
          hooks.changed = () => {
            if (scene.executor.logSizes(kernelId).STDOUT === 0) return
            hooks.changed = () => undefined
            mount.hang()
            resolve()
          }
        })
      }

      test('nobody who asks the agent is blocked, and new jobs start once it continues', LONG, async () => {
        await using own = await openOnMount()
        const { mount, scene } = own
        const { executor } = scene
        const third = scene.start('exec sleep 1000')
        await scene.reaches(third, 'RUNNING')
        const first = scene.start(`echo begun; ${GATED}`)
        await hangOnOutput(own, first)
        executor.renewed?.(LONG_FENCE_MS / 2)
        const second = scene.start('echo begun >>witness; exit 7')
        await isHeldUp(scene, second, 'the shared directory does not answer')
        await pause(STILL_MS)
        expect([first, second].map((each) => statusOf(scene, each))).toEqual(['RUNNING', 'PREPARING'])
        executor.stop(third.kernelId, 1, 1_000)
        expect(mount.overdue).toBe(false)
        mount.goOn()
        expect(await scene.reaches(second, 'EXITED')).toMatchObject({ exitCode: 7, error: null })
        expect(await scene.reaches(third, 'EXITED')).toMatchObject({ stopped: true })
        scene.openGate(first)
        expect(await scene.reaches(first, 'EXITED')).toMatchObject({ exitCode: 6, error: null })
        expect([first, second].map((each) => scene.begunTimes(each))).toEqual([1, 1])
      })

      test('an agent that starts reports what it waits for, and continues when it is there', LONG, async () => {
        await using own = await openOnMount()
        const { mount } = own
        mount.hang()
        const { child, output, ended } = startCommand(['agent'], {
          REPRISE_SERVER_URL: 'http://127.0.0.1:2',
          REPRISE_TOKEN: 'rpr_none',
          REPRISE_DATA_DIR: await temporaryDirectory('agent'),
          REPRISE_EXECUTOR: 'slurm',
          REPRISE_SLURM_DIR: mount.path,
        })
        const says = (words: RegExp) =>
          eventually(() => words.test(output.stdout + output.stderr), { withinMs: SLOWLY_MS })
        await says(/REPRISE_SLURM_DIR does not answer: is its file server up\?/)
        expect(mount.overdue).toBe(false)
        mount.goOn()
        await says(/REPRISE_SLURM_DIR answers/)
        await says(/127\.0\.0\.1:2/)
        child.kill('SIGTERM')
        await ended
      })

      test('a lease that nobody renews any more ends the job', LONG, async () => {
        await using own = await openOnMount()
        const { mount, scene } = own
        const { executor } = scene
        const seconds = `1000.${Date.now()}`
        const program = async () => (await commandLines()).some((words) => words === `sleep\0${seconds}\0`)
        const renew = () => executor.renewed?.(32_000)
        renew()
        const renewing = setInterval(renew, 500)
        const kernel = scene.start(`echo begun; exec sleep ${seconds}`)
        await hangOnOutput(own, kernel).finally(() => clearInterval(renewing))
        await eventually(program)
        await eventually(async () => !(await program()), { withinMs: SLOWLY_MS })
        expect(mount.overdue).toBe(false)
        expect(statusOf(scene, kernel)).toBe('RUNNING')
        mount.goOn()
        // Why it was ended could not be written down.
        expect(await scene.reaches(kernel, 'EXITED')).toMatchObject({ exitCode: 143 })
      })
    },
  )

  async function commandLines(): Promise<string[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  }
})

describe('the lease', () => {
  async function written(...renewals: number[]): Promise<number[]> {
    const root = await temporaryDirectory('lease')
    const lease = openLease(root, testLog)
    for (const leftMs of renewals) lease.renew(leftMs)
    await lease.close()
    const [counter, , ttl] = readFileSync(join(root, 'lease'), 'utf8').trim().split(' ').map(Number)
    expect(lease.ttlSeconds).toBe(ttl)
    return [counter!, ttl!]
  }

  test('an answer of the server while the lease is being written counts as well', async () => {
    expect(await written(600_000, 32_000)).toEqual([2, 12])
  })

  test('of several words meanwhile the last one counts', async () => {
    expect(await written(600_000, 500_000, 400_000, 32_000)).toEqual([2, 12])
  })

  test('the same word again is not written again so soon', async () => {
    expect(await written(600_000, 600_000, 600_500)).toEqual([1, 580])
  })

  test('too short a fence leaves the lease unchanged', async () => {
    expect(await written(600_000, 20_000)).toEqual([1, 580])
  })

  // bash evaluates a text in arithmetic, and runs the commands in it; a job's shell may be one.
  test.each(['bash', '/bin/sh'])(
    'a keeper in %s takes digits from the lease and the order to stop, and nothing else',
    async (shell) => {
      const root = await temporaryDirectory('keeper')
      const file = (name: string) => join(root, name)
      const planted = `a[$(touch ${file('ran')})]`
      for (const name of ['copy', 'status']) writeFileSync(file(name), '')
      writeFileSync(file('lease'), `2 ${planted} ${planted}\n`)
      writeFileSync(file('stop'), `{"killAt":${planted}}`)
      const victim = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
      const ended = once(victim, 'exit')
      const [up = ''] = readFileSync('/proc/uptime', 'utf8').split('.')
      const given = [file('lease'), root, String(victim.pid), file('copy'), '1', up, '3600', file('status')]
      const keeper = spawn(shell, ['-c', KEEPER_SCRIPT, 'reprise-keeper', ...given], {
        detached: true,
        stdio: 'ignore',
      })
      const keeperEnded = once(keeper, 'exit')
      await eventually(() => readFileSync(file('copy'), 'utf8').includes('touch'))
      // The loop reads the copy as often as it is written: so it has read a forged one after two more.
      const seen = new Set<number>()
      await eventually(() => seen.add(statSync(file('copy')).mtimeMs).size > 2)
      writeFileSync(file('lease'), `3 ${Math.floor(Date.now() / 1_000)} 3600\n`)
      await eventually(() => readFileSync(file('copy'), 'utf8').startsWith('3 '))
      expect(victim.exitCode).toBeNull()
      writeFileSync(file('stop'), '{"killAt":0}')
      expect(await ended).toEqual([null, expect.stringMatching(/^SIG(TERM|KILL)$/)])
      await keeperEnded
      expect(existsSync(file('ran'))).toBe(false)
    },
  )
})
