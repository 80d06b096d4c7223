import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import packageJson from '../../package.json' with { type: 'json' }
import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'
import { copyTree } from '../machine/copy-tree.ts'
import { systemPath, systemProgram } from '../machine/system-programs.ts'
import { createCheckpointStore } from '../services/agent/relay-checkpoint.ts'
import { createCodeStore } from '../services/code/code-store.ts'
import { readStoredFiles, type StoredFiles } from '../store/sql/code.sql.ts'
import { isAlive } from '../store/postgres/run-as.ts'
import { checkpointDirectory } from './agent-options.ts'
import { EXIT_OK, UNFINISHED, withConfig } from './command.ts'
import { type Config, ConfigurationError } from './config.ts'
import { openDatabaseServer } from './runtime-parts.ts'

/**
 * `reprise backup` and `reprise restore`. A backup is a directory:
 *
 *   data            the data directory, with the embedded database
 *   database.dump   a database of your own, as `pg_dump` writes it
 *   checkpoints …   a directory of PARTS that is not in the data directory
 *   secrets-key     the key of REPRISE_SECRETS_KEY_FILE
 *   backup.json     written last: without it, the backup is not complete
 *
 * The embedded database is copied while it is stopped. A dump is of one moment; files are copied after it, so a file
 * that it names is missing only if it was removed meanwhile, and then the backup fails. Both directions write only into
 * a directory that was empty, and mark it with UNFINISHED until they are done: after an interruption the same command
 * begins again, and no server starts on it.
 */
interface Part {
  name: string
  variable: string
  directory(config: Config, dataDir: string): string
}

/** All files that sessions need besides the database. Outputs belong here as soon as the server stores them. */
const PARTS: readonly Part[] = [
  { name: 'checkpoints', variable: 'REPRISE_CHECKPOINT_DIR', directory: checkpointDirectory },
  {
    name: 'chains',
    variable: 'REPRISE_CHAINS_DIR',
    directory: ({ chainsDir }, dataDir) => chainsDir ?? join(dataDir, 'agent/chains'),
  },
]

const DUMP = 'database.dump'
const KEY = 'secrets-key'
const MANIFEST = 'backup.json'
/** Belong to a running server. */
const LEFT_OUT = ['server-url', 'postgres/socket', UNFINISHED]
const CONTROL_FILE = 'postgres/data/global/pg_control'
const run = promisify(execFile)

interface Manifest {
  version: 1
  reprise: string
  takenAt: string
  database: 'embedded' | 'dump'
  parts: string[]
}

/** Copies everything into `directory`, which must be empty or missing. Returns the exit status. */
export function backUp(environment: NodeJS.ProcessEnv, directory: string): Promise<number> {
  return withConfig(environment, async (config, log) => {
    const [dataDir, to] = [resolve(config.dataDir), resolve(directory)]
    const parts = PARTS.filter((part) => !isInside(part.directory(config, dataDir), dataDir))
    for (const from of [dataDir, ...parts.map((part) => part.directory(config, dataDir))]) {
      if (isInside(to, from)) throw new ConfigurationError([`${to} is in ${from}, of which the backup is`])
    }
    if (config.databaseUrl === undefined && !existsSync(join(dataDir, 'postgres'))) {
      throw new ConfigurationError([`REPRISE_DATA_DIR: there is no database in ${dataDir}`])
    }
    await claim(to)
    const stored = config.databaseUrl === undefined ? await readStopped(config, log) : await dump(config, log, to)
    const before = await controlOf(dataDir)
    await copyTree(dataDir, join(to, 'data'), LEFT_OUT)
    for (const part of parts) await copyIfThere(part.directory(config, dataDir), join(to, part.name))
    if (config.secretsKeyFile !== undefined) await copyTree(config.secretsKeyFile, join(to, KEY))
    if (config.databaseUrl === undefined && (await controlOf(dataDir)) !== before) {
      throw new Error('a server was started meanwhile: stop it, and take the backup again')
    }
    const copied = (part: Part) =>
      parts.includes(part) ? join(to, part.name) : join(to, 'data', relative(dataDir, part.directory(config, dataDir)))
    await verify(stored, copied(PARTS[0]!))
    const manifest: Manifest = {
      version: 1,
      reprise: packageJson.version,
      takenAt: new Date().toISOString(),
      database: config.databaseUrl === undefined ? 'embedded' : 'dump',
      parts: parts.map(({ name }) => name),
    }
    await writeToDisk(to)
    await writeFile(join(to, `${MANIFEST}.part`), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true })
    await rename(join(to, `${MANIFEST}.part`), join(to, MANIFEST))
    await rm(join(to, UNFINISHED))
    console.log(`backup complete in ${to}: the database, ${stored.code.length} archives of code, checkpoints`)
    return EXIT_OK
  })
}

