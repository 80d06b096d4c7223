import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import { cleanEnvironment, commandLine, MAIN } from '../support/programs/command-line.ts'
import { type SpawnedProgram, spawnProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { jobUsers, USER_NAMES, whyNoJobUsers } from '../support/slurm/job-users.ts'
import { sharedSlurmCluster } from '../support/slurm/shared-cluster.ts'
import {
  canLimitMemory,
  type OwnSlurmCluster,
  type SlurmCluster,
  startSlurmCluster,
  whyNoSlurmCluster,
} from '../support/slurm/slurm-cluster.ts'
import type { Client } from '../../src/client/client.ts'
import { eventually } from '../support/eventually.ts'

describe('slurm users', () => {
  const missing = whyNoSlurmCluster() ?? whyNoJobUsers()
  const AS_ROOT = process.getuid?.() === 0
  const ORDINARY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']

  describe('users that jobs cannot have', () => {
    const cases = [
      ['nobody knows', '{"default":"no-such-user"}', [], /there is no user no-such-user here/, AS_ROOT],
      ['are no name', '{"default":"-u"}', [], /there is no user -u here/, AS_ROOT],
      ['are root', '{"default":"root"}', [], /may not be those of root/, AS_ROOT],
      [
        'are others, of an agent that is not root',
        `{"default":"${USER_NAMES.red}"}`,
        AS_ROOT ? ORDINARY : [],
        /has to be root/,
        true,
      ],
    ] as const

    test.each(cases)(
      '%s: the agent does not start, and says why',
      async (_, users, through, words, applies) => {
        if (!applies) return
        const directory = await temporaryDirectory('no-users')
        for (const name of ['data', 'shared']) {
          mkdirSync(join(directory, name))
          if (through.length > 0) chmodSync(join(directory, name), 0o777)
        }
        const [program, ...args] = [...through, process.execPath, MAIN, 'agent']
        const env = cleanEnvironment({
          REPRISE_SERVER_URL: 'http://127.0.0.1:2',
          REPRISE_TOKEN: 'rpr_none',
          REPRISE_DATA_DIR: join(directory, 'data'),
          REPRISE_EXECUTOR: 'slurm',
          REPRISE_SLURM_DIR: join(directory, 'shared'),
          REPRISE_SLURM_USERS: users,
        })
        const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: 'utf8' })
        expect({ status, said: stdout + stderr }).toEqual({ status: 78, said: expect.stringMatching(words) })
        expect(stdout + stderr).toContain('REPRISE_SLURM_USERS')
      },
      60_000,
    )
  })

  describe.skipIf(missing !== null)(`projects with users on Slurm${missing === null ? '' : `: ${missing}`}`, () => {
    let cluster: SlurmCluster
    let root: string
    let server: ServerProcess
    let second: SpawnedProgram
    let environment: Record<string, string>

    /** Two agents of one cluster, which share no directory. */
    function settings(name: string): Record<string, string> {
      const directory = mkdtempSync(join(cluster.shared, `${name}-`))
      chmodSync(directory, 0o711)
      return {
        REPRISE_EXECUTOR: 'slurm',
        REPRISE_SLURM_DIR: directory,
        REPRISE_SLURM_POLL_MS: '500',
        REPRISE_SLURM_USERS: JSON.stringify({ default: USER_NAMES.red }),
        REPRISE_SLOTS: '',
        SLURM_CONF: cluster.config,
      }
    }

    beforeAll(async () => {
      root = await temporaryDirectory('slurm-users')
      cluster = await sharedSlurmCluster()
      server = await startServer({ dataDir: join(root, 'data'), port: 0, onLog: () => undefined, env: settings('one') })
      const token = await readAdminToken(join(root, 'data'))
      environment = { REPRISE_URL: server.url, REPRISE_TOKEN: token, XDG_CONFIG_HOME: root }
      const created = await commandLine(environment)('tokens', 'create', 'second', '--role', 'agent', '--json')
      second = await spawnProgram({
        args: [MAIN, 'agent', '--server', server.url, '--name', 'second', '--data-dir', join(root, 'second')],
        environment: { ...settings('two'), REPRISE_TOKEN: (JSON.parse(created.stdout) as { secret: string }).secret },
        ready: /^reprise agent ready (http:\S+)$/,
      })
    })
    afterAll(async () => {
      await second?.stop()
      await server?.stop()
    })

    test('code, and a checkpoint that comes from another agent, are the user’s own', async () => {
      const work = join(root, 'work')
      mkdirSync(work)
      const { uid, gid } = jobUsers()['red']!
      const script = `kept=$REPRISE_CHAIN_DIR/deep/kept
      [ "$REPRISE_ATTEMPT" = 2 ] || { mkdir "$REPRISE_CHAIN_DIR/deep"; echo one >"$kept"; exit 1; }
      echo "$REPRISE_CHECKPOINT"; echo two >>"$kept"; cat "$kept"; stat -c '%u %g' "$kept" "$REPRISE_CHAIN_DIR/deep" program.sh . ; id -u`
      writeFileSync(join(work, 'program.sh'), script)
      const how = ['--retries', '1', '--retry-delay', '0.2', '--rule', 'retry exclude=agent']
      const run = await commandLine(environment, work)('run', '--upload', '.', ...how, '--', 'sh', 'program.sh')
      expect(run).toMatchObject({ status: 0 })
      expect(run.stdout).toContain(`fetched\none\ntwo\n${`${uid} ${gid}\n`.repeat(4)}${uid}\n`)
      const id = /session (\S+)/.exec(run.stderr)![1]!
      const query = `query ($id: UUID!) { session(id: $id) { kernels { agent { name isolation } }
      childSession { kernels { agent { name isolation } } } } }`
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${environment['REPRISE_TOKEN']}` },
        body: JSON.stringify({ query, variables: { id } }),
      })
      const { data, errors } = (await response.json()) as { data: any; errors?: unknown }
      expect(errors).toBeUndefined()
      const [first, next] = [data.session.kernels[0], data.session.childSession.kernels[0]]
      expect(next).toMatchObject({ agent: { isolation: 'slurm-user' } })
      expect(first.agent.name).not.toBe(next.agent.name)
    })

    test('a project that has no user is refused, and its session says what to do', async () => {
      await using client = createClient({ url: server.url, token: environment['REPRISE_TOKEN']! })
      await commandLine(environment)('projects', 'create', 'other')
      const { session } = await client.createSession({ name: 'refused', command: ['true'], project: 'other' })
      await client.waitForChain(session.sessionId)
      const ended = await client.session(session.sessionId)
      expect(JSON.stringify(ended)).toContain('project other has no Unix user on this agent: REPRISE_SLURM_USERS')
    })
  })
})

describe('slurm failures', () => {
  const missing = whyNoSlurmCluster()
  /** A busy machine takes its time to start a job. */
  const SLOWLY_MS = 120_000

  const CHAIN = `query ($id: UUID!) { session(id: $id) { retryChain {
  sessionId attempt status failureCause failureReason retryCount resourceSlots { slot amount }
  kernels { host slurmJobId oomKilled } retryDecision { phase counted }
} } }`

  interface Attempt {
    sessionId: string
    attempt: number
    status: string
    failureCause: string | null
    failureReason: string | null
    retryCount: number
    resourceSlots: { slot: string; amount: string }[]
    kernels: { host: string | null; slurmJobId: string | null; oomKilled: boolean }[]
    retryDecision: { phase: string; counted: boolean } | null
  }

  describe.skipIf(missing !== null)(`failures on Slurm${missing === null ? '' : `: ${missing}`}`, () => {
    let cluster: OwnSlurmCluster
    let server: ServerProcess
    let token: string
    let client: Client

    beforeAll(async () => {
      const root = await temporaryDirectory('slurm-failures')
      const preemption = ['PreemptType=preempt/partition_prio', 'PreemptMode=CANCEL']
      const urgent = 'PartitionName=urgent Nodes=NODES State=UP PriorityTier=10 PreemptMode=OFF'
      cluster = await startSlurmCluster(join(root, 'cluster'), { lines: [...preemption, urgent] })
      const env = {
        REPRISE_EXECUTOR: 'slurm',
        REPRISE_SLURM_DIR: cluster.shared,
        REPRISE_SLURM_PARTITION: 'main',
        REPRISE_SLURM_POLL_MS: '500',
        REPRISE_SLOTS: '',
        SLURM_CONF: cluster.config,
      }
      server = await startServer({ dataDir: join(root, 'data'), port: 0, onLog: () => undefined, env })
      token = await readAdminToken(join(root, 'data'))
      client = createClient({ url: server.url, token })
    })
    afterAll(async () => {
      await client[Symbol.asyncDispose]()
      await server.stop()
      await cluster[Symbol.asyncDispose]()
    })

    async function chain(id: string): Promise<Attempt[]> {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: CHAIN, variables: { id } }),
      })
      const answer = (await response.json()) as { data: { session: { retryChain: Attempt[] } }; errors?: unknown }
      expect(answer.errors).toBeUndefined()
      return answer.data.session.retryChain
    }

    const ended = (id: string) =>
      eventually(
        async () => {
          const attempts = await chain(id)
          const { status, retryDecision } = attempts.at(-1)!
          return (status === 'TERMINATED' || (status === 'ERROR' && retryDecision?.phase === 'EXHAUSTED')) && attempts
        },
        { withinMs: SLOWLY_MS },
      )

    test('a preempted job is retried, and the preemption does not count', { timeout: 400_000 }, async () => {
      const { session } = await client.createSession({
        name: 'preempted',
        command: ['sh', '-c', 'test "$REPRISE_ATTEMPT" -ge 2 || exec sleep 1000'],
        resourceSlots: [{ slot: 'cpu', amount: '2' }],
        retryPolicy: {
          maxRetries: 1,
          retryDelay: 0.1,
          rules: [{ match: { reason: 'preempted*' }, action: 'RETRY_UNCOUNTED' }],
        },
      })
      await eventually(async () => (await chain(session.sessionId))[0]!.status === 'RUNNING', { withinMs: SLOWLY_MS })
      const urgent = ['--partition=urgent', '--nodes=2', '--exclusive', '--output=/dev/null', '--chdir=/']
      await cluster.run('sbatch', ...urgent, '--wrap=sleep 3')
      expect(await ended(session.sessionId)).toMatchObject([
        {
          status: 'ERROR',
          failureCause: 'AGENT_TRANSIENT',
          failureReason: 'preempted',
          retryDecision: { counted: false },
        },
        { status: 'TERMINATED', attempt: 2, retryCount: 0 },
      ])
    })

    test('a job and its session name each other', { timeout: 400_000 }, async () => {
      const { session } = await client.createSession({ name: 'linked', command: ['sleep', '1000'] })
      const [attempt] = await eventually(
        async () => {
          const attempts = await chain(session.sessionId)
          return attempts[0]!.status === 'RUNNING' && attempts
        },
        { withinMs: SLOWLY_MS },
      )
      const { host, slurmJobId } = attempt!.kernels[0]!
      const job = await cluster.run('squeue', '--noheader', `--jobs=${slurmJobId}`, '--format=%N|%k')
      expect(job.trim()).toMatch(new RegExp(`^${host}\\|reprise agent=\\S+ session=${session.sessionId} attempt=1$`))
      await client.terminateSession(session.sessionId, { force: true })
    })

    test.skipIf(!canLimitMemory())('a retry after too little memory has more of it', { timeout: 400_000 }, async () => {
      const { session } = await client.createSession({
        name: 'grows',
        // Keeps 90 MB.
        command: ['sh', '-c', 'head -c 90000000 /dev/zero | tail -c 90000000 >/dev/null'],
        resourceSlots: [{ slot: 'mem', amount: '64m' }],
        retryPolicy: {
          maxRetries: 3,
          retryDelay: 0.1,
          rules: [
            {
              match: { causes: ['OOM_KILLED'] },
              action: 'RETRY',
              scaleResources: [{ slot: 'mem', factor: 2, max: '1g' }],
            },
          ],
        },
      })
      const attempts = await ended(session.sessionId)
      expect(attempts).toMatchObject([
        { status: 'ERROR', failureCause: 'OOM_KILLED', failureReason: 'oom-killed', kernels: [{ oomKilled: true }] },
        { status: 'TERMINATED', attempt: 2 },
      ])
      const memory = attempts.map(({ resourceSlots }) => resourceSlots.find(({ slot }) => slot === 'mem')?.amount)
      expect(memory).toEqual([String(64 * 2 ** 20), String(128 * 2 ** 20)])
    })

    test.skipIf(!canLimitMemory())(
      'a pipeline that loses a process to the memory limit has failed, though it exits with 0',
      { timeout: 400_000 },
      async () => {
        const { session } = await client.createSession({
          name: 'pipeline',
          command: ['sh', '-c', 'head -c 90000000 /dev/zero | tail -c 90000000 | wc -c'],
          resourceSlots: [{ slot: 'mem', amount: '64m' }],
          retryPolicy: { maxRetries: 1, retryDelay: 0.1 },
        })
        const killed = { status: 'ERROR', failureCause: 'OOM_KILLED', failureReason: 'oom-killed' }
        expect(await ended(session.sessionId)).toMatchObject([killed, killed])
      },
    )
  })
})
