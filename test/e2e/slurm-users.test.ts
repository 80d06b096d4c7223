import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { cleanEnvironment, commandLine, MAIN } from '../support/programs/command-line.ts'
import { spawnProgram, type SpawnedProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { jobUsers, USER_NAMES, whyNoJobUsers } from '../support/slurm/job-users.ts'
import { sharedSlurmCluster } from '../support/slurm/shared-cluster.ts'
import { type SlurmCluster, whyNoSlurmCluster } from '../support/slurm/slurm-cluster.ts'

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
