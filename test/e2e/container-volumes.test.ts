/** Volumes of two agents, one for each engine, from every door: where sessions go, and what they leave in them. */
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeEngines } from '../support/containers/describe-engines.ts'
import { BASE_IMAGE, ENGINES, whyNoEngine } from '../support/containers/engines.ts'
import { sharedEngine } from '../support/containers/shared-engine.ts'
import { eventually } from '../support/eventually.ts'
import { commandLine } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { PATIENT_LEASE, type RemoteFleet, startRemoteFleet, textOf } from './remote/remote-fleet.ts'

const SLOWLY_MS = 120_000
const PENDING = 'query ($id: UUID!) { session(id: $id) { status pendingReason } }'
const MOUNTS =
  'query ($id: UUID!) { session(id: $id) { retryChain { origin mounts { volume path readOnly } kernels { agent { name } } } } }'
const TOKEN = `mutation { createProject(input: { name: "theirs" }) { __typename }
  createToken(input: { name: "theirs", role: MEMBER, project: "theirs" }) { ... on CreateTokenPayload { secret } } }`

let root: string
let fleet: RemoteFleet
let theirToken: string
const present = ENGINES.filter((name) => whyNoEngine(name) === null)

beforeAll(async () => {
  if (present.length === 0) return
  root = await temporaryDirectory('container-volumes')
  fleet = await startRemoteFleet({ lease: PATIENT_LEASE })
  const { createToken } = await fleet.graphql(TOKEN)
  theirToken = createToken.secret
  const directory = async (called: string) => {
    const source = join(root, called)
    await mkdir(source)
    await chmod(source, 0o777)
    return source
  }
  const data = { source: await directory('data'), readOnly: true }
  await writeFile(join(data.source, 'text'), 'from the machine\n')
  const theirs = { source: await directory('theirs'), projects: ['theirs'] }
  for (const name of present) {
    const engine = await sharedEngine(name)
    const volumes = { data, theirs, [`of-${name}`]: { source: await directory(name), projects: ['default'] } }
    await fleet.startAgent({
      name,
      token: await fleet.token(),
      args: ['--executor', 'container', '--container-engine', engine.url],
      environment: {
        REPRISE_CONTAINER_NETWORK: 'host',
        REPRISE_CONTAINER_PULL: 'never',
        REPRISE_CONTAINER_VOLUMES: JSON.stringify(volumes),
      },
    })
  }
}, SLOWLY_MS)
afterAll(() => fleet?.[Symbol.asyncDispose]())

const cli = (token = fleet.adminToken) =>
  commandLine({ REPRISE_URL: fleet.url, REPRISE_TOKEN: token, REPRISE_DATA_DIR: join(root, 'none') })

/** Of a command line, up to the program that runs in the image. */
const words = (text: string, script: string) => [...text.split(' '), '--image', BASE_IMAGE, '--', 'sh', '-c', script]

