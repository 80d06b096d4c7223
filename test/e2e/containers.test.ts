import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { describeEngines } from '../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../support/containers/engines.ts'
import { ALLOWED_IMAGES, pushBase, whyNoRegistry } from '../support/containers/private-registry.ts'
import { pushPython } from '../support/containers/python-image.ts'
import { sharedEngine, sharedRegistry } from '../support/containers/shared-engine.ts'
import { slowDown } from '../support/containers/slow-engine.ts'
import { whyNotInstalled } from '../support/distribution.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { commandLine, cleanEnvironment, MAIN } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { expectUploadToRun } from './uploaded-files.ts'

/** A busy machine takes its time to start a container. */
const SLOWLY = { withinMs: 120_000 }
const LONG = { timeout: 300_000 }
const STATE = 'query ($id: UUID!) { session(id: $id) { status childSession { id status attempt } } }'

interface State {
  status: string
  childSession: { id: string; status: string; attempt: number } | null
}

describeEngines('chains in containers of %s', (name) => {
  const missing = whyNoEngine(name) ?? whyNoRegistry() ?? whyNotInstalled('python3')
  let registry: string
  let engine: ContainerEngine
  let server: ServerProcess
  let root: string

  async function start(): Promise<void> {
    const env = {
      REPRISE_EXECUTOR: 'container',
      REPRISE_CONTAINER_ENGINE: engine.url,
      REPRISE_CONTAINER_NETWORK: 'host',
      REPRISE_CONTAINER_ALLOW: ALLOWED_IMAGES.join(),
    }
    server = await startServer({ dataDir: join(root, 'data'), port: 0, onLog: () => undefined, env })
  }

  beforeAll(async () => {
    if (missing !== null) return
    root = await temporaryDirectory(`containers-${name}`)
    registry = await sharedRegistry()
    engine = await sharedEngine(name)
    await start()
  })
  afterAll(() => server?.stop())

  test.skipIf(missing !== null)('the example of the documentation works', LONG, async () => {
    const [block, ...more] = await blocksOfTest('test/e2e/containers.test.ts')
    expect(more).toEqual([])
    await pushPython(engine, `${registry}/library/python:3.12`, root)
    const npx = `npx() { shift; ${process.execPath} ${MAIN} "$@"; }`
    const { stdout, stderr } = await promisify(execFile)('bash', ['-ec', `${npx}\n${block!.text}`], {
      env: cleanEnvironment({ REPRISE_URL: server.url, REPRISE_DATA_DIR: join(root, 'data') }),
    })
    expect(stdout).toContain('from a container\n')
    expect(stderr).toMatch(/succeeded/i)
  })

  test.skipIf(missing !== null)('doctor says what engine there is, and what it lacks', LONG, async () => {
    const look = async (containerEngine: string) => {
      const env = { REPRISE_URL: server.url, REPRISE_DATA_DIR: join(root, 'data') }
      const { stdout } = await commandLine({ ...env, REPRISE_CONTAINER_ENGINE: containerEngine })('doctor', '--json')
      const { findings } = JSON.parse(stdout) as { findings: { what: string }[] }
      return findings.find(({ what }) => what === 'container engine')
    }
    const called = { docker: 'Docker', podman: 'Podman' }[name]
    expect(await look(engine.url)).toMatchObject({
      state: 'ok',
      found: expect.stringMatching(`^${called} [0-9.+a-z]+ at ${engine.socket}$`) as string,
    })
    await using silent = await slowDown(engine.socket, () => 'request')
    expect(await look(`unix://${silent.socket}`)).toMatchObject({
      state: 'fault',
      found: expect.stringContaining('does not respond') as string,
    })
    expect(await look('unix:///nowhere.sock')).toMatchObject({
      state: 'fault',
      found: '/nowhere.sock: does not exist',
      advice: expect.stringContaining('Start Docker') as string,
    })
  })

  test.skipIf(missing !== null)('what fails is retried, and what runs outlives the server', LONG, async () => {
    const image = await pushBase(engine, registry, `chains-${name}/tool:1`)
    const token = await readAdminToken(join(root, 'data'))
    const create = async (given: { name: string; image: string; script: string }) => {
      await using client = createClient({ url: server.url, token })
      const { session } = await client.createSession({
        name: given.name,
        image: given.image,
        command: ['sh', '-c', given.script],
        retryPolicy: { maxRetries: 2, retryDelay: 0.1 },
      })
      return session.sessionId
    }
    const state = async (sessionId: string) => {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: STATE, variables: { id: sessionId } }),
      })
      const { data } = (await response.json()) as { data: { session: State } }
      return data.session
    }
    const script =
      'echo "$REPRISE_ATTEMPT" >>"$REPRISE_CHAIN_DIR/attempts"; test "$(wc -l <"$REPRISE_CHAIN_DIR/attempts")" -ge 2'
    const failing = await create({ name: 'fails-once', image, script })
    const untilAsked = 'until [ -e "$REPRISE_CHAIN_DIR/gate" ]; do sleep 0.1; done'
    const long = await create({ name: 'outlives', image, script: untilAsked })
    await eventually(async () => (await state(failing)).childSession?.status === 'TERMINATED', SLOWLY)
    expect(await state(failing)).toMatchObject({ status: 'ERROR', childSession: { attempt: 2 } })
    await eventually(async () => (await state(long)).status === 'RUNNING', SLOWLY)
    await server.kill()
    await start()
    const answer = await commandLine({ REPRISE_URL: server.url, REPRISE_DATA_DIR: join(root, 'data') })(
      'exec',
      long,
      '--',
      'touch',
      '/chain/gate',
    )
    expect(answer).toMatchObject({ status: 0 })
    await eventually(async () => (await state(long)).status === 'TERMINATED', SLOWLY)
    expect((await state(long)).childSession).toBeNull()
  })

  test.skipIf(missing !== null)('what is uploaded runs in each attempt', LONG, async () => {
    const image = await pushBase(engine, registry, `chains-${name}/tool:1`)
    const env = { REPRISE_URL: server.url, REPRISE_DATA_DIR: join(root, 'data') }
    await expectUploadToRun(env, ['--image', image])
  })
})
