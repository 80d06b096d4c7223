import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, chown, mkdir, readdir, readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { connectionString, openCluster, serverConnectionString } from '../../src/store/postgres/cluster.ts'
import { EMBEDDED_DATABASE } from '../../src/store/postgres/embedded.ts'
import { addressOf, readPidFile } from '../../src/store/postgres/postmaster.ts'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { findPostgres } from '../support/distribution.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { commandLine, MAIN } from '../support/programs/command-line.ts'
import { spawnProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** The rights of a server in its embedded database and on the machine. */

let dataDir: string

beforeEach(async () => {
  dataDir = join(await temporaryDirectory('user'), 'data')
})

async function rows(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

const postmaster = async () => (await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')

async function urls() {
  const cluster = await openCluster(join(dataDir, 'postgres'))
  const address = addressOf((await readPidFile(cluster))!)
  return {
    superuser: connectionString(cluster, address, EMBEDDED_DATABASE),
    server: serverConnectionString(cluster, address, EMBEDDED_DATABASE),
  }
}

/** The server runs sessions with what its role may do. */
async function work(url: string): Promise<void> {
  await using client = createClient({ url, token: await readAdminToken(dataDir) })
  const { session } = await client.createSession({
    name: 'works',
    command: ['sh', '-c', 'test "$REPRISE_ATTEMPT" = 2'],
    retryPolicy: { maxRetries: 1, retryDelay: 0.1 },
  })
  expect(await client.waitForChain(session.sessionId)).toMatchObject({ outcome: 'SUCCEEDED' })
}

describe.each(['a new data directory', 'one of an earlier version'])('in %s', (which) => {
  test('a running server is no superuser, and may not run programs', async () => {
    if (which.includes('earlier')) {
      await mkdir(dataDir)
      await copyPreparedCluster(join(dataDir, 'postgres'))
    }
    const server = await startServer({ dataDir, port: 0, onLog: () => {} })
    await work(server.url)
    const { superuser, server: own } = await urls()
    const users = await rows(
      superuser,
      `SELECT DISTINCT usename AS name, rolsuper AS super FROM pg_stat_activity JOIN pg_roles ON rolname = usename
       WHERE application_name IN ('reprise', 'reprise-read', 'reprise-listen')`,
    )
    expect(users).toEqual([{ name: 'reprise_server', super: false }])
    const denied = [
      `CREATE TEMPORARY TABLE found (line text); COPY found FROM PROGRAM 'id'`,
      `SELECT pg_read_file('postgresql.conf')`,
      'CREATE ROLE another SUPERUSER LOGIN',
      'ALTER ROLE reprise_server SUPERUSER',
      'SET ROLE reprise',
      'DROP TABLE sessions CASCADE',
      'CREATE FUNCTION outbox_position(xid8) RETURNS xid8 LANGUAGE sql AS $$ SELECT $1 $$',
    ]
    for (const sql of denied) {
      await expect(rows(own, sql), sql).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|42723)$/) })
    }
    expect(await server.stop()).toBe(0)
    // All that is there the second time.
    const again = await startServer({ dataDir, port: 0, onLog: () => {} })
    await work(again.url)
    expect(await again.stop()).toBe(0)
  })
})

describe.runIf(process.getuid?.() === 0)('as root', () => {
  test('the database runs as a user of its own, never as postgres, and one that did is taken over', async () => {
    const first = await startServer({ dataDir, port: 0, onLog: () => {} })
    const uid = (await stat(`/proc/${(await postmaster())[0]}`)).uid
    expect([0, idOf('postgres')]).not.toContain(uid)
    expect(await first.stop()).toBe(0)
    if (idOf('postgres') === null) return
    // As earlier versions left it.
    await promisify(execFile)('chown', ['-R', 'postgres:postgres', join(dataDir, 'postgres')])
    const second = await startServer({ dataDir, port: 0, onLog: () => {} })
    await work(second.url)
    expect((await stat(`/proc/${(await postmaster())[0]}`)).uid).toBe(uid)
    expect((await stat(join(dataDir, 'postgres/data'))).uid).toBe(uid)
    // A server that was killed leaves it running.
    await second.kill()
    await promisify(execFile)('chown', ['-R', 'postgres:postgres', join(dataDir, 'postgres')])
    const third = await startServer({ dataDir, port: 0, onLog: () => {} })
    await work(third.url)
    expect((await stat(`/proc/${(await postmaster())[0]}`)).uid).toBe(uid)
    expect(await third.stop()).toBe(0)
  })
})

