import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { describeEngines } from '../support/containers/describe-engines.ts'
import { BASE_IMAGE, type ContainerEngine, whyNoEngine } from '../support/containers/engines.ts'
import { sharedEngine } from '../support/containers/shared-engine.ts'
import { eventually } from '../support/eventually.ts'
import { commandLine, startCommand } from '../support/programs/command-line.ts'
import { countRunning, makeToken, SHELL, startInTerminal, walkTerminal } from '../support/programs/entering.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** `reprise exec` and `reprise port-forward` into one interactive session in a container without a way out. */

const SLOWLY_MS = 120_000
const TEST_MS = { timeout: SLOWLY_MS * 2 }
const LARGE_BYTES = 4_000_000

describeEngines('into a container of %s', (name) => {
  const missing = whyNoEngine(name)
  let engine: ContainerEngine
  let server: ServerProcess
  let root: string
  let environment: Record<string, string>
  let sessionId: string
  let port: number

  const start = async () => {
    const env = {
      REPRISE_EXECUTOR: 'container',
      REPRISE_CONTAINER_ENGINE: engine.url,
      REPRISE_CONTAINER_NETWORK: 'none',
      REPRISE_CONTAINER_PULL: 'never',
      REPRISE_SLOTS: 'cpu=8',
    }
    server = await startServer({ dataDir: join(root, 'data'), port: 0, onLog: () => undefined, env })
    const token = await readAdminToken(join(root, 'data'))
    environment = { REPRISE_URL: server.url, REPRISE_TOKEN: token, REPRISE_DATA_DIR: join(root, 'none') }
  }
  const reprise = (...args: string[]) => commandLine(environment)(...args)

  beforeAll(async () => {
    if (missing !== null) return
    root = await temporaryDirectory(`entry-${name}`)
    engine = await sharedEngine(name)
    await start()
    port = await fixedPort()
    const program = ['sh', '-c', `ip link set lo up 2>/dev/null; exec nc -ll -p ${port} -e cat`]
    const words = ['create', '--type', 'interactive', '--env', 'SECRET=swordfish', '--image', BASE_IMAGE, '--']
    sessionId = (await reprise(...words, ...program)).stdout.trim()
    await eventually(async () => JSON.parse((await reprise('info', sessionId, '--json')).stdout).status === 'RUNNING', {
      withinMs: SLOWLY_MS,
    })
  }, SLOWLY_MS * 2)
  afterAll(async () => {
    if (server !== undefined) await reprise('cancel', sessionId)
    await server?.stop()
  })

  test.skipIf(missing !== null)(
    'a local terminal works in the container, and is restored afterwards',
    TEST_MS,
    async () => {
      await walkTerminal(sessionId, environment, root)
    },
  )

  test.skipIf(missing !== null)('much output is whole, and a closed reader ends the command', TEST_MS, async () => {
    const large = ['sh', '-c', `yes | head -c ${LARGE_BYTES}; exit 3`]
    const { ended, output } = startCommand(['exec', '--no-stdin', sessionId, '--', ...large], environment)
    expect((await ended).status).toBe(3)
    expect(output.stdout === 'y\n'.repeat(LARGE_BYTES / 2)).toBe(true)
    const mark = `: reader-${sessionId}; `
    const words = ['exec', '--no-stdin', sessionId, '--', 'sh', '-c', `${mark}while :; do echo endless; done`]
    const endless = startCommand(words, environment)
    await eventually(() => endless.output.stdout.includes('endless'), { withinMs: SLOWLY_MS })
    expect(countRunning(mark)).toBeGreaterThan(1)
    endless.child.stdout.destroy()
    await endless.ended
    await eventually(() => countRunning(mark) === 0, { withinMs: SLOWLY_MS })
  })

  test.skipIf(missing !== null)(
    'connections are passed on, each by itself and in both directions',
    TEST_MS,
    async () => {
      const unserved = await fixedPort()
      const forward = startCommand(['port-forward', sessionId, `0:${port}`, `0:${unserved}`], environment)
      const [, here, nowhere] = await eventually(
        () => /:(\d+) is forwarded[^]*:(\d+) is forwarded/.exec(forward.output.stdout),
        {
          withinMs: SLOWLY_MS,
        },
      )
      const open = (to = here) => connect({ host: '127.0.0.1', port: Number(to), allowHalfOpen: true })

      const kept = open()
      kept.write('first')
      expect(String((await once(kept, 'data'))[0])).toBe('first')
      const sent = Array.from({ length: 5 }, (_, at) => String(at).repeat(LARGE_BYTES / 4))
      const answers = await Promise.all(sent.map((what) => text(open().end(what))))
      expect(answers.map((answer, at) => answer === sent[at])).toEqual(sent.map(() => true))
      kept.write('second')
      expect(String((await once(kept, 'data'))[0])).toBe('second')
      kept.end()

      const refused = await text(open(nowhere)).catch((error: NodeJS.ErrnoException) => error.code)
      expect(refused).toBe('ECONNRESET')
      await eventually(() => forward.output.stderr.includes(`listens on port ${unserved}`))
      forward.child.kill('SIGINT')
      expect((await forward.ended).status).toBe(130)
    },
  )

  test.skipIf(missing !== null)(
    'a token that may not enter is refused; the audit log has who did what',
    TEST_MS,
    async () => {
      await reprise('projects', 'create', 'elsewhere')
      const refusals = {
        FORBIDDEN: await makeToken(reprise, '--role', 'viewer', '--project', 'default'),
        SESSION_NOT_FOUND: await makeToken(reprise, '--role', 'member', '--project', 'elsewhere'),
      }
      const command = ['sh', '-c', 'echo $SECRET']
      for (const [code, { secret }] of Object.entries(refusals)) {
        const as = commandLine({ ...environment, REPRISE_TOKEN: secret })
        for (const words of [
          ['exec', '--no-stdin', sessionId, '--', ...command],
          ['port-forward', sessionId, `0:${port}`],
        ]) {
          const { status, stdout, stderr } = await as(...words)
          expect({ stdout, code: stderr.includes(code), isOk: status === 0 }).toEqual({
            stdout: '',
            code: true,
            isOk: false,
          })
        }
      }
      expect((await reprise('exec', '--no-stdin', sessionId, '--', ...command)).stdout).toBe('swordfish\n')
      const recorded = await eventually(async () => {
        const found = await audited()
        return (
          found.some(({ action, details }) => action === 'session.exec.ended' && details['exitCode'] === 0) && found
        )
      })
      const last = (action: string) => recorded.find((entry) => entry.action === action)
      expect(last('session.exec')).toMatchObject({
        actor: 'admin',
        details: { kernel: 'main1', command: command.join(' ') },
      })
      expect(last('session.connect')).toMatchObject({
        details: { kernel: 'main1', port: expect.any(Number) as number },
      })
    },
  )

  test.skipIf(missing !== null)('a revoked token loses its terminal and its connections', TEST_MS, async () => {
    const { secret, tokenId } = await makeToken(reprise, '--role', 'member', '--project', 'default')
    const theirs = { ...environment, REPRISE_TOKEN: secret }
    const mark = `: ${tokenId}; `
    const terminal = startInTerminal(['exec', sessionId, '--', 'sh', '-c', mark + SHELL], theirs, root)
    await terminal.shows(/ready/)
    // Besides the command line itself, and the terminal's shell.
    expect(countRunning(mark)).toBeGreaterThan(2)
    const forward = startCommand(['port-forward', sessionId, `0:${port}`], theirs)
    const [, here] = await eventually(() => /:(\d+) is forwarded/.exec(forward.output.stdout), { withinMs: SLOWLY_MS })
    const socket = connect({ host: '127.0.0.1', port: Number(here) })
    socket.write('first')
    expect(String((await once(socket, 'data'))[0])).toBe('first')
    const broken = once(socket, 'error')
    expect(await reprise('tokens', 'revoke', tokenId)).toMatchObject({ status: 0 })
    await terminal.shows(/UNAUTHENTICATED[^]*status 4[^]* icanon[^]* echo /)
    await terminal.ended()
    expect(await broken).toMatchObject([{ code: 'ECONNRESET' }])
    expect(await forward.ended).toMatchObject({ status: 4 })
    await eventually(() => countRunning(mark) === 0, { withinMs: SLOWLY_MS })
  })

  async function audited() {
    const query =
      'query ($id: UUID!) { auditLog(first: 100, filter: { sessionId: $id }) { edges { node { action actor details } } } }'
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${environment['REPRISE_TOKEN']}` },
      body: JSON.stringify({ query, variables: { id: sessionId } }),
    })
    const { data } = (await response.json()) as {
      data: { auditLog: { edges: { node: { action: string; actor: string; details: string } }[] } }
    }
    return data.auditLog.edges.map(({ node }) => ({
      ...node,
      details: JSON.parse(node.details) as Record<string, unknown>,
    }))
  }

  test.skipIf(missing !== null)('a server that dies cuts a command off, and nothing else', TEST_MS, async () => {
    const stubborn = 'trap "" HUP; echo ready; while :; do sleep 0.1; done'
    const command = startCommand(['exec', '--no-stdin', sessionId, '--', 'sh', '-c', stubborn], environment)
    await eventually(() => command.output.stdout.includes('ready'))
    const forward = startCommand(['port-forward', sessionId, `0:${port}`], environment)
    const [, here] = await eventually(() => /:(\d+) is forwarded/.exec(forward.output.stdout), { withinMs: SLOWLY_MS })
    const socket = connect({ host: '127.0.0.1', port: Number(here) })
    socket.write('first')
    expect(String((await once(socket, 'data'))[0])).toBe('first')
    const broken = once(socket, 'error')
    await server.kill()
    expect(await broken).toMatchObject([{ code: 'ECONNRESET' }])
    expect(await command.ended).toMatchObject({
      status: 69,
      stderr: expect.stringContaining('CONNECTION_LOST') as string,
    })
    forward.child.kill('SIGINT')
    expect((await forward.ended).status).toBe(130)
    await start()
    await eventually(
      async () => (await reprise('exec', '--no-stdin', sessionId, '--', 'echo', 'again')).stdout === 'again\n',
      { withinMs: SLOWLY_MS },
    )
    const last = startCommand(['exec', '--no-stdin', sessionId, '--', 'sh', '-c', stubborn], environment)
    await eventually(() => last.output.stdout.includes('ready'))
    await reprise('cancel', sessionId)
    expect(await last.ended).toMatchObject({
      status: 143,
      stderr: expect.stringContaining('the kernel has ended\n') as string,
    })
    expect(await reprise('exec', '--no-stdin', sessionId, '--', 'true')).toMatchObject({
      stderr: expect.stringContaining('SESSION_NOT_RUNNING') as string,
    })
  })
})