async function post(path: string, body: object) {
  const response = await fetch(`${fleet.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, any> }
}

async function reasonOf(id: string): Promise<string> {
  const look = async () => (await fleet.graphql(PENDING, { id })).session
  await eventually(async () => (await look()).pendingReason?.includes('volume'))
  const { status, pendingReason } = await look()
  expect(status).toBe('PENDING')
  return pendingReason
}

/** Each attempt notes itself in one volume, tries to change the other, and fails. */
const LEAVES = `echo "$REPRISE_ATTEMPT" >>/mnt/left/attempts
touch /mnt/data/no 2>/dev/null && echo changed
mount -o remount,rw /mnt/data 2>/dev/null && echo remounted
cat /mnt/data/text; exit 1`

describeEngines('a volume that only the agent of %s has', (name) => {
  const missing = whyNoEngine(name)
  const left = () => join(root, name)

  test.skipIf(missing !== null)(
    'has what a session, its retry and its resubmission leave in it',
    { timeout: SLOWLY_MS },
    async () => {
      const options = `create --name leaves-${name} --retries 1 --retry-delay 0.1 --mount of-${name}:/mnt/left --mount data:/mnt/data:ro`
      const sessionId = (await cli()(...words(options, LEAVES))).stdout.trim()
      const [, retry] = await fleet.until(sessionId, (chain) => chain[1]?.retryState.phase === 'EXHAUSTED', SLOWLY_MS)
      expect(textOf(retry!)).toBe('from the machine\n')
      expect(await cli()('resubmit', `leaves-${name}`, '--retries', '0')).toMatchObject({ stderr: '' })
      const [, , last] = await fleet.until(sessionId, (chain) => chain[2]?.status === 'ERROR', SLOWLY_MS)
      expect(textOf(last!)).toBe('from the machine\n')
      expect(await readFile(join(left(), 'attempts'), 'utf8')).toBe('1\n2\n3\n')
      expect(await readdir(join(root, 'data'))).toEqual(['text'])
      const mounts = [
        { volume: 'data', path: '/mnt/data', readOnly: true },
        { volume: `of-${name}`, path: '/mnt/left', readOnly: false },
      ]
      const { session } = await fleet.graphql(MOUNTS, { id: sessionId })
      expect(session.retryChain).toEqual(
        ['INITIAL', 'AUTO_RETRY', 'RESUBMISSION'].map((origin) => ({
          origin,
          mounts,
          kernels: [{ agent: { name } }],
        })),
      )
    },
  )

  test.skipIf(missing !== null)(
    'is asked for over GraphQL, over REST and by run alike',
    { timeout: SLOWLY_MS },
    async () => {
      const command = ['sh', '-c', 'echo "$0" >>/mnt/left/doors', 'graphql']
      const mounts = [{ volume: `of-${name}`, path: '/mnt/left' }]
      const first = await fleet.createSession({ image: BASE_IMAGE, command, mounts })
      await fleet.until(first, ([only]) => only!.status === 'TERMINATED', SLOWLY_MS)
      const rest = { name: 'door', image: BASE_IMAGE, command: [...command.slice(0, 3), 'rest'], mounts }
      const { status, body } = await post('/v2/sessions', rest)
      expect(status).toBe(201)
      expect(body['mounts']).toEqual([{ ...mounts[0], read_only: false }])
      await fleet.until(body['id'], ([only]) => only!.status === 'TERMINATED', SLOWLY_MS)
      const ran = await cli()(
        ...words(`run --mount of-${name}:/mnt/left`, 'echo run >>/mnt/left/doors; cat /mnt/left/doors'),
      )
      expect(ran).toMatchObject({ status: 0, stdout: 'graphql\nrest\nrun\n' })
    },
  )

  test.skipIf(missing !== null)(
    'is what each replica of a deployment serves from',
    { timeout: SLOWLY_MS * 2 },
    async () => {
      const options = `deployments create web-${name} --replicas 2 --cpu 0.1 --health-path /replicas --health-interval 1s --mount of-${name}:/mnt/left --wait`
      const program = 'echo "$REPRISE_SESSION_ID" >>/mnt/left/replicas; exec httpd -f -p "$PORT" -h /mnt/left'
      expect(await cli()(...words(options, program))).toMatchObject({ status: 0 })
      const { stdout } = await cli()('deployments', 'info', `web-${name}`, '--json')
      const { endpoints, routes } = JSON.parse(stdout) as {
        endpoints: { url: string }[]
        routes: { edges: { node: { session: { sessionId: string } } }[] }
      }
      expect(endpoints).toHaveLength(2)
      const sessions = routes.edges.map(({ node }) => node.session.sessionId).toSorted()
      for (const { url } of endpoints) {
        const served = await (await fetch(new URL('/replicas', url))).text()
        expect(served.trim().split('\n').toSorted()).toEqual(sessions)
      }
      expect((await cli()('deployments', 'info', `web-${name}`)).stdout).toContain(`of-${name}:/mnt/left\n`)
      const without = ['sh', '-c', 'mkdir /tmp/www; ls /mnt >/tmp/www/replicas; exec httpd -f -p "$PORT" -h /tmp/www']
      const update = ['deployments', 'update', `web-${name}`, '--mount', 'none', '--wait', '--', ...without]
      expect(await cli()(...update)).toMatchObject({ status: 0 })
      const bare = JSON.parse((await cli()('deployments', 'info', `web-${name}`, '--json')).stdout) as {
        endpoints: { url: string }[]
        revision: { mounts: unknown[] }
      }
      expect(bare.revision.mounts).toEqual([])
      for (const { url } of bare.endpoints) expect(await (await fetch(new URL('/replicas', url))).text()).toBe('')
      await cli()('deployments', 'destroy', `web-${name}`, '--wait')
    },
  )

  test.skipIf(missing !== null)('is not for another project, which sees no such volume', async () => {
    const asked = words(`create --name asks --project theirs --mount of-${name}:/mnt/left`, 'echo >/mnt/left/taken')
    const sessionId = (await cli(theirToken)(...asked)).stdout.trim()
    expect(await reasonOf(sessionId)).toBe(
      `no agent of resource group default that is alive has volume of-${name} for project theirs`,
    )
    expect(await readdir(left())).not.toContain('taken')
    await cli()('cancel', sessionId)
    const served = words(`deployments create asks-${name} --project theirs --mount of-${name}:/mnt/left`, 'sleep 1')
    const { status, stderr } = await cli(theirToken)(...served)
    expect(status).not.toBe(0)
    expect(stderr).toContain(`no agent of resource group default has volume of-${name} for project theirs`)
  })
})

test.skipIf(present.length === 0)('each project sees its own volumes', async () => {
  const all = { resourceGroups: ['default'], readOnly: false }
  const agents = present.length
  const data = { ...all, name: 'data', readOnly: true, agents }
  const theirs = { ...all, name: 'theirs', agents }
  const each = present.map((name) => ({ ...all, name: `of-${name}`, agents: 1 }))
  const listed = async (token?: string) => JSON.parse((await cli(token)('volumes', '--json')).stdout) as unknown
  expect(await listed()).toEqual([data, ...each, theirs])
  expect(await listed(theirToken)).toEqual([data, theirs])
  const { stdout } = await cli(theirToken)('volumes')
  expect(stdout.split('\n').map((line) => line.trimEnd().replaceAll(/ +/g, ' '))).toEqual([
    'VOLUME ACCESS AGENTS GROUPS',
    `data read-only ${agents} default`,
    `theirs read-write ${agents} default`,
    '',
  ])
})

test.skipIf(present.length === 0)('paths that kernels use themselves are refused by every interface', async () => {
  for (const [path, message] of [
    ['/mnt/../etc', 'without . and ..'],
    ['/proc/1', '/proc is used by the kernel itself'],
    ['/work', '/work is used by the kernel itself'],
    ['/chain/x', '/chain is used by the kernel itself'],
    ['/mnt/data', 'another volume is mounted at /mnt/data'],
  ]) {
    const mounts = [
      { volume: 'data', path: '/mnt/data', read_only: true },
      { volume: 'data', path, read_only: true },
    ]
    const { status, body } = await post('/v2/sessions', { name: 'no', command: ['true'], mounts })
    expect(status).toBe(422)
    expect(body).toMatchObject({ code: 'VALIDATION_FAILED' })
    expect(body['issues']).toContainEqual({
      path: 'mounts.1.path',
      message: expect.stringContaining(message!) as string,
    })
    const refused = await cli()('create', '--mount', 'data:/mnt/data:ro', '--mount', `data:${path}:ro`, '--', 'true')
    expect(refused).toMatchObject({ stdout: '', stderr: expect.stringContaining(message!) as string })
    expect(refused.status).not.toBe(0)
  }
})