test('others may not look into the data directory, also one that was open', async () => {
  const closed = process.getuid?.() === 0 ? 0o711 : 0o700
  const first = await startServer({ dataDir, port: 0, onLog: () => {} })
  expect((await stat(dataDir)).mode & 0o777).toBe(closed)
  expect(await first.stop()).toBe(0)
  await chmod(dataDir, 0o755)
  const second = await startServer({ dataDir, port: 0, onLog: () => {} })
  expect((await stat(dataDir)).mode & 0o777).toBe(closed)
  for (const name of ['postgres', 'agent']) expect((await stat(join(dataDir, name))).mode & 0o044, name).toBe(0)
  expect(await second.stop()).toBe(0)
})

/** Run by a kernel: which ports of this machine PostgreSQL answers at, and what the socket's directory says. */
const ATTACK = `
const { readFileSync, readdirSync } = require('node:fs')
const { connect } = require('node:net')
const [directory, socket] = process.argv.slice(1)
const lines = ['tcp', 'tcp6'].flatMap((each) => readFileSync('/proc/net/' + each, 'latin1').trim().split('\\n').slice(1))
const listening = lines.map((line) => line.trim().split(/ +/)).filter((words) => words[3] === '0A')
const ports = [...new Set(listening.map((words) => parseInt(words[1].split(':')[1], 16)))]
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const ask = (target, known) => new Promise((resolve) => {
  const peer = connect(target, () => peer.write(SSL_REQUEST))
  peer.setTimeout(20000, () => peer.destroy())
  peer.once('data', (answer) => { if ('SN'.includes(answer.toString('latin1'))) resolve(known); peer.destroy() })
  peer.once('error', (error) => resolve(error.code)).once('close', () => resolve(null))
})
const codeOf = (work) => { try { work(); return null } catch (error) { return error.code } }
const all = ports.flatMap((port) => ['127.0.0.1', '::1'].map((host) => ask({ host, port }, port)))
Promise.all([ask(socket, 'connected'), ...all]).then(([found, ...answers]) => {
  const postgres = [...new Set(answers.filter((answer) => typeof answer === 'number'))]
  console.log(JSON.stringify({ ports: postgres, directory: codeOf(() => readdirSync(directory)), socket: found }))
})`

/** At which ports of the network a process listens. */
async function portsOf(pid: string): Promise<number[]> {
  const files = await readdir(`/proc/${pid}/fd`)
  const links = await Promise.all(files.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  const inodes = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []))
  const tables = await Promise.all(['tcp', 'tcp6'].map((each) => readFile(`/proc/net/${each}`, 'latin1')))
  const lines = tables.flatMap((table) => table.trim().split('\n').slice(1)).map((line) => line.trim().split(/ +/))
  return lines.flatMap(([, local, , , , , , , , inode]) =>
    inodes.has(inode!) ? [Number.parseInt(local!.split(':')[1]!, 16)] : [],
  )
}

const NOBODY = { uid: 65_534, gid: 65_534 }
/** Not where node or this project lies in a directory that is root's alone. */
const NOBODY_CAN_RUN =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, ['-e', 'fs.accessSync(process.argv[1])', MAIN], NOBODY).status === 0

