import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import { describeEngines } from '../support/containers/describe-engines.ts'
import { BASE_IMAGE, type ContainerEngine, whyNoEngine } from '../support/containers/engines.ts'
import { ALLOWED_IMAGES, pushBase, whyNoRegistry } from '../support/containers/private-registry.ts'
import { pushPython } from '../support/containers/python-image.ts'
import { sharedEngine, sharedRegistry } from '../support/containers/shared-engine.ts'
import { slowDown } from '../support/containers/slow-engine.ts'
import { whyNotInstalled } from '../support/distribution.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { cleanEnvironment, commandLine, MAIN, startCommand } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { expectUploadToRun } from './uploaded-files.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { networksOfAgent } from '../support/containers/networks-of-agent.ts'

describe('containers', () => {
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

    test.skipIf(missing !== null)(
      'a failed session is retried, and a running one outlives the server',
      LONG,
      async () => {
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
      },
    )

    test.skipIf(missing !== null)('uploaded code runs in each attempt', LONG, async () => {
      const image = await pushBase(engine, registry, `chains-${name}/tool:1`)
      const env = { REPRISE_URL: server.url, REPRISE_DATA_DIR: join(root, 'data') }
      await expectUploadToRun(env, ['--image', image])
    })
  })
})

describe('container services', () => {
  /** Sessions and deployments that serve, in containers with a network of their own, from the command line. */

  const OWN_NETWORK = { docker: 'default', podman: 'podman' }
  const SLOWLY_MS = 120_000

  /** Of a command line, up to the program that runs in the image. */
  const words = (text: string) => [...text.split(' '), '--image', BASE_IMAGE, '--']

  describeEngines('what serves in containers of %s', (name) => {
    const missing = whyNoEngine(name)
    let engine: ContainerEngine
    let server: ServerProcess
    let environment: Record<string, string>
    let reprise: ReturnType<typeof commandLine>

    beforeAll(async () => {
      if (missing !== null) return
      const root = await temporaryDirectory(`services-${name}`)
      engine = await sharedEngine(name)
      const dataDir = join(root, 'data')
      const env = {
        REPRISE_EXECUTOR: 'container',
        REPRISE_CONTAINER_ENGINE: engine.url,
        REPRISE_CONTAINER_NETWORK: OWN_NETWORK[name],
        REPRISE_CONTAINER_PULL: 'never',
        REPRISE_SLOTS: 'cpu=8',
        REPRISE_AGENT_ADDRESS: '127.0.0.1',
      }
      server = await startServer({ dataDir, port: 0, onLog: () => undefined, env })
      environment = {
        REPRISE_URL: server.url,
        REPRISE_TOKEN: await readAdminToken(dataDir),
        REPRISE_DATA_DIR: join(root, 'none'),
      }
      reprise = commandLine(environment)
    }, SLOWLY_MS)
    afterAll(async () => {
      await server?.stop()
    })

    const shown = async (...args: string[]) => JSON.parse((await reprise(...args, '--json')).stdout)

    test.skipIf(missing !== null)(
      'an interactive session is entered, and what it serves to itself is reached',
      { timeout: SLOWLY_MS },
      async () => {
        const port = await fixedPort()
        const program = `echo from inside >index.html; exec httpd -f -p 127.0.0.1:${port} -h "$PWD"`
        const { stdout } = await reprise(...words('create --type interactive --name notebook'), 'sh', '-c', program)
        const sessionId = stdout.trim()
        await eventually(async () => (await shown('info', sessionId)).status === 'RUNNING', { withinMs: SLOWLY_MS })
        const { status, ...said } = await startCommand(
          ['exec', sessionId, '--', 'sh', '-c', 'cat; echo "$REPRISE_KERNEL_NAME" >&2; exit 42'],
          environment,
          'over there',
        ).ended
        expect({ status, ...said }).toEqual({ status: 42, stdout: 'over there', stderr: 'main1\n' })

        const none = await reprise('exec', '--no-stdin', sessionId, '--', 'no-such-program')
        expect(none).toMatchObject({ status: 127, stderr: 'no-such-program: not found in the image\n' })

        const forward = startCommand(['port-forward', sessionId, `0:${port}`], environment)
        const [, here] = await eventually(() => /:(\d+) is forwarded/.exec(forward.output.stdout))
        expect(await (await fetch(`http://127.0.0.1:${here}/`)).text()).toBe('from inside\n')
        forward.child.kill('SIGINT')
        await forward.ended
        await reprise('cancel', sessionId)
      },
    )

    test.skipIf(missing !== null)(
      'each replica of a deployment answers at the port that is reported for it',
      { timeout: SLOWLY_MS * 2 },
      async () => {
        const program =
          'mkdir www; echo "$REPRISE_KERNEL_ID $PORT" >www/index.html; exec httpd -f -p "$PORT" -h "$PWD/www"'
        const created = await reprise(
          ...words('deployments create web --replicas 2 --cpu 0.1 --health-interval 1s --wait'),
          'sh',
          '-c',
          program,
        )
        expect(created).toMatchObject({ status: 0 })
        const { endpoints } = (await shown('deployments', 'info', 'web')) as { endpoints: { url: string }[] }
        const answers = await Promise.all(
          endpoints.map(async ({ url }) => {
            const [kernelId, port] = (await (await fetch(url)).text()).trim().split(' ')
            expect(new URL(url).port).toBe(port)
            return kernelId
          }),
        )
        expect(new Set(answers).size).toBe(2)
        await reprise('deployments', 'destroy', 'web', '--wait')
      },
    )
  })
})

