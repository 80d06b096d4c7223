import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { EXIT_LINE_WAIT_MS } from '../../../src/agent/executors/slurm/judge-job.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-options.ts'
import { eventually } from '../../support/eventually.ts'
import { startCommand } from '../../support/programs/command-line.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import {
  type HangingDirectory,
  hangingDirectory,
  whyNoHangingDirectory,
} from '../../support/slurm/hanging-directory.ts'
import { type SlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec, reaches } from './executor-subject.ts'
import { createSlurmFixture, LONG_FENCE_MS, type SlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
const missingHang = missing ?? whyNoHangingDirectory()
const LONG = { timeout: 300_000 }
const SLOWLY_MS = 120_000

/** Leaves a line for each time that it begins, and ends when it is let. */
const GATED = 'echo x >>witness; while [ ! -e gate ]; do sleep 0.1; done; exit 6'

let cluster: SlurmCluster
let fixture: SlurmFixture
let executor: Executor
let onChange: () => void

beforeAll(async () => {
  if (missing !== null) return
  cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'))
})
afterAll(() => cluster?.[Symbol.asyncDispose]())

async function open(shared: string, more: Partial<SlurmOptions> = {}): Promise<void> {
  fixture = await createSlurmFixture({ ...cluster, shared }, more)
  onChange = () => undefined
  executor = fixture.create({ changed: () => onChange() })
  await executor.recover()
}

async function close(): Promise<void> {
  for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
  await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
  await executor.close()
  await fixture.dispose()
}

function start(script: string): string {
  const spec = kernelSpec({ command: ['sh', '-c', script] })
  executor.start(spec, 1)
  return spec.kernelId
}

const work = (kernelId: string, name: string) => join(fixture.kernel(kernelId), 'work', name)
const witnessed = (kernelId: string) =>
  existsSync(work(kernelId, 'witness')) ? readFileSync(work(kernelId, 'witness'), 'utf8').split('\n').length - 1 : 0
const statusOf = (kernelId: string) => find(executor, kernelId)?.status

/** It is in no queue: the time that it has to start goes on. */
async function isHeldUp(kernelId: string, why: string): Promise<void> {
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

/** As what should start says. */
async function isNoticed(): Promise<void> {
  const kernelId = start('true')
  await eventually(() => find(executor, kernelId)?.progress, { withinMs: SLOWLY_MS })
  executor.forget(kernelId, 1)
}

describe.skipIf(missing !== null)(`while the shared directory is away${missing === null ? '' : `: ${missing}`}`, () => {
  beforeEach(() => open(cluster.shared))
  afterEach(close)

  async function whileAway(what: (away: string) => Promise<void>): Promise<void> {
    const away = `${fixture.slurm.directory}.away`
    renameSync(fixture.slurm.directory, away)
    try {
      await what(join(away, fixture.agentId, 'kernels'))
    } finally {
      renameSync(away, fixture.slurm.directory)
    }
  }

  test('what runs is not taken to have ended, and its end is told', LONG, async () => {
    const kernelId = start(GATED)
    await reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)
    await whileAway(async (kernels) => {
      // A shorter one is written at once.
      executor.renewed?.(LONG_FENCE_MS / 2)
      writeFileSync(join(kernels, kernelId, 'work', 'gate'), '')
      const jobs = () => cluster.run('squeue', '--noheader', `--name=rp-${kernelId}-1`)
      await eventually(async () => (await jobs()).trim() === '', { withinMs: SLOWLY_MS })
      // Several answers of Slurm say that it is over, for longer than another node's files may take.
      await sleep(EXIT_LINE_WAIT_MS + 3_000)
      expect(statusOf(kernelId)).toBe('RUNNING')
    })
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 6, error: null })
    expect(witnessed(kernelId)).toBe(1)
  })

  test('what should start waits for it, and can be stopped', LONG, async () => {
    const spec = kernelSpec({ command: ['sh', '-c', 'echo x >>witness; exit 6'] })
    executor.prepare(spec, 1)
    await reaches(executor, spec.kernelId, 'PREPARED', SLOWLY_MS)
    const prepared = spec.kernelId
    let fresh = ''
    await whileAway(async () => {
      fresh = start('echo x >>witness; exit 7')
      executor.start(spec, 1)
      const stopped = start('true')
      for (const kernelId of [prepared, fresh, stopped]) await isHeldUp(kernelId, 'the shared directory is not there')
      executor.stop(stopped, 1, 0)
      expect(await reaches(executor, stopped, 'EXITED')).toMatchObject({ startedAt: null, stopped: true })
      await sleep(2_000)
      expect([prepared, fresh].map(statusOf)).toEqual(['PREPARED', 'PREPARING'])
    })
    expect(await reaches(executor, prepared, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 6, error: null })
    expect(await reaches(executor, fresh, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 7, error: null })
    expect([prepared, fresh].map(witnessed)).toEqual([1, 1])
  })

  test('what runs can be stopped', LONG, async () => {
    const kernelId = start('trap "echo told; exit 3" TERM; echo x >>witness; while :; do sleep 0.1; done')
    await eventually(() => witnessed(kernelId) === 1, { withinMs: SLOWLY_MS })
    await reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)
    await whileAway(async (kernels) => {
      await isNoticed()
      executor.stop(kernelId, 1, 60_000)
      const output = join(kernels, kernelId, 'stdout')
      await eventually(() => readFileSync(output, 'utf8') === 'told\n', { withinMs: SLOWLY_MS })
    })
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 3, stopped: true })
  })

  test('the stop of what waits in Slurm keeps it from running', LONG, async () => {
    await close()
    await open(cluster.shared, { args: ['--hold'] })
    const kernelId = start('echo x >>witness')
    await eventually(() => find(executor, kernelId)?.waiting?.reason.includes('JobHeldUser'), { withinMs: SLOWLY_MS })
    await whileAway(async () => {
      executor.stop(kernelId, 1, 60_000)
      await isNoticed()
      await sleep(2_000)
      expect(statusOf(kernelId)).toBe('PREPARED')
    })
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ startedAt: null, stopped: true })
    const jobs = () => cluster.run('squeue', '--noheader', `--name=rp-${kernelId}-1`)
    await eventually(async () => (await jobs()).trim() === '', { withinMs: SLOWLY_MS })
    expect(witnessed(kernelId)).toBe(0)
  })
})