describe.runIf(NOBODY_CAN_RUN)('of a kernel on the machine of the server', () => {
  test('loopback has no port of the database, and another user cannot enter the directory of its socket', async () => {
    await mkdir(dataDir)
    await copyPreparedCluster(join(dataDir, 'postgres'))
    const server = await startServer({ dataDir, port: 0, onLog: () => {}, env: { REPRISE_ROLES: 'api,scheduler' } })
    await using client = createClient({ url: server.url, token: await readAdminToken(dataDir) })
    const agentDir = await temporaryDirectory('user-agent')
    await chown(agentDir, NOBODY.uid, NOBODY.gid)
    const agent = await spawnProgram({
      through: ['setpriv', `--reuid=${NOBODY.uid}`, `--regid=${NOBODY.gid}`, '--clear-groups'],
      args: [MAIN, 'agent'],
      environment: {
        REPRISE_SERVER_URL: server.url,
        REPRISE_TOKEN: (await client.createToken({ name: 'agent', role: 'AGENT' })).secret,
        REPRISE_DATA_DIR: agentDir,
        REPRISE_ISOLATION: 'none',
        HOME: agentDir,
      },
      ready: /^reprise agent ready (\S+)/,
    })
    const [pid, , , port, directory] = await postmaster()
    const socket = join(directory!, `.s.PGSQL.${port}`)
    const { session } = await client.createSession({
      name: 'attack',
      command: [process.execPath, '-e', ATTACK, directory!, socket],
    })
    expect(await client.waitForChain(session.sessionId)).toMatchObject({ outcome: 'SUCCEEDED' })
    let printed = ''
    for await (const { text } of client.sessionLogs(session.sessionId)) printed += text
    const found = JSON.parse(printed) as { ports: number[] }
    expect(found).toMatchObject({ directory: 'EACCES', socket: 'EACCES' })
    // The attack finds what there is: the PostgreSQL of this run listens on the network, for proxies of other tests.
    expect(found.ports).toContain(Number(new URL(inject('postgres')).port))
    expect(await portsOf(pid!)).toEqual([])
    await agent.stop()
    expect(await server.stop()).toBe(0)
  })
})

