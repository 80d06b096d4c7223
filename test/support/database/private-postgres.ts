import { randomBytes } from 'node:crypto'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { chooseRunAs } from '../../../src/store/postgres/run-as.ts'
import { findPostgres } from '../distribution.ts'
import { fixedPort } from '../agents/fixed-port.ts'

/** A PostgreSQL of the distribution, with its tools, which the embedded one does not have. Nobody else knows of it. */
export interface PrivatePostgres {
  directory: string
  port: number
  /** The URL of the database `reprise`. */
  url: string
  start(): Promise<void>
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** Runs one of its programs, as the user that owns it. */
  run(program: string, ...args: string[]): Promise<string>
  query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>
}

const PASSWORD = randomBytes(12).toString('hex')
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  max_connections: '60',
  wal_level: 'replica',
  hot_standby: 'on',
}

/** Makes a cluster, empty but for the database `reprise`, and starts it. */
export async function privatePostgres(directory: string): Promise<PrivatePostgres> {
  const made = await describeCluster(directory, await fixedPort())
  const passwordFile = join(dirname(directory), 'password')
  await writeFile(passwordFile, PASSWORD, { mode: 0o644 })
  const options = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-sync', `--pwfile=${passwordFile}`]
  await made.run('initdb', ...options, '--username=reprise', '-D', directory)
  await made.start()
  const client = new pg.Client({ connectionString: made.url.replace(/reprise$/, 'postgres') })
  await client.connect()
  await client.query('CREATE DATABASE reprise')
  await client.end()
  return made
}

/** A standby that follows `primary`; where `port` is the primary's, it can take its place. */
export async function standbyOf(primary: PrivatePostgres, directory: string, port?: number): Promise<PrivatePostgres> {
  const made = await describeCluster(directory, port ?? (await fixedPort()))
  const source = primary.url.replace(/reprise$/, 'postgres')
  await made.run('pg_basebackup', '-D', directory, '-R', '-X', 'stream', '-c', 'fast', '--no-sync', '-d', source)
  return made
}

async function describeCluster(directory: string, port: number): Promise<PrivatePostgres> {
  const bin = findPostgres()!
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const runAs = await chooseRunAs({ directory: dirname(directory), postgres: join(bin, 'postgres') })
  if (runAs.user) await chown(directory, runAs.user.uid, runAs.user.gid)
  const url = `postgresql://reprise:${PASSWORD}@127.0.0.1:${port}/reprise`
  const run = (program: string, ...args: string[]) => runAs.run(join(bin, program), args, { cwd: '/' })
  const settings = Object.entries({ ...SETTINGS, port: String(port) }).map(([name, value]) => `-c ${name}='${value}'`)
  return {
    directory,
    port,
    url,
    run,
    async start() {
      const log = join(directory, 'server.log')
      await run('pg_ctl', 'start', '-D', directory, '-l', log, '-w', '-s', '-o', settings.join(' '))
    },
    async stop(mode = 'fast') {
      await run('pg_ctl', 'stop', '-D', directory, '-m', mode, '-w', '-s')
    },
    async query<Row extends pg.QueryResultRow>(text: string) {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      try {
        return (await client.query<Row>(text)).rows
      } finally {
        await client.end()
      }
    },
  }
}

/** Gives out this many transaction ids. */
export async function burnTransactions({ url }: PrivatePostgres, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (let done = 0; done < count; done += 500) {
    // Each statement of a multi-statement query with its own COMMIT is a transaction.
    await client.query('BEGIN; SELECT pg_current_xact_id(); COMMIT;'.repeat(500))
  }
  await client.end()
}
