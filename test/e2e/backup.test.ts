import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import { type Client, createClient, type SessionEvent } from '../../src/client/node/index.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { cleanEnvironment, commandLine, startCommand } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { whyNoPostgres } from '../support/distribution.ts'
import {
  burnTransactions,
  privatePostgres,
  type PrivatePostgres,
  standbyOf,
} from '../support/database/private-postgres.ts'
import { webhookReceiver } from '../support/servers/webhook-receiver.ts'

describe('backup', () => {
  const run = promisify(execFile)
  const BIN = join(import.meta.dirname, '../../bin/reprise.mjs')
  const UNFINISHED = '.reprise-unfinished'

  /** The commands of a server that is stopped, or has a database of its own. */
  function tools(environment: Record<string, string>) {
    const command = (...args: string[]) => startCommand(args, { REPRISE_LOG_FORMAT: 'json', ...environment }).ended
    /** Kills the command at its file number `copies`, or when it renames a file to `named`. */
    const killed = async (args: string[], { copies = Infinity, named = '' }: { copies?: number; named?: string }) => {
      const fault = `import { promises as fs } from 'node:fs'
        import { syncBuiltinESMExports } from 'node:module'
        const [copyFile, rename] = [fs.copyFile, fs.rename]
        const die = () => process.kill(process.pid, 'SIGKILL')
        let left = ${copies}
        fs.copyFile = (...args) => (left-- > 0 ? copyFile(...args) : die())
        fs.rename = (from, to) => (${JSON.stringify(named)} && to.endsWith(${JSON.stringify(named)}) ? die() : rename(from, to))
        syncBuiltinESMExports()`
      const options = `--import="data:text/javascript,${encodeURIComponent(fault.replaceAll('Infinity', '1e9'))}"`
      const { child, ended } = startCommand(args, { ...environment, NODE_OPTIONS: options })
      const { status, stderr } = await ended
      expect({ status, signal: child.signalCode, stderr }).toMatchObject({ status: null, signal: 'SIGKILL' })
    }
    return { command, killed }
  }

  /** A session that has failed once, with uploaded code and a checkpoint, and waits for its retry. */
  async function firstAttempt(url: string, token: string, place: string): Promise<string> {
    const program = 'echo run >> "$REPRISE_CHAIN_DIR/runs"\ntest $(wc -l < "$REPRISE_CHAIN_DIR/runs") = 2\n'
    await mkdir(place, { recursive: true })
    await writeFile(join(place, 'count.sh'), program)
    const options = ['--name', 'kept', '--retries', '1', '--retry-delay', '3000', '--upload', 'count.sh', '--json']
    const environment = { REPRISE_URL: url, REPRISE_TOKEN: token }
    const made = await commandLine(environment, place)('create', ...options, '--', 'sh', 'count.sh')
    expect(made, made.stderr).toMatchObject({ status: 0 })
    await using client = createClient({ url, token })
    const { nodes } = await client.sessionPage({ filter: { name: { equals: 'kept' } }, first: 1 })
    const { sessionId } = nodes[0]!
    await expect
      .poll(async () => (await client.session(sessionId)).retryState.phase, { timeout: 120_000 })
      .toBe('SCHEDULED')
    return sessionId
  }

  async function expectToGoOn(url: string, token: string, sessionId: string): Promise<void> {
    await using client = createClient({ url, token })
    await client.retryNow(sessionId)
    expect(await client.waitForChain(sessionId)).toMatchObject({
      outcome: 'SUCCEEDED',
      attempts: [{ attempt: 1 }, { attempt: 2 }],
    })
  }

  /** Follows docs/operation.md. */
  test('a server goes on from a backup in another place, however often backup and restore were killed', async () => {
    const root = await temporaryDirectory('backup')
    const [dataDir, backup, restored] = ['data', 'backup', 'restored'].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ]
    await mkdir(dataDir)
    await copyPreparedCluster(join(dataDir, 'postgres'))
    const first = await startServer({ dataDir, port: 0, onLog: () => {} })
    const token = await readAdminToken(dataDir)
    const sessionId = await firstAttempt(first.url, token, join(root, 'code'))
    const [from, into] = [tools({ REPRISE_DATA_DIR: dataDir }), tools({ REPRISE_DATA_DIR: restored })]
    expect(await from.command('backup', backup)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('uses the data directory') as string,
    })
    expect(await first.stop()).toBe(0)

    const incomplete = { status: 78, stderr: expect.stringContaining('is not a complete backup') as string }
    for (const at of [{ copies: 0 }, { copies: 200 }, { named: 'backup.json' }]) {
      await from.killed(['backup', backup], at)
      expect(await into.command('restore', backup)).toMatchObject(incomplete)
      expect(existsSync(restored)).toBe(false)
    }
    const [documented] = await blocksOfTest('test/e2e/backup.test.ts')
    const [taking, restoring] = documented!.text
      .replaceAll('npx reprise', `"${process.execPath}" "${BIN}"`)
      .trim()
      .split('\n')
    const inRoot = { cwd: root, env: cleanEnvironment({ REPRISE_DATA_DIR: dataDir }) }
    expect((await run('bash', ['-ec', taking!], inRoot)).stdout).toContain('backup complete')
    expect((await stat(backup)).mode & 0o77).toBe(0)
    expect(await from.command('backup', backup)).toMatchObject({
      status: 78,
      stderr: expect.stringContaining('is not empty') as string,
    })
    await rm(dataDir, { recursive: true })

    for (const copies of [0, 200]) {
      await into.killed(['restore', backup], { copies })
      expect(await into.command('serve')).toMatchObject({
        status: 78,
        stderr: expect.stringContaining('was interrupted, or still runs: run `reprise restore` again') as string,
      })
    }
    expect((await run('bash', ['-ec', restoring!], inRoot)).stdout).toContain('restored the backup')
    expect(existsSync(join(restored, UNFINISHED))).toBe(false)
    expect(await into.command('restore', backup)).toMatchObject({ status: 78 })
    const second = await startServer({ dataDir: restored, port: 0, onLog: () => {} })
    expect(await readAdminToken(restored)).toBe(token)
    await expectToGoOn(second.url, token, sessionId)
    expect(await second.stop()).toBe(0)
  })

  const missing = whyNoPostgres()

  test.skipIf(missing)(
    `a backup of a database of your own is taken while its server runs${missing ? `: ${missing}` : ''}`,
    async () => {
      const root = await temporaryDirectory('own-database')
      const [dataDir, backup, restored] = ['data', 'backup', 'restored'].map((name) => join(root, name)) as [
        string,
        string,
        string,
      ]
      const [from, to] = [await privatePostgres(join(root, 'from')), await privatePostgres(join(root, 'to'))]
      const elsewhere = (name: string) => ({
        REPRISE_CHECKPOINT_DIR: join(root, name, 'checkpoints'),
        REPRISE_SECRETS_KEY_FILE: join(root, name, 'key'),
      })
      await mkdir(join(root, 'a'))
      await mkdir(join(root, 'b'))
      await writeFile(join(root, 'a/key'), randomBytes(32).toString('base64'), { mode: 0o600 })
      const env = { REPRISE_DATABASE_URL: from.url, ...elsewhere('a') }
      const first = await startServer({ dataDir, port: 0, onLog: () => {}, env })
      const token = await readAdminToken(dataDir)
      const sessionId = await firstAttempt(first.url, token, join(root, 'code'))
      const taking = tools({ REPRISE_DATA_DIR: dataDir, ...env })
      await taking.killed(['backup', backup], { copies: 2 })
      const taken = await taking.command('backup', backup)
      expect(taken, taken.stderr).toMatchObject({ status: 0 })
      expect(await first.stop()).toBe(0)

      // A file that the dump names and that is gone makes the backup fail.
      const code = join(root, 'a/checkpoints/blobs')
      await rename(code, `${code}-away`)
      expect(await taking.command('backup', join(root, 'lacking'))).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('is missing') as string,
      })
      expect(existsSync(join(root, 'lacking/backup.json'))).toBe(false)

      const target = { REPRISE_DATABASE_URL: to.url, ...elsewhere('b') }
      const restoring = tools({ REPRISE_DATA_DIR: restored, ...target })
      await restoring.killed(['restore', backup], { copies: 2 })
      const full = tools({ REPRISE_DATA_DIR: join(root, 'other'), ...target, REPRISE_DATABASE_URL: from.url })
      expect(await full.command('restore', backup)).toMatchObject({
        status: 78,
        stderr: expect.stringContaining('the database has tables') as string,
      })
      const back = await restoring.command('restore', backup)
      expect(back, back.stderr).toMatchObject({ status: 0 })
      const second = await startServer({ dataDir: restored, port: 0, onLog: () => {}, env: target })
      await expectToGoOn(second.url, token, sessionId)
      expect(await second.stop()).toBe(0)
      await Promise.all([from.stop('immediate'), to.stop('immediate')])
    },
  )
})