/** Restores a backup into the places of the configuration, which must be empty or missing. Returns the exit status. */
export function restore(environment: NodeJS.ProcessEnv, directory: string): Promise<number> {
  return withConfig(
    environment,
    async (config) => {
      const [dataDir, from] = [resolve(config.dataDir), resolve(directory)]
      const manifest = await readManifest(from)
      if ((manifest.database === 'dump') !== (config.databaseUrl !== undefined)) {
        const advice = manifest.database === 'dump' ? 'name an empty database to restore into' : 'leave it out'
        throw new ConfigurationError([
          `REPRISE_DATABASE_URL: the backup has a ${manifest.database} database; ${advice}`,
        ])
      }
      const parts = PARTS.filter(({ name }) => manifest.parts.includes(name))
      const targets = parts.map((part) => ({ name: part.name, to: part.directory(config, dataDir) }))
      // Parts may be in the data directory now, which is therefore filled first.
      await claim(dataDir)
      await copyTree(join(from, 'data'), dataDir)
      for (const { name, to } of targets.filter(({ name }) => existsSync(join(from, name)))) {
        const isOutside = !isInside(to, dataDir)
        if (isOutside) await claim(to)
        await copyTree(join(from, name), to)
        if (isOutside) await rm(join(to, UNFINISHED))
      }
      await restoreKey(config, from)
      if (config.databaseUrl !== undefined) await load(config, join(from, DUMP))
      await writeToDisk(dataDir)
      await rm(join(dataDir, UNFINISHED))
      console.log(`restored the backup of ${manifest.takenAt} into ${dataDir}`)
      return EXIT_OK
    },
    { restores: true },
  )
}

/** Creates the directory or takes an empty one, or one that an earlier call has left unfinished. */
async function claim(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const marker = join(directory, UNFINISHED)
  const names = (await readdir(directory)).filter((name) => name !== 'lost+found')
  if (names.length > 0) {
    if (!names.includes(UNFINISHED)) throw new ConfigurationError([`${directory} is not empty`])
    const pid = Number(await readFile(marker, 'utf8'))
    if (pid !== process.pid && isAlive(pid)) throw new ConfigurationError([`process ${pid} writes into ${directory}`])
    const left = names.filter((name) => name !== UNFINISHED)
    for (const name of left) await rm(join(directory, name), { recursive: true, force: true })
    await rm(marker)
  }
  await writeFile(marker, String(process.pid), { flag: 'wx', flush: true })
}

/** Starts the embedded database, which fails while a server runs, and leaves it stopped. */
async function readStopped(config: Config, log: Logger): Promise<StoredFiles> {
  await using resources = new AsyncDisposableStack()
  const { ownerUrl } = await openDatabaseServer(config, resolve(config.dataDir), log, resources)
  return await inSnapshot(ownerUrl, readStoredFiles)
}

