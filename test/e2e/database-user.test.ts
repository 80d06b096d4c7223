import { execFile, execFileSync } from 'node:child_process'
import { chmod, mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { connectionString, openCluster, serverConnectionString } from '../../src/store/postgres/cluster.ts'
import { EMBEDDED_DATABASE } from '../../src/store/postgres/embedded.ts'
import { addressOf, readPidFile } from '../../src/store/postgres/postmaster.ts'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** Who a server is in its embedded database, and on the machine. */

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

function idOf(name: string): number | null {
  try {
    return Number(execFileSync('id', ['-u', name], { stdio: ['ignore', 'pipe', 'ignore'] }).toString())
  } catch {
    return null
  }
}