test('other roles can neither take the connections that a server needs, nor hear what servers tell each other', async () => {
  await mkdir(dataDir)
  await copyPreparedCluster(join(dataDir, 'postgres'))
  const server = await startServer({ dataDir, port: 0, onLog: () => {} })
  const { superuser, server: own } = await urls()
  await rows(superuser, `CREATE ROLE stranger LOGIN PASSWORD 'known'`)
  const url = new URL(superuser)
  url.username = 'stranger'
  url.password = 'known'
  await expect(rows(url.href, 'LISTEN reprise')).rejects.toMatchObject({ code: '42501' })
  await rows(superuser, 'GRANT CONNECT ON DATABASE reprise TO stranger')
  const taken: pg.Client[] = []
  const takeAll = async (): Promise<never> => {
    for (;;) {
      const client = new pg.Client({ connectionString: url.href })
      client.on('error', () => {})
      await client.connect()
      taken.push(client)
    }
  }
  await expect(takeAll()).rejects.toMatchObject({ code: '53300' })
  expect(taken.length).toBeGreaterThan(20)
  await work(server.url)
  expect(await rows(own, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await Promise.all(taken.map((client) => client.end()))
  expect(await server.stop()).toBe(0)
})

const documented = await blocksOfTest('test/e2e/database-user.test.ts')
const [look, setUp] = ['sh', 'sql'].map((language) => documented.find((block) => block.language === language)!.text)
const psql = findPostgres()

test.skipIf(psql === null)('whoever may read its password looks into the embedded database as documented', async () => {
  const server = await startServer({ dataDir, port: 0, onLog: () => {} })
  const { stdout } = await promisify(execFile)('sh', ['-ec', look!.replaceAll('.reprise', dataDir)], {
    env: { PATH: `${psql}:${process.env['PATH']}` },
  })
  expect(stdout).toMatch(/count\W+0/)
  expect(await server.stop()).toBe(0)
})

describe('a database of one’s own', () => {
  const name = `owned_${randomUUID().replaceAll('-', '')}`
  const administer = (sql: string) => rows(inject('postgres'), sql)
  let url: URL
  /** Of all servers that use it, one after the other: its key and its token belong to the database. */
  let home: string

  beforeAll(async () => {
    for (const statement of setUp!.replaceAll('reprise', name).split(';'))
      if (statement.trim()) await administer(statement)
    url = new URL(inject('postgres'))
    url.username = name
    url.password = 'secret'
    url.pathname = name
    home = join(await temporaryDirectory('owner'), 'data')
  })
  afterAll(async () => {
    await administer(`DROP DATABASE ${name} WITH (FORCE)`)
    await administer(`DROP ROLE ${name}`)
  })

  /** Returns what the start logs, and what the doctor and the probe report about the running server. */
  async function warned(
    meanwhile = async () => {},
  ): Promise<{ log: string[]; ready: string[]; doctor: string[]; end: string }> {
    const lines: string[] = []
    const env = { REPRISE_DATABASE_URL: url.href, REPRISE_HOST: '0.0.0.0', REPRISE_ROLES: 'api,scheduler' }
    const server = await startServer({ dataDir: home, port: 0, onLog: (line) => lines.push(line), env })
    await meanwhile()
    const { warnings: ready = [] } = (await (await fetch(`${server.url}/readyz`)).json()) as { warnings?: string[] }
    const reprise = commandLine({ REPRISE_URL: server.url, REPRISE_TOKEN: await readAdminToken(home) })
    const { stdout } = await reprise('doctor', '--json')
    const { findings } = JSON.parse(stdout) as { findings: { what: string; state: string; found: string }[] }
    const end = (await reprise('doctor')).stdout.trimEnd().split('\n').at(-1)!
    expect(await server.stop()).toBe(0)
    // They come by another way than the word that it is ready.
    const log = lines
      .map((line) => JSON.parse(line) as { level: unknown; msg: string; err?: unknown; service?: unknown })
      .filter(isWarning)
    const doctor = findings.filter(({ what }) => what === 'warning of the server').map(({ found }) => found)
    return { log: log.map(({ msg }) => msg), ready, doctor, end }
  }

  const TLS = expect.stringContaining('without TLS') as string
  const OPEN = expect.stringContaining('REVOKE CONNECT ON DATABASE') as string

  test('set up as documented, it gives its server nothing to warn of', async () => {
    const { log, ready, doctor } = await warned()
    expect(log).toEqual([TLS])
    expect([ready, doctor]).toEqual([log, log])
  })

  test.each([
    ['SUPERUSER', 'is a superuser'],
    ['CREATEROLE', 'NOCREATEROLE'],
    ['REPLICATION', 'NOREPLICATION'],
    ['BYPASSRLS', 'NOBYPASSRLS'],
  ])(
    'with %s and CONNECT for PUBLIC: the doctor and the probe warn of what the start does',
    async (attribute, words) => {
      const give = async () => {
        await administer(`ALTER ROLE ${name} ${attribute}`)
        await administer(`GRANT CONNECT ON DATABASE ${name} TO PUBLIC`)
      }
      const given = [TLS, expect.stringContaining(words), OPEN]
      const later = await warned(give)
      expect([later.log, later.ready, later.doctor]).toEqual([[TLS], given, given])
      expect(later.end).toMatch(/, \d warnings$/)
      const next = await warned()
      expect([next.log, next.ready, next.doctor]).toEqual([given, given, given])
      await administer(`ALTER ROLE ${name} NO${attribute}`)
      await administer(`REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`)
    },
  )
})

/** A warning of the start is a sentence alone; with more, a line tells of a fault, as of a database that took too long. */
function isWarning({ level, err, service }: { level: unknown; err?: unknown; service?: unknown }): boolean {
  return (level === 'warn' || level === 40) && err === undefined && service === undefined
}

function idOf(name: string): number | null {
  try {
    return Number(execFileSync('id', ['-u', name], { stdio: ['ignore', 'pipe', 'ignore'] }).toString())
  } catch {
    return null
  }
}