/** Dumps the database and reads the names of its files, both of the same moment. */
async function dump(config: Config, log: Logger, to: string): Promise<StoredFiles> {
  await using resources = new AsyncDisposableStack()
  const { ownerUrl } = await openDatabaseServer(config, resolve(config.dataDir), log, resources)
  return await inSnapshot(ownerUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>('SELECT pg_export_snapshot() AS id')
    await postgresProgram('pg_dump', ownerUrl, [
      '--format=custom',
      `--snapshot=${rows[0]!.id}`,
      `--file=${join(to, DUMP)}`,
    ])
    return await readStoredFiles(client)
  })
}

async function inSnapshot<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, application_name: 'reprise-backup' })
  await client.connect()
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Loads the dump in one transaction, so that an interruption leaves the database empty. */
async function load(config: Config, file: string): Promise<void> {
  const url = config.databaseDirectUrl ?? config.databaseUrl!
  const { rows } = await inSnapshot(url, (client) =>
    client.query(`SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') LIMIT 1`),
  )
  if (rows.length > 0)
    throw new ConfigurationError(['REPRISE_DATABASE_URL: the database has tables; name an empty one'])
  await postgresProgram('pg_restore', url, ['--no-owner', '--exit-on-error', '--single-transaction', file])
}

/** The password is not on the command line, which other users can see. */
async function postgresProgram(name: string, url: string, args: readonly string[]): Promise<void> {
  const target = new URL(url)
  const password = decodeURIComponent(target.password)
  target.password = ''
  const env = { PATH: systemPath(), ...(password && { PGPASSWORD: password }) }
  try {
    await run(systemProgram(name), [`--dbname=${target.href}`, ...args], { env })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new ConfigurationError([`${name} is not installed: install PostgreSQL's client programs`])
  }
}

/** @throws Error if a file that the database names was not copied */
async function verify({ code, checkpoints }: StoredFiles, directory: string): Promise<void> {
  const archives = createCodeStore({ directory, bytesMax: 0, projectBytesMax: 0 })
  const copies = createCheckpointStore({ directory, bytesMax: 0 })
  for (const key of code) {
    if (!(await archives.has(key))) throw new Error(`the code ${key.sha256} is missing: ${REMOVED}`)
  }
  for (const { chainId, sha256 } of checkpoints) {
    if (!(await copies.has(chainId, sha256)))
      throw new Error(`the checkpoint of chain ${chainId} is missing: ${REMOVED}`)
  }
}

const REMOVED = 'it was removed meanwhile, or lost before; if another backup reports the same, it is lost'

async function readManifest(from: string): Promise<Manifest> {
  try {
    if (existsSync(join(from, UNFINISHED))) throw new Error('the backup was interrupted')
    return JSON.parse(await readFile(join(from, MANIFEST), 'utf8')) as Manifest
  } catch (error) {
    throw new ConfigurationError([`${from} is not a complete backup: ${messageOf(error)}`])
  }
}

async function restoreKey({ secretsKeyFile }: Config, from: string): Promise<void> {
  if (!existsSync(join(from, KEY))) return
  if (secretsKeyFile === undefined) {
    throw new ConfigurationError(['REPRISE_SECRETS_KEY_FILE: the backup has its file; name the place to restore it to'])
  }
  if (!existsSync(secretsKeyFile)) await copyTree(join(from, KEY), secretsKeyFile)
}

/** Changes whenever a server has been started; null if there is none, or while one runs. */
async function controlOf(dataDir: string): Promise<string | null> {
  if (existsSync(join(dataDir, 'postgres/data/postmaster.pid'))) return null
  const found = await stat(join(dataDir, CONTROL_FILE), { bigint: true }).catch(() => null)
  return found && `${found.ino} ${found.mtimeNs}`
}

async function copyIfThere(from: string, to: string): Promise<void> {
  if (existsSync(from)) await copyTree(from, to)
}

async function writeToDisk(directory: string): Promise<void> {
  // Systems without the program write it to the disk within half a minute.
  await run(systemProgram('sync'), ['-f', directory]).catch(() => undefined)
}

function isInside(path: string, directory: string): boolean {
  const way = relative(directory, resolve(path))
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}
