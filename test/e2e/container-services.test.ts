import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { describeEngines } from '../support/containers/describe-engines.ts'
import { BASE_IMAGE, type ContainerEngine, whyNoEngine } from '../support/containers/engines.ts'
import { sharedEngine } from '../support/containers/shared-engine.ts'
import { eventually } from '../support/eventually.ts'
import { commandLine, startCommand } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

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
      const [, here] = await eventually(() => /:(\d+) leads/.exec(forward.output.stdout))
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