describe.skipIf(missingHang !== null)(
  `while the shared directory hangs${missingHang === null ? '' : `: ${missingHang}`}`,
  () => {
    let mount: HangingDirectory

    beforeEach(async () => {
      mount = await hangingDirectory(await temporaryDirectory('hanging'))
      await open(mount.path)
    })
    afterEach(async () => {
      mount.goOn()
      await close()
      await mount[Symbol.asyncDispose]()
    })

    /** Right behind a look, which would be held itself: until it goes on, the test may not look either. */
    async function hangOnOutput(kernelId: string): Promise<void> {
      await new Promise<void>((resolve) => {
        onChange = () => {
          if (executor.logSizes(kernelId).STDOUT === 0) return
          onChange = () => undefined
          mount.hang()
          resolve()
        }
      })
    }

    test('nobody who asks the agent is held, and what should start begins once it goes on', LONG, async () => {
      const third = start('exec sleep 1000')
      await reaches(executor, third, 'RUNNING', SLOWLY_MS)
      const first = start(`echo begun; ${GATED}`)
      await hangOnOutput(first)
      executor.renewed?.(LONG_FENCE_MS / 2)
      const second = start('echo x >>witness; exit 7')
      await isHeldUp(second, 'the shared directory does not answer')
      await sleep(2_000)
      expect([first, second].map(statusOf)).toEqual(['RUNNING', 'PREPARING'])
      executor.stop(third, 1, 1_000)
      expect(mount.overdue).toBe(false)
      mount.goOn()
      expect(await reaches(executor, second, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 7, error: null })
      expect(await reaches(executor, third, 'EXITED', SLOWLY_MS)).toMatchObject({ stopped: true })
      writeFileSync(work(first, 'gate'), '')
      expect(await reaches(executor, first, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 6, error: null })
      expect([first, second].map(witnessed)).toEqual([1, 1])
    })

    test('an agent that starts says what it waits for, and goes on with that', LONG, async () => {
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
      const seconds = `1000.${Date.now()}`
      const program = async () => (await commandLines()).some((words) => words === `sleep\0${seconds}\0`)
      const renew = () => executor.renewed?.(32_000)
      renew()
      const renewing = setInterval(renew, 500)
      const kernelId = start(`echo begun; exec sleep ${seconds}`)
      await hangOnOutput(kernelId).finally(() => clearInterval(renewing))
      await eventually(program)
      await eventually(async () => !(await program()), { withinMs: SLOWLY_MS })
      expect(mount.overdue).toBe(false)
      expect(statusOf(kernelId)).toBe('RUNNING')
      mount.goOn()
      // Why it was ended could not be written down.
      expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 143 })
    })
  },
)

async function commandLines(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
}