describe('container clusters', () => {
  /** Sessions of several kernels in containers of one agent, from the command line. */

  const SLOWLY_MS = 120_000

  /** `main1` asks each of the others, at a port that they have in every session, and then fails as often as it is told. */
  const CLUSTER = `case $REPRISE_KERNEL_NAME in
main1)
  for each in sub1 sub2; do until wget -qO- "http://$each:8080/"; do sleep 0.2; done; done
  echo "$REPRISE_CLUSTER_HOSTS"
  test "$REPRISE_ATTEMPT" -ge "$LAST";;
*) echo "$REPRISE_KERNEL_NAME of $OF, attempt $REPRISE_ATTEMPT" >index.html; exec httpd -f -p 8080 -h "$PWD";;
esac`

  describeEngines('sessions of several kernels in containers of %s', (name) => {
    const missing = whyNoEngine(name)
    let engine: ContainerEngine
    let server: ServerProcess
    let reprise: ReturnType<typeof commandLine>

    beforeAll(async () => {
      if (missing !== null) return
      const root = await temporaryDirectory(`clusters-${name}`)
      engine = await sharedEngine(name)
      const dataDir = join(root, 'data')
      const env = {
        REPRISE_EXECUTOR: 'container',
        REPRISE_CONTAINER_ENGINE: engine.url,
        REPRISE_CONTAINER_NETWORK: 'default',
        REPRISE_CONTAINER_PULL: 'never',
        REPRISE_SLOTS: 'cpu=8',
      }
      server = await startServer({ dataDir, port: 0, onLog: () => undefined, env })
      const token = await readAdminToken(dataDir)
      reprise = commandLine({ REPRISE_URL: server.url, REPRISE_TOKEN: token, REPRISE_DATA_DIR: join(root, 'none') })
    }, SLOWLY_MS)
    afterAll(async () => {
      await server?.stop()
    })

    const agentId = async () =>
      (JSON.parse((await reprise('agents', '--json')).stdout) as { agentId: string }[])[0]!.agentId
    const run = (of: string, last: number) => {
      const options = `run --name ${of} --cluster-size 3 --cpu 0.1 --retries 1 --retry-delay 0.1 -e OF=${of} -e LAST=${last}`
      return reprise(...options.split(' '), '--image', BASE_IMAGE, '--', 'sh', '-c', CLUSTER)
    }

    test.skipIf(missing !== null)(
      'each have a network of their own, and so has a retry',
      { timeout: SLOWLY_MS },
      async () => {
        const ended = Promise.all([run('one', 1), run('two', 2)])
        const agent = await agentId()
        await eventually(async () => (await networksOfAgent(engine, agent)).length > 0)
        const both = await ended
        expect(both).toMatchObject([{ status: 0 }, { status: 0 }])
        const [one, two] = both.map(({ stdout }) => stdout)
        const heard = (text: string) => text.match(/sub\d of \w+, attempt \d/g)
        expect(heard(one!)).toEqual(['sub1 of one, attempt 1', 'sub2 of one, attempt 1'])
        expect(heard(two!)).toEqual([1, 2].flatMap((n) => [`sub1 of two, attempt ${n}`, `sub2 of two, attempt ${n}`]))
        expect(one).toContain('main1=main1,sub1=sub1,sub2=sub2\n')
        await eventually(async () => (await networksOfAgent(engine, agent)).length === 0)
      },
    )
  })
})
