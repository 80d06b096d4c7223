import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { JobUsers } from '../../../src/agent/executors/slurm/job-users.ts'
import type { KernelSpec, ObservedKernel } from '../../../src/domain/agent/protocol.ts'
import {
  makeOrdinaryUser,
  type OrdinaryUser,
  whyNoOrdinaryUserOfSlurm,
} from '../../support/containers/ordinary-user.ts'
import { passedAs } from '../../support/containers/tests-of-user.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { findKeeper } from '../../support/slurm/find-keeper.ts'
import { jobUsers, whyNoJobUsers } from '../../support/slurm/job-users.ts'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import { nameCluster, type SlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { executorConformance } from './executor-conformance.ts'
import { find, kernelSpec, readAll } from './executor-subject.ts'
import { createSlurmFixture, LONG_FENCE_MS, type SlurmFixture, TOO_SHORT_MS } from './slurm-fixture.ts'
import { openSlurm, SLOWLY_MS, type SlurmScene } from './slurm-scene.ts'

describe('users of projects', () => {
  const missing = whyNoSlurmCluster() ?? whyNoJobUsers()
  const LONG = { timeout: 400_000 }

  let cluster: SlurmCluster
  let users: JobUsers

  beforeAll(async () => {
    if (missing !== null) return
    users = jobUsers()
    cluster = await sharedSlurmCluster()
    return nameCluster(cluster)
  })

  // Its kernels have no project: theirs is this user.
  executorConformance(
    'slurm, as another user',
    () => createSlurmFixture(cluster, { users: { '': users['red']! } }),
    missing,
  )

  interface UsersScene extends AsyncDisposable {
    readonly scene: SlurmScene
    readonly executor: Executor
    readonly fixture: SlurmFixture
    /** For a project with this name. */
    start(projectName: string, script: string, more?: Partial<KernelSpec>): KernelSpec
    ended(spec: KernelSpec): Promise<ObservedKernel>
    running(spec: KernelSpec): Promise<ObservedKernel>
    outputOf(spec: KernelSpec): Promise<string>
    file(spec: KernelSpec, ...names: string[]): string
  }

  async function openUsers(): Promise<UsersScene> {
    const scene = await openSlurm(cluster, { users })
    return {
      scene,
      executor: scene.executor,
      fixture: scene.fixture,
      start: (projectName, script, more = {}) => scene.start(script, { projectName, ...more }),
      ended: (spec) => scene.reaches(spec, 'EXITED'),
      running: (spec) => scene.reaches(spec, 'RUNNING'),
      async outputOf(spec) {
        await scene.reaches(spec, 'EXITED')
        return (await readAll(scene.executor, spec.kernelId, 'STDOUT')).text
      },
      file: scene.file,
      [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
    }
  }

  describe
    .skipIf(missing !== null)
    .concurrent(`users of projects${missing === null ? '' : `: ${missing}`}`, LONG, () => {
      /** User, group and all groups, as `id` tells them. */
      function idsOf(project: string): string {
        const { uid, gid } = users[project]!
        return `${uid} ${gid} ${gid}\n`
      }
      const TELL = 'echo "$(id -u) $(id -g) $(id -G)"'

      test('a job runs as the user and the group of its project, in directories that are theirs', async () => {
        await using agent = await openUsers()
        const { executor, file, outputOf, start } = agent
        const script = `${TELL}; for each in "$HOME" "$REPRISE_CHAIN_DIR"; do
      stat -c '%u %g %a' "$each"; echo text >"$each/file"; done; echo wrong >&2; exit 3`
        for (const project of ['red', 'blue']) {
          const spec = start(project, script)
          const { uid, gid } = users[project]!
          expect(await outputOf(spec)).toBe(`${idsOf(project)}${`${uid} ${gid} 700\n`.repeat(2)}`)
          expect((await readAll(executor, spec.kernelId, 'STDERR')).text).toBe('wrong\n')
          expect(find(executor, spec.kernelId)).toMatchObject({
            exitCode: 3,
            error: null,
            leftCheckpoint: { files: 1 },
          })
          expect(lstatSync(file(spec, 'job', 'status'))).toMatchObject({ uid, gid })
          executor.forget(spec.kernelId, 1)
          await eventually(() => !existsSync(file(spec)), { withinMs: SLOWLY_MS })
        }
      })

      test('it cannot read files of another project, or of the agent', async () => {
        await using agent = await openUsers()
        const { ended, executor, file, fixture, outputOf, running, start } = agent
        const victim = start(
          'blue',
          'echo secret; echo secret >"$REPRISE_CHAIN_DIR/kept"; echo secret >mine; exec sleep 600',
        )
        await running(victim)
        await eventually(() => existsSync(file(victim, 'work', 'mine')), { withinMs: SLOWLY_MS })
        executor.stop(victim.kernelId, 1, 600_000)
        const chain = join(fixture.root, 'chains', victim.chainId)
        const secrets = [
          ...['spec.json', 'run.1', 'submit', 'stop', 'job/status', 'job/stdout', 'work/mine'].map((n) =>
            file(victim, n),
          ),
          join(chain, 'kept'),
        ]
        for (const path of secrets.filter((each) => !each.endsWith('stop')))
          expect([path, existsSync(path)]).toEqual([path, true])
        const directories = [fixture.root, ...['kernels', 'chains', 'batches'].map((name) => join(fixture.root, name))]
        const tries = [
          ...secrets.map((path) => `cat ${path}`),
          ...[...directories, chain, file(victim), file(victim, 'job')].map((path) => `ls ${path}`),
          ...[chain, file(victim), file(victim, 'work'), ...directories].map((path) => `touch ${path}/new`),
          'cat ../spec.json',
          'rm -f ../spec.json',
          'mv ../work ../other',
          'ln -s /etc/passwd ../stop',
        ]
        const script = tries.map((each, n) => `(${each}) >/dev/null 2>&1 && echo ${n}`).join('\n')
        const thief = start('red', `${script}\ncat "$0" >/dev/null\necho done`)
        const got = (await outputOf(thief)).trim().split('\n')
        expect(got.slice(0, -1).map((n) => tries[Number(n)])).toEqual([])
        expect(got.at(-1)).toBe('done')
        executor.stop(victim.kernelId, 1, 0)
        expect(await ended(victim)).toMatchObject({ stopped: true })
      })

      test('the copy of the lease has a name that nobody can know before it is there, and nobody else can write it', async () => {
        await using agent = await openUsers()
        const { ended, executor, outputOf, running, start } = agent
        const victim = start('blue', 'exec sleep 600')
        await running(victim)
        const { uid } = users['blue']!
        const copies = () =>
          readdirSync('/dev/shm')
            .map((name) => ({ name, status: lstatSync(`/dev/shm/${name}`, { throwIfNoEntry: false }) }))
            .filter(({ name, status }) => name.startsWith('reprise-') && status?.uid === uid)
        const own = await eventually(async () => {
          const keeper = await findKeeper(victim.kernelId)
          if (keeper === undefined) return undefined
          const words = (await readFile(`/proc/${keeper}/cmdline`, 'utf8')).split('\0')
          return copies().find(({ name }) => words.includes(`/dev/shm/${name}`))
        })
        expect(own.name).toMatch(/^reprise-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
        expect(own.name).not.toContain(victim.kernelId)
        expect(own.status!.mode & 0o7777).toBe(0o600)
        const place = `/dev/shm/${own.name}`
        const forged = '9 0 0 1 yes'
        const tries = [`cat ${place}`, `echo '${forged}' >${place}`, `rm -f ${place}`, `mv ${place} ${place}.away`]
        const thief = start(
          'red',
          `${tries.map((each, n) => `(${each}) >/dev/null 2>&1 && echo ${n}`).join('\n')}\necho done`,
        )
        expect(await outputOf(thief)).toBe('done\n')
        expect(find(executor, victim.kernelId)).toMatchObject({ status: 'RUNNING' })
        executor.stop(victim.kernelId, 1, 0)
        expect(await ended(victim)).toMatchObject({ stopped: true })
        await eventually(() => !existsSync(place), { withinMs: SLOWLY_MS })
      })

      test('a project that is not named is refused, and so is one that has no name', async () => {
        await using agent = await openUsers()
        const { executor, scene, start } = agent
        const { error } = await scene.reaches(start('green', 'true'), 'FAILED')
        expect(error).toMatchObject({ name: 'submit-refused', message: expect.stringContaining('project green') })
        const nameless = kernelSpec({ command: ['true'] })
        executor.start(nameless, 1)
        expect(await scene.reaches(nameless, 'FAILED')).toMatchObject({ error: { name: 'submit-refused' } })
        const inherited = await scene.reaches(start('constructor', 'true'), 'FAILED')
        expect(inherited.error).toMatchObject({ name: 'submit-refused' })
      })

      test('the tasks of an array have one user, and so have those of a session', async () => {
        await using agent = await openUsers()
        const { executor, fixture, outputOf, start } = agent
        // All of them wait before the first is submitted.
        executor.renewed?.(TOO_SHORT_MS)
        const specs = Array.from({ length: 40 }, (_, n) => start(n % 2 === 0 ? 'red' : 'blue', TELL))
        await eventually(() => executor.observe().every(({ waiting }) => waiting?.reason.includes('too short')))
        executor.renewed?.(LONG_FENCE_MS)
        for (const [n, spec] of specs.entries()) expect(await outputOf(spec)).toBe(idsOf(n % 2 === 0 ? 'red' : 'blue'))
        const marks = specs.map(({ kernelId }) => readFileSync(join(fixture.kernel(kernelId), 'submit'), 'utf8'))
        const names = marks.map((text) => (JSON.parse(text) as { name: string }).name)
        expect(new Set(names.filter((_, n) => n % 2 === 0)).size).toBe(1)
        expect(new Set(names).size).toBe(2)
        const gang = { size: 2, singleNode: false }
        const sessionId = uuidv7()
        const pair = ['main', 'sub'].map((role) => start('red', TELL, { sessionId, role, gang }))
        for (const spec of pair) expect(await outputOf(spec)).toBe(idsOf('red'))
        const jobIds = pair.map(({ kernelId }) => find(executor, kernelId)!.slurmJobId)
        expect(new Set(jobIds).size).toBe(1)
      })

      test('the next instance has the running jobs, also of a project that is no longer configured', async () => {
        await using agent = await openUsers()
        const { ended, file, running, scene, start } = agent
        const long = start('blue', 'trap "exit 7" TERM; echo x >>witness; while :; do sleep 0.1; done')
        await eventually(() => existsSync(file(long, 'work', 'witness')), { withinMs: SLOWLY_MS })
        await running(long)
        await scene.reopen({ users: { red: users['red']! } })
        expect(await running(long)).toMatchObject({ host: expect.stringMatching(/^n/) })
        scene.executor.stop(long.kernelId, 1, 60_000)
        expect(await ended(long)).toMatchObject({ exitCode: 7, stopped: true })
        expect(readFileSync(file(long, 'work', 'witness'), 'utf8')).toBe('x\n')
      })

      test('a job of another user with its name and its comment is not taken for its own', async () => {
        await using agent = await openUsers()
        const { ended, executor, file, fixture, running, start } = agent
        const victim = start('blue', 'while [ ! -e gate ]; do sleep 0.1; done; exit 5')
        await running(victim)
        const { uid, gid } = users['red']!
        const name = `rp-${victim.kernelId}-1`
        const comment = `reprise agent=${fixture.agentId} session=${victim.sessionId} attempt=1`
        const forge = (...args: string[]) =>
          cluster.run(
            'sbatch',
            `--uid=${uid}`,
            `--gid=${gid}`,
            `--job-name=${name}`,
            `--comment=${comment}`,
            '--output=/dev/null',
            '--chdir=/',
            '--parsable',
            ...args,
          )
        const stateOf = async (jobId: string) =>
          (await cluster.run('squeue', '--noheader', '--states=all', '--array', '--format=%i %T')).match(
            new RegExp(`^${jobId.trim()} (\\S+)`, 'm'),
          )?.[1]
        // A waiting job that a poll finds is cancelled, since nobody needs it: another one runs, and fails.
        await eventually(
          async () => {
            const over = await forge('--wrap=exit 9')
            const state = await eventually(async () => /^(FAILED|CANCELLED)$/.exec((await stateOf(over)) ?? '')?.[0])
            return state === 'FAILED'
          },
          { withinMs: SLOWLY_MS },
        )
        const waiting = await forge('--hold', '--wrap=true')
        await eventually(async () => (await stateOf(waiting)) !== 'PENDING', { withinMs: SLOWLY_MS })
        expect(find(executor, victim.kernelId)).toMatchObject({ status: 'RUNNING' })
        writeFileSync(file(victim, 'work', 'gate'), '')
        expect(await ended(victim)).toMatchObject({ exitCode: 5, error: null })
      })

      describe('files that a job leaves in its directories', () => {
        /** Would be a good end, were it read. */
        let forged: string
        beforeAll(async () => {
          forged = join(await temporaryDirectory('forged'), 'status')
          writeFileSync(forged, 'began 1 n1\nexit 0\n', { mode: 0o600 })
        })

        test.each([
          ['a link', 'ln -s FORGED status'],
          ['a pipe', 'mkfifo status'],
          ['a directory', 'mkdir status'],
          ['a huge file', 'truncate -s 1T status'],
          ['nothing', 'true'],
        ])('%s in the place of its status does not hold up the agent, and it ends', async (_, make) => {
          await using agent = await openUsers()
          const { ended, start } = agent
          const spec = start(
            'red',
            `cd ../job && sleep 2 && rm status && ${make.replace('FORGED', forged)}; sleep 1; exit 0`,
          )
          const other = start('blue', 'exit 4')
          expect(await ended(other)).toMatchObject({ exitCode: 4 })
          const { error, exitCode } = await ended(spec)
          // The shell that writes it has the old one open.
          expect({ exitCode, name: error?.name }).toEqual({ exitCode: null, name: 'kernel-vanished' })
        })

        test('output with a second name is not read: where users may link files of others, it may be anyone’s', async () => {
          await using agent = await openUsers()
          const { ended, executor, file, running, start } = agent
          const secret = join(cluster.shared, 'secret')
          writeFileSync(secret, 'secret')
          const spec = start('red', 'echo own; while [ ! -e gate ]; do sleep 0.1; done')
          await running(spec)
          rmSync(file(spec, 'job', 'stdout'))
          linkSync(secret, file(spec, 'job', 'stdout'))
          writeFileSync(file(spec, 'work', 'gate'), '')
          expect(await ended(spec)).toMatchObject({ exitCode: 0 })
          await expect(readAll(executor, spec.kernelId, 'STDOUT')).rejects.toThrow('is not a regular file')
          expect(readFileSync(secret, 'utf8')).toBe('secret')
        })

        test('nor are its progress, its verdict, or what Slurm has written about its job', async () => {
          await using agent = await openUsers()
          const { ended, executor, file, running, scene, start } = agent
          const secret = join(cluster.shared, 'secret-line')
          writeFileSync(secret, '{"retry":false,"reason":"secret"}\n', { mode: 0o600 })
          const spec = start('red', 'while [ ! -e gate ]; do sleep 0.1; done; exit 5')
          await running(spec)
          for (const name of ['.reprise-progress', '.reprise-verdict.json']) linkSync(secret, file(spec, 'work', name))
          writeFileSync(file(spec, 'work', 'gate'), '')
          expect(await ended(spec)).toMatchObject({ exitCode: 5 })
          const waits = kernelSpec({ command: ['true'], projectName: 'red' })
          executor.prepare(waits, 1)
          await scene.reaches(waits, 'PREPARED')
          linkSync(secret, file(waits, 'job', 'slurm.out'))
          executor.start(waits, 1)
          // Slurm opens it as the job's user, who may not write there.
          const error = { name: 'executor-failed', message: 'Slurm could not launch its job' }
          expect(await scene.reaches(waits, 'FAILED')).toMatchObject({ error })
          expect(JSON.stringify(executor.observe())).not.toContain('secret')
          expect(readFileSync(secret, 'utf8')).toContain('secret')
        })

        test('links to files of others are neither read nor removed', async () => {
          await using agent = await openUsers()
          const { ended, executor, file, start } = agent
          const outside = join(await temporaryDirectory('outside'), 'kept')
          mkdirSync(outside)
          writeFileSync(join(outside, 'file'), 'kept')
          writeFileSync(join(outside, '.reprise-verdict.json'), '{"retry":false,"reason":"forged"}', { mode: 0o600 })
          chmodSync(outside, 0o711)
          const script = `ln -s ${outside} there; ln -s ${outside}/.reprise-verdict.json .reprise-verdict.json
        ln -s ${outside}/file "$REPRISE_CHAIN_DIR/file"; mkdir locked; touch locked/file; chmod 0 locked
        cd ../job; rm stdout; ln -s ${outside}/file stdout; rm stderr; mkfifo stderr; exit 5`
          const spec = start('red', script)
          const { exitCode, verdict } = await ended(spec)
          expect(exitCode).toBe(5)
          expect(JSON.stringify(verdict ?? null)).not.toContain('forged')
          await expect(readAll(executor, spec.kernelId, 'STDOUT')).resolves.toMatchObject({ text: '' })
          executor.forget(spec.kernelId, 1)
          await eventually(() => !existsSync(file(spec)), { withinMs: SLOWLY_MS })
          expect(readdirSync(outside).toSorted()).toEqual(['.reprise-verdict.json', 'file'])
        })
      })
    })
})

describe('an ordinary user', () => {
  const TEN_MINUTES_MS = 600_000

  const missing = whyNoSlurmCluster() ?? whyNoOrdinaryUserOfSlurm()

  /** The same tests that root runs with a cluster of root's. */
  describe(`with a Slurm cluster of its own, an ordinary user${missing === null ? '' : `: ${missing}`}`, () => {
    let user: OrdinaryUser

    beforeAll(async () => {
      if (missing === null) user = await makeOrdinaryUser(inject('runDirectory'))
    })
    afterAll(() => user?.[Symbol.asyncDispose]())

    test.skipIf(missing !== null)('runs, stops and reads kernels', { timeout: TEN_MINUTES_MS }, async () => {
      const names = await passedAs(user, 'test/contract/executor/slurm-executor.test.ts')
      expect(names.length).toBeGreaterThanOrEqual(25)
    })
  })
})
