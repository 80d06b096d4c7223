import { randomUUID } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { heapFlags, readAdminToken, startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { createClient, type Client, type CreateSessionInput } from '../../../src/client/node/index.ts'
import { ROOT } from '../../guard/source-files.ts'
import { cleanEnvironment, MAIN } from '../../support/programs/command-line.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { helpPages } from '../../support/programs/help-examples.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

/**
 * Every example of every `--help`, typed into a shell as it stands there, with the files, sessions and things that it
 * speaks of.
 */

const SCRIPT = '#!/bin/sh\necho "$0 $*"\n'
const FILES: Readonly<Record<string, string>> = {
  'bin/reprise': `#!/bin/sh\nexec '${process.execPath}' ${heapFlags().join(' ')} '${MAIN}' "$@"\n`,
  'train.py':
    "import os, sys\nprint(sys.argv)\nos.makedirs('results', exist_ok=True)\nopen('results/model', 'w').write('1')\n",
  'flaky.sh': SCRIPT,
  'hungry.sh': SCRIPT,
  'simulate.sh': SCRIPT,
  'nightly.sh': SCRIPT,
  'work.sh': SCRIPT,
  'server.js':
    "require('node:http').createServer((_request, response) => response.end('fine')).listen(process.env.PORT)\n",
  'policy.json': '{ "maxRetries": 2 }\n',
  'jobs.yaml': '- array: 1..3\n  name: step-{i}\n  command: echo {i}\n',
  'team.yaml': '- user: ada\n  projects: {research: member}\n  tokens: [{name: ada-laptop}]\n',
  cursor: `${btoa('0:0').replaceAll('=', '')}\n`,
  'etc/token': '',
  '.config/fish/completions/other.fish': '',
}

/** Statuses for a correct command whose object is missing or needs no change. */
const ENDS_WITH: Readonly<Record<string, number>> = {
  'reprise bulk-actions abort': 5,
  'reprise agents remove': 5,
  'reprise agents gpus node-7 --return GPU-5d5ba0d6': 3,
  'reprise agents gpus node-7 --take GPU-5d5ba0d6 --reason "fan noise"': 3,
  'reprise logs --cause oom-killed --all-attempts': 3,
  'reprise advice show': 3,
  'reprise advice apply': 3,
  'reprise advice dismiss': 3,
  // One of the two members has failed.
  'reprise wait sweep    # a group, by its key, name or id': 1,
  'reprise download sweep --to results/    # of the members of a group, each into its own directory': 1,
  // The token of this test has no user.
  'reprise list --mine --cause oom-killed --since 2h': 2,
  // The shell finds no program in what it reads.
  'reprise exec nightly -- sh': 127,
}

interface Example {
  path: string
  example: string
}

const pages = await helpPages()
const all = pages.flatMap(({ path, examples }) => examples.map((example): Example => ({ path, example })))

test('all examples are found', () => expect(all.length).toBeGreaterThan(80))

/** In how many parts the examples are typed, beside each other. */
const PARTS = 3
/** The examples of a noun, which may speak of each other's things, are in one part. */
const parts = Map.groupBy(all, ({ path }) => {
  const noun = path.split(' ').slice(0, 2).join(' ')
  const first = all.findIndex((other) => `${other.path} `.startsWith(`${noun} `))
  return Math.floor((first * PARTS) / all.length)
})

describe.concurrent.each([...parts])('part %i', (_, examples) => {
  typeInOrder(examples)
})

/** On a server of their own. */
function typeInOrder(examples: readonly Example[]): void {
  let home: string
  let database: TestDatabase
  let server: ServerProcess
  let token: string
  let client: Client

  beforeAll(async () => {
    // Kernels see neither the directory of the run nor, if this is root, what others may not enter.
    const caches = join(ROOT, 'node_modules/.cache')
    await mkdir(caches, { recursive: true })
    home = await mkdtemp(join(caches, 'help-examples-'))
    await chmod(home, 0o755)
    for (const [name, text] of Object.entries(FILES)) {
      await mkdir(join(home, name, '..'), { recursive: true })
      await writeFile(join(home, name), text)
      await chmod(join(home, name), 0o755)
    }
    database = await testDatabase()
    const env = {
      REPRISE_DATABASE_URL: database.connectionString,
      REPRISE_AGENT_NAME: 'node-7',
      REPRISE_AGENT_ADDRESS: '127.0.0.1',
      REPRISE_SLOTS: 'cpu=64,mem=256g',
      REPRISE_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    }
    const dataDir = await temporaryDirectory('help-examples')
    server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
    token = await readAdminToken(dataDir)
    client = createClient({ url: server.url, token })
    await client.request(`mutation {
      createProject(input: { name: "research" }) { __typename }
      createUser(input: { name: "ada" }) { __typename }
      createResourceGroup(input: { name: "gpu" }) { __typename }
    }`)
  })
  afterAll(async () => {
    await client?.close()
    await server?.stop()
    await database?.close()
    if (home) await rm(home, { recursive: true })
  })

  async function session(input: Partial<CreateSessionInput>): Promise<string> {
    const { session: made } = await client.createSession({ name: 'nightly', command: ['sleep', '60'], ...input })
    return made.sessionId
  }
  async function running(input: Partial<CreateSessionInput>): Promise<void> {
    const sessionId = await session(input)
    await eventually(async () => (await client.session(sessionId)).status === 'RUNNING')
  }
  async function failed(): Promise<string> {
    const sessionId = await session({ command: ['false'], labels: [{ key: 'study', value: '7' }] })
    await eventually(async () => (await client.session(sessionId)).status === 'ERROR')
    return sessionId
  }
  async function waiting(): Promise<string> {
    const sessionId = await session({ command: ['false'], retryPolicy: { maxRetries: 1, retryDelay: 600 } })
    await eventually(async () => (await client.session(sessionId)).retryState.phase === 'SCHEDULED')
    return sessionId
  }

  async function withOutputs(): Promise<void> {
    const command = ['sh', '-c', 'mkdir results; echo 1 >results/metrics.json']
    const sessionId = await session({ name: 'train', command, outputs: { paths: ['results/**'] } })
    const asked = `{ session(id: "${sessionId}") { outputs { state } } }`
    await eventually(async () => {
      const { session: found } = await client.request<{ session: { outputs: { state: string } } }>(asked)
      return found.outputs.state === 'COMPLETE'
    })
  }

  /** A group that is found by its name, new for each example. */
  async function sweep(example: string): Promise<void> {
    if (!example.includes('sweep')) return
    const script = example.includes('cancel') ? 'sleep 60' : 'echo 1 >"$REPRISE_OUTPUT_DIR/result"; exit $REPRISE_INDEX'
    const work = { name: 'fit', command: ['sh', '-c', script] }
    const { group } = await client.createGroup([work], { name: 'sweep', indexes: '0-1' })
    if (example.includes('cancel') || example.includes('wait')) return
    for await (const _ of client.followGroup(group.groupId));
  }

  async function webhook(): Promise<string> {
    return (await client.createWebhook({ url: 'http://127.0.0.1:1024/', eventTypes: ['*'] })).webhook.webhookId
  }

  /** Creates what an example needs; returns the id for its placeholder. */
  const BEFORE: Readonly<Record<string, (example: string) => Promise<unknown>>> = {
    'reprise compare': async () => {
      for (const name of ['train', 'train', 'nightly']) {
        const sessionId = await session({ name, command: ['true'] })
        await eventually(async () => (await client.session(sessionId)).result === 'SUCCESS')
      }
    },
    'reprise advice show': async () => randomUUID(),
    'reprise advice apply': async () => randomUUID(),
    'reprise advice dismiss': async () => randomUUID(),
    'reprise history': () => session({ command: ['true'] }),
    'reprise projects revoke': () => client.setProjectMember({ project: 'research', user: 'ada', role: 'MEMBER' }),
    'reprise tokens create': () => client.setProjectMember({ project: 'research', user: 'ada', role: 'MEMBER' }),
    'reprise users delete': () => client.createUser('grace').catch(() => {}),
    'reprise groups show': sweep,
    'reprise logs': sweep,
    'reprise groups delete': () => client.createResourceGroup({ name: 'tpu' }).catch(() => {}),
    'reprise resource-groups delete': () => client.createResourceGroup({ name: 'tpu' }).catch(() => {}),
    'reprise info': () => session({ command: ['true'] }),
    'reprise wait': (example) =>
      Promise.all([
        sweep(example.includes('sweep') ? 'wait sweep' : ''),
        ...['nightly', 'report'].map((name) => session({ name, command: ['true'] })),
      ]),
    'reprise cancel': (example) => Promise.all([sweep(example), session({})]),
    'reprise exec': () => running({}),
    'reprise port-forward': () => running({ name: 'notebook' }),
    'reprise retry now': waiting,
    'reprise retry cancel': waiting,
    'reprise retry update': waiting,
    'reprise resubmit': (example) => Promise.all([sweep(example), failed()]),
    'reprise outputs': withOutputs,
    'reprise download': (example) => Promise.all([sweep(example), withOutputs()]),
    'reprise switch hold': failed,
    'reprise switch release': failed,
    'reprise bulk-actions abort': async () =>
      (await client.resubmitSessions({ select: { sessionIds: [await failed()] } })).bulkAction.bulkActionId,
    'reprise tokens revoke': async () =>
      (await client.createToken({ name: 'old', role: 'VIEWER', project: 'default' })).token.tokenId,
    ...Object.fromEntries(
      ['enable', 'disable', 'delete', 'rotate', 'test', 'deliveries'].map((name) => [
        `reprise webhooks ${name}`,
        webhook,
      ]),
    ),
    async 'reprise webhooks replay'(example) {
      const webhookId = await webhook()
      return example.includes('--delivery') ? (await client.sendTestEvent(webhookId)).deliveryId : webhookId
    },
  }

  /** What stands in an example for things of a real place. */
  function here(example: string, id: unknown): string {
    return example
      .replaceAll(/https:\/\/(reprise\.example\.com|one\.lab|two\.lab)/g, server.url)
      .replaceAll('/etc/reprise/token', join(home, 'etc/token'))
      .replaceAll(/<(?:webhook|delivery)>|01990000-0000-7000-8000-000000000000/g, String(id))
      .replaceAll('< token-file', '<<< "$REPRISE_TOKEN"')
  }

  async function type(line: string, until?: RegExp) {
    const env = cleanEnvironment({
      HOME: home,
      PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
      REPRISE_URL: server.url,
      REPRISE_TOKEN: token,
      XDG_CONFIG_HOME: join(home, '.config'),
    })
    // What follows is ended as a terminal does it, by a signal to the command itself.
    const script = `fpath=('' "$HOME")\n${until ? `exec ${line}` : line}`
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { env, cwd: home })
    let output = ''
    let ended = false
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        // A second signal would end it without its own exit status.
        if (!ended && until?.test(output)) ended = child.kill('SIGINT')
      })
    }
    child.stdin.end(token)
    const [status] = (await once(child, 'close')) as [number | null]
    return { line, status, output }
  }

  test.each(examples)('$example', { concurrent: false }, async ({ path, example }) => {
    const id = await BEFORE[path]?.(example)
    const follows = path.endsWith(' watch') || (path.endsWith(' events') && example.includes('--follow'))
    const until = path.endsWith(' port-forward') ? /is forwarded to/ : follows ? /watching from/ : undefined
    const { line, status, output } = await type(here(example, id), until)
    const expected = until ? 130 : (ENDS_WITH[example] ?? ENDS_WITH[path] ?? 0)
    expect({ line, status, output }).toEqual({ line, status: expected, output })
  })
}
