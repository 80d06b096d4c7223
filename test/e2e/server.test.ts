import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { findLeftovers, heapFlags, readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { createClient, ForbiddenError } from '../../src/client/node/index.ts'
import { emptyDatabase, testDatabase } from '../support/database/database.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { cleanEnvironment, MAIN } from '../support/programs/command-line.ts'
import { spawnProgram } from '../support/programs/spawned-program.ts'
import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { CTRL_C, PSEUDO_TERMINAL, startInTerminal } from '../support/programs/pseudo-terminal.ts'

describe('server', () => {
  /** The server as a process: what it prints, how it starts and stops, and what it leaves behind. */

  const WITHIN = { timeout: 120_000, interval: 100 }

  let root: string
  let dataDir: string
  let made = 0

  beforeAll(async () => {
    root = await temporaryDirectory('server')
  })

  beforeEach(() => {
    dataDir = join(root, `data-${made++}`)
  })

  async function run(args: string[], environment: Record<string, string>) {
    const env = { ...process.env, REPRISE_LOG_FORMAT: 'json', REPRISE_PORT: '0', ...environment }
    const child = spawn(process.execPath, [...heapFlags(), MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const output: Buffer[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
    const [status] = (await once(child, 'close')) as [number | null]
    return { status, output: Buffer.concat(output).toString() }
  }

  test('starts, stops cleanly, and after a restart goes on with what ran meanwhile', async () => {
    const first = await startServer({ dataDir, port: await fixedPort(), onLog: () => {} })
    const token = await readAdminToken(dataDir)
    expect((await stat(join(dataDir, 'admin-token'))).mode & 0o777).toBe(0o600)
    await using client = createClient({ url: first.url, token })
    const address = join(dataDir, 'server-url')
    expect(await readFile(address, 'utf8')).toBe(`${first.url}\n`)
    const input = {
      name: 'outlives',
      command: ['sh', '-c', 'echo before; sleep 3; echo after'],
      creationId: 'outlives',
    }
    const { created, session } = await client.createSession(input)
    expect(created).toBe(true)
    const { sessionId } = session
    await vi.waitFor(async () => {
      expect((await client.session(sessionId)).status).toBe('RUNNING')
    }, WITHIN)
    expect(await first.stop()).toBe(0)
    await expect(stat(address)).rejects.toThrow('ENOENT')

    const port = Number(new URL(first.url).port)
    const second = await startServer({ dataDir, port, onLog: () => {} })
    expect(await readAdminToken(dataDir)).toBe(token)
    const again = await client.createSession(input)
    expect({ created: again.created, id: again.session.sessionId }).toEqual({ created: false, id: sessionId })
    expect(await client.waitForChain(sessionId)).toMatchObject({ outcome: 'SUCCEEDED', attempts: [{ attempt: 1 }] })
    let log = ''
    for await (const { text } of client.sessionLogs(sessionId)) log += text
    expect(log).toBe('before\nafter\n')

    const other = await run(['serve'], { REPRISE_DATA_DIR: dataDir })
    expect(other.status).toBe(1)
    expect(other.output).toMatch(/already|in use|another/i)

    expect(await second.stop()).toBe(0)
    expect(await findLeftovers(dataDir)).toEqual([])
  })

  test.skipIf(!PSEUDO_TERMINAL)('prints the admin token on a terminal, and nowhere else', async () => {
    const database = await testDatabase()
    const environment = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_PORT: '0', REPRISE_ROLES: 'api' }
    const options = { columns: 80, environment: { ...environment, REPRISE_DATA_DIR: dataDir } }
    const { seen, ended, press } = startInTerminal(['serve'], options)
    await vi.waitFor(() => expect(seen.text).toContain('reprise ready'), WITHIN)
    const token = await readAdminToken(dataDir)
    expect(seen.text).toContain(`admin token, shown once: ${token}`)
    press(CTRL_C)
    expect((await ended).status).toBe(0)

    const lines: string[] = []
    const again = await spawnProgram({
      args: [MAIN, 'serve', '--new-admin-token'],
      environment: { ...environment, REPRISE_DATA_DIR: dataDir },
      ready: /^reprise ready (http:\S+)$/,
    })
    lines.push(...again.log)
    expect(await readAdminToken(dataDir)).not.toBe(token)
    expect(lines.filter((line) => line.startsWith('admin token kept in'))).toHaveLength(1)
    expect(lines.join('\n')).not.toContain('rpr_')
    await again.stop()
    await database.close()
  })

  test('uses the database that it is given, and stops cleanly at Ctrl-C', async () => {
    const database = await emptyDatabase()
    try {
      await mkdir(dataDir)
      const migrated = await run(['migrate'], {
        REPRISE_DATA_DIR: dataDir,
        REPRISE_DATABASE_URL: database.connectionString,
      })
      expect(migrated).toMatchObject({ status: 0, output: expect.stringContaining('applied') })
      const child = spawn(process.execPath, [...heapFlags(), MAIN, 'serve'], {
        env: {
          ...process.env,
          REPRISE_DATA_DIR: dataDir,
          REPRISE_DATABASE_URL: database.connectionString,
          REPRISE_PORT: '0',
          REPRISE_LOG_FORMAT: 'json',
        },
        stdio: 'pipe',
      })
      const [output, log]: [string[], string[]] = [[], []]
      child.stdout.on('data', (chunk: Buffer) => output.push(chunk.toString()))
      child.stderr.on('data', (chunk: Buffer) => log.push(chunk.toString()))
      await vi.waitFor(() => expect(output.join('')).toMatch(/reprise ready http:\/\/127\.0\.0\.1:\d+\n$/), WITHIN)
      await expect(stat(join(dataDir, 'postgres'))).rejects.toThrow('ENOENT')
      // Ctrl-C under `npm start`: the terminal signals the whole group, and npm passes its own signal on.
      child.kill('SIGINT')
      await vi.waitFor(() => expect(log.join('')).toMatch(/SIGINT/), { ...WITHIN, interval: 10 })
      child.kill('SIGINT')
      const [status] = (await once(child, 'close')) as [number | null]
      expect(status).toBe(0)
    } finally {
      await database.drop()
    }
  })

  describe('says what is wrong', () => {
    test('all faults of the configuration at once', async () => {
      const { status, output } = await run(['serve'], {
        REPRISE_PORT: 'http',
        REPRISE_ROLES: 'api,king',
        REPRISE_DATA_DIR: dataDir,
      })
      expect(status).toBe(78)
      expect(output).toContain('REPRISE_PORT')
      expect(output).toContain('REPRISE_ROLES')
    })

    test('a data directory that everybody may write to, which stays as it is', async () => {
      const open = await mkdtemp(join(tmpdir(), 'reprise-open-'))
      await chmod(open, 0o1777)
      const { status, output } = await run(['serve'], { REPRISE_DATA_DIR: open })
      const { mode } = await stat(open)
      await rm(open, { recursive: true })
      expect({ status, output }).toMatchObject({ status: 78, output: expect.stringContaining(open) })
      expect(mode & 0o7777).toBe(0o1777)
    })

    test.skipIf(process.getuid?.() !== 0)('a data directory whose parent another user owns, as root', async () => {
      const theirs = await mkdtemp(join(tmpdir(), 'reprise-theirs-'))
      await chown(theirs, 12_345, 12_345)
      const place = join(theirs, 'data')
      const unsafe = `${theirs}: another user can write this directory of user 12345 and group 12345 with mode 0700`
      const { status, output } = await run(['serve'], { REPRISE_DATA_DIR: place })
      const agent = { REPRISE_DATA_DIR: place, REPRISE_SERVER_URL: 'http://127.0.0.1:2', REPRISE_TOKEN: 'rpr_none' }
      const ofAgent = await run(['agent'], agent)
      await rm(theirs, { recursive: true })
      expect({ status, output }).toMatchObject({ status: 78, output: expect.stringContaining(unsafe) })
      expect(output).toContain('REPRISE_ALLOW_UNSAFE_PATHS=true')
      expect(ofAgent).toMatchObject({ status: 78, output: expect.stringContaining(unsafe) })
    })

    test('a database that cannot be reached', async () => {
      const { status, output } = await run(['serve'], {
        REPRISE_DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
        REPRISE_DATA_DIR: dataDir,
      })
      expect(status).toBe(1)
      expect(output).toContain('ECONNREFUSED')
    })

    test('a port that is taken', async () => {
      const database = await emptyDatabase()
      const taken = createServer().listen(0, '127.0.0.1')
      await once(taken, 'listening')
      const { port } = taken.address() as { port: number }
      const { status, output } = await run(['serve'], {
        REPRISE_PORT: String(port),
        REPRISE_DATA_DIR: dataDir,
        REPRISE_DATABASE_URL: database.connectionString,
        REPRISE_ROLES: 'api',
      })
      taken.close()
      await database.drop()
      expect(status).toBe(1)
      expect(output).toContain(`port ${port}`)
      expect(output).toContain('REPRISE_PORT')
    })
  })

  test('a stranger learns nothing', async () => {
    const database = await testDatabase()
    const env = { REPRISE_DATABASE_URL: database.connectionString }
    const server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
    await using stranger = createClient({ url: server.url, token: 'rps_nothing' })
    await expect(stranger.request('{ sessions { totalCount } }')).rejects.toThrow(ForbiddenError)
    await expect(stranger.retryEvents({}, { after: 'MDow' }).next()).rejects.toThrow(ForbiddenError)
    expect(await server.stop()).toBe(0)
    await database.close()
  })
})

describe('stop signals', () => {
  /**
   * A terminal sends Ctrl-C to all processes of its foreground group, a supervisor sends SIGTERM to all of a group, and
   * npm forwards what it receives: the program gets each signal twice, any time apart.
   */

  const WITHIN = { timeout: 120_000, interval: 20 }
  const FORWARDER = join(import.meta.dirname, '../support/programs/forward-signals.mjs')

  type Signal = 'SIGINT' | 'SIGTERM'

  /** Starts a command under a parent that forwards signals, in a terminal. */
  function startForwarded(args: readonly string[], delayUs: number, environment: Record<string, string>) {
    const words = [FORWARDER, String(delayUs), process.execPath, ...heapFlags(), MAIN, ...args]
    return startInTerminal(words, { columns: 200, environment, main: [] })
  }

  type Started = ReturnType<typeof startForwarded>

  function send(signal: Signal, { press, seen }: Started): void {
    if (signal === 'SIGINT') press(CTRL_C)
    else process.kill(-Number(/group (\d+)/.exec(seen.text)![1]), signal)
  }

  /** The second signal comes from at once to 2 ms later; each of the two runs has its own data. */
  const TRIES: { signal: Signal; delayUs: number; run: number }[] = Array.from({ length: 14 }, (_, n) => ({
    signal: n % 2 === 0 ? 'SIGINT' : 'SIGTERM',
    delayUs: Math.floor(n / 2) ** 2 * 56,
    run: Math.floor(n / 2) % 2,
  }))

  describe.skipIf(!PSEUDO_TERMINAL)('a signal that comes twice', () => {
    test('stops the server as one does, each of 14 times', { timeout: 600_000 }, async () => {
      const root = await temporaryDirectory('signals')
      const runs = [0, 1].map(async (run) => {
        const dataDir = join(root, `data-${run}`)
        await mkdir(dataDir)
        await copyPreparedCluster(join(dataDir, 'postgres'))
        for (const { signal, delayUs } of TRIES.filter((each) => each.run === run)) {
          const started = startForwarded(['serve'], delayUs, { REPRISE_DATA_DIR: dataDir, REPRISE_PORT: '0' })
          await vi.waitFor(() => expect(started.seen.text).toMatch(/reprise ready http/), WITHIN)
          send(signal, started)
          const { status, text } = await started.ended
          const left = await findLeftovers(dataDir)
          expect({ signal, delayUs, status, left, text }).toEqual({ signal, delayUs, status: 0, left: [], text })
        }
      })
      await Promise.all(runs)
    })

    test('stops an agent', async () => {
      const root = await temporaryDirectory('signals')
      const [dataDir, agentDir] = [join(root, 'server'), join(root, 'agent')]
      await mkdir(dataDir)
      await copyPreparedCluster(join(dataDir, 'postgres'))
      const server = await startServer({ dataDir, port: 0, onLog: () => {}, env: { REPRISE_ROLES: 'api' } })
      const token = ['--token-file', join(dataDir, 'admin-token')]
      for (const { signal, delayUs } of TRIES.filter((_, n) => n % 3 === 0)) {
        const args = ['agent', '--server', server.url, ...token, '--data-dir', agentDir]
        const started = startForwarded(args, delayUs, {})
        await vi.waitFor(() => expect(started.seen.text).toMatch(/reprise agent ready/), WITHIN)
        send(signal, started)
        const { status, text } = await started.ended
        const left = await findLeftovers(agentDir)
        expect({ signal, delayUs, status, left, text }).toEqual({ signal, delayUs, status: 0, left: [], text })
      }
      expect(await server.stop()).toBe(0)
    })

    test.each(['SIGINT', 'SIGTERM'] as const)('stops the demo and all that it has started: %s', async (signal) => {
      const started = startForwarded(['demo'], 200, {})
      await vi.waitFor(() => expect(started.seen.text).toMatch(/submitted/), WITHIN)
      send(signal, started)
      const { status, text } = await started.ended
      const dataDir = / data in (\S+)/.exec(text)![1]!
      const left = await findLeftovers(dataDir)
      expect({ status, left, there: existsSync(dataDir), text }).toEqual({ status: 130, left: [], there: false, text })
    })
  })

  test('signals that go on coming do not kill an agent that is about to end', async () => {
    const args = ['agent', '--server', 'http://127.0.0.1:1', '--token', 'none', '--executor', 'noop', '--data-dir']
    for (let run = 0; run < 5; run++) {
      const directory = await temporaryDirectory('signals')
      const env = cleanEnvironment({})
      const agent = spawn(process.execPath, [...heapFlags(), MAIN, ...args, directory], { env, stdio: 'pipe' })
      let log = ''
      agent.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
      await vi.waitFor(() => expect(log).toContain('no answer from the server'), WITHIN)
      const ended = once(agent, 'close')
      // Later ones are meant to kill.
      const until = performance.now() + 1_500
      while (agent.exitCode === null && agent.signalCode === null && performance.now() < until) {
        agent.kill('SIGINT')
        await nextTurn()
      }
      expect({ ended: await ended, log }).toEqual({ ended: [0, null], log })
    }
  })
})