describe('restored database', async () => {
  /** The outbox is ordered by transaction ids, which begin again elsewhere when a database moves. */

  const missing = whyNoPostgres()
  const WITHIN = { timeout: 120_000, interval: 50 }
  const MANY = 5_000

  const clusters: PrivatePostgres[] = []
  const servers: ServerProcess[] = []

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()))
    await Promise.all(clusters.splice(0).map((each) => each.stop('immediate').catch(() => {})))
  })

  const [, documented] = await blocksOfTest('test/e2e/backup.test.ts')

  /** Of a command line. */
  function words(line: string, { dump, url }: { dump: string; url: string }): [string, ...string[]] {
    const [program, ...rest] = line.split(' ')
    return [program!, ...rest.map((word) => word.replace('"$REPRISE_DATABASE_URL"', url).replace('reprise.dump', dump))]
  }

  async function cluster(root: string, name: string): Promise<PrivatePostgres> {
    const made = await privatePostgres(join(root, name))
    clusters.push(made)
    return made
  }

  async function start(dataDir: string, { url }: PrivatePostgres): Promise<ServerProcess> {
    const env = {
      REPRISE_DATABASE_URL: url,
      REPRISE_ROLES: 'api,scheduler',
      REPRISE_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    }
    const server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
    servers.push(server)
    return server
  }

  async function create(client: Client, name: string): Promise<void> {
    await client.createSession({ name, command: ['true'] })
  }

  /** Names of the sessions that were created after the cursor, until `last` has come. */
  async function createdAfter(client: Client, after: string, last: string) {
    const found: SessionEvent[] = []
    const signal = AbortSignal.timeout(60_000)
    for await (const event of client.sessionEvents({ types: ['CREATED'] }, { after, signal })) {
      found.push(event)
      if ((await client.session(event.sessionId)).name === last) break
    }
    const names = await Promise.all(found.map(async ({ sessionId }) => (await client.session(sessionId)).name))
    return { names, cursors: found.map(({ cursor }) => cursor) }
  }

  const names = (receiver: Awaited<ReturnType<typeof webhookReceiver>>) =>
    receiver.bodies().map(({ data }) => data.session_name as string)

  /** A server on `from`, which has sent what happened to a webhook; it stops, and its cursors are kept. */
  async function firstLife(dataDir: string, from: PrivatePostgres, hook: string) {
    await mkdir(dataDir, { recursive: true })
    const server = await start(dataDir, from)
    const token = await readAdminToken(dataDir)
    await using client = createClient({ url: server.url, token })
    const beginning = await client.eventCursor()
    await client.createWebhook({ url: hook, eventTypes: ['session.created'] })
    for (const name of ['one', 'two', 'three']) await create(client, name)
    const { cursors } = await createdAfter(client, beginning, 'three')
    return { token, beginning, cursors, end: await client.eventCursor(), stop: () => server.stop() }
  }

  describe.skipIf(missing)(`a database that has moved${missing ? `: ${missing}` : ''}`, () => {
    test.each(['lower', 'higher', 'lower, and was not noted before'])(
      'a dump restored in a cluster whose transaction ids are %s goes on: cursors, order, webhooks',
      async (ids) => {
        const root = await temporaryDirectory('restored')
        const dataDir = join(root, 'data')
        const hook = await webhookReceiver()
        const [from, to] = [await cluster(root, 'from'), await cluster(root, 'to')]
        await burnTransactions(ids === 'higher' ? to : from, MANY)
        const before = await firstLife(dataDir, from, hook.url)
        await vi.waitFor(() => expect(names(hook).toSorted()).toEqual(['one', 'three', 'two']), WITHIN)
        expect(await before.stop()).toBe(0)
        servers.length = 0
        if (ids.includes('not noted')) await from.query(`DELETE FROM settings WHERE key = 'outbox.home'`)

        const dump = join(from.directory, 'reprise.dump')
        const [take, bring] = documented!.text.trim().split('\n')
        await from.run(...words(take!, { dump, url: from.url }))
        await to.run(...words(bring!, { dump, url: to.url }))
        const server = await start(dataDir, to)
        await using client = createClient({ url: server.url, token: before.token })
        for (const name of ['four', 'five']) await create(client, name)

        const all = await createdAfter(client, before.beginning, 'five')
        expect(all.names).toEqual(['one', 'two', 'three', 'four', 'five'])
        expect(all.cursors.slice(0, 3)).toEqual(before.cursors)
        expect((await createdAfter(client, before.cursors[1]!, 'five')).names).toEqual(['three', 'four', 'five'])
        expect((await createdAfter(client, before.end, 'five')).names).toEqual(['four', 'five'])
        const five = ['five', 'four', 'one', 'three', 'two']
        await vi.waitFor(() => expect(names(hook).toSorted()).toEqual(five), WITHIN)

        // The old database has never come to the cursors of the new one.
        expect(await server.stop()).toBe(0)
        servers.length = 0
        const old = await start(dataDir, from)
        await using other = createClient({ url: old.url, token: before.token })
        const refused = other.sessionEvents({}, { after: all.cursors.at(-1)! }).next()
        await expect(refused).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
        await hook.close()
      },
    )

    test('a running server goes on with a promoted standby where the primary was', async () => {
      const root = await temporaryDirectory('promoted')
      const dataDir = join(root, 'data')
      const hook = await webhookReceiver()
      const primary = await cluster(root, 'primary')
      const before = await firstLife(dataDir, primary, hook.url)
      await vi.waitFor(() => expect(names(hook).toSorted()).toEqual(['one', 'three', 'two']), WITHIN)
      const standby = await standbyOf(primary, join(root, 'standby'), primary.port)
      clusters.push(standby)
      // What the standby never hears of: the ids of these transactions are given out again.
      await burnTransactions(primary, MANY)
      await using client = createClient({ url: servers[0]!.url, token: before.token })
      await create(client, 'lost')
      const { cursors } = await createdAfter(client, before.end, 'lost')
      const following = createdAfter(client, cursors[0]!, 'last')

      await primary.stop('immediate')
      await standby.start()
      // A standby has not come to the cursor either, which is no word about the database that it becomes.
      await vi.waitFor(async () => {
        const response = await fetch(`${servers[0]!.url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${before.token}` },
          body: JSON.stringify({ query: `{ events(first: 1, after: "${cursors[0]}") { totalCount } }` }),
        })
        const answer = await response.json()
        expect(answer).toMatchObject({
          errors: [{ message: 'The database is being promoted.', extensions: { code: 'DATABASE_UNAVAILABLE' } }],
        })
      }, WITHIN)
      await standby.run('pg_ctl', 'promote', '-D', standby.directory, '-w')
      // Once more of what was under way may fail while connections are found to be broken.
      await vi.waitFor(() => client.request('{ sessions(first: 1) { totalCount } }'), WITHIN)
      await vi.waitFor(async () => {
        const [home] = await standby.query<{ value: { era: number } }>(
          `SELECT value FROM settings WHERE key = 'outbox.home'`,
        )
        expect(home!.value.era).toBe(1)
      }, WITHIN)
      for (const name of ['four', 'last']) await create(client, name)
      expect((await following).names).toEqual(['four', 'last'])
      expect((await createdAfter(client, before.beginning, 'last')).names).toEqual([
        'one',
        'two',
        'three',
        'four',
        'last',
      ])
      await vi.waitFor(() => expect(names(hook).slice(-2).toSorted()).toEqual(['four', 'last']), WITHIN)
      await hook.close()
    })
  })
})
