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
import type { BlobStore } from '../services/blob/blob-store.ts'
import { hasOldFile, type OldFile } from '../services/blob/migrate-blobs.ts'
import { readStoredFiles, type StoredFiles } from '../store/sql/code.sql.ts'
import { isAlive } from '../store/postgres/run-as.ts'
import { blobDirectory, checkpointDirectory } from './agent-options.ts'
import { EXIT_OK, UNFINISHED, withConfig } from './command.ts'
import { type Config, ConfigurationError } from './config.ts'
import { openBlobs, openDatabaseServer } from './runtime-parts.ts'

/**
 * `reprise backup` and `reprise restore`. A backup is a directory:
 *
 *   data            the data directory, with the embedded database, without PARTS
 *   database.dump   a database of your own, as `pg_dump` writes it
 *   checkpoints …   one directory for each of PARTS, wherever it is on the server
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
const PARTS: readonly [Part, ...Part[]] = [
  { name: 'checkpoints', variable: 'REPRISE_CHECKPOINT_DIR', directory: checkpointDirectory },
  { name: 'blobs', variable: 'REPRISE_BLOB_DIR', directory: blobDirectory },
  {
    name: 'chains',
    variable: 'REPRISE_CHAINS_DIR',
    directory: ({ chainsDir }, dataDir) => chainsDir ?? join(dataDir, 'agent/chains'),
  },
]

/** A file system of its own has it at its root. */
const LOST_FOUND = 'lost+found'
const DATA = 'data'
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
}

/** Copies everything into `directory`, which must be empty or missing. Returns the exit status. */
export function backUp(environment: NodeJS.ProcessEnv, directory: string): Promise<number> {
  return asked(environment, async (config, log) => {
    const [dataDir, to] = [resolve(config.dataDir), resolve(directory)]
    const isEmbedded = config.databaseUrl === undefined
    const parts = PARTS.map((part) => ({ name: part.name, from: resolve(part.directory(config, dataDir)) }))
    for (const from of [dataDir, ...parts.map((part) => part.from)]) {
      if (isInside(to, from)) throw new ConfigurationError([`${to} is in ${from}, which the backup copies`])
    }
    if (!existsSync(isEmbedded ? join(dataDir, 'postgres') : dataDir)) {
      throw new ConfigurationError([`REPRISE_DATA_DIR: ${dataDir} is not the data directory of a server`])
    }
    const stored = await filling([to], async () => {
      const files = isEmbedded ? await readStopped(config, log) : await dump(config, log, to)
      const before = isEmbedded ? await controlOf(dataDir) : null
      const own = parts.filter(({ from }) => isInside(from, dataDir))
      await copyTree(dataDir, join(to, DATA), [...LEFT_OUT, ...own.map(({ from }) => slashed(relative(dataDir, from)))])
      for (const { name, from } of parts) {
        const nested = parts.filter((part) => part.from !== from && isInside(part.from, from))
        const leftOut = nested.map((part) => slashed(relative(from, part.from)))
        if (existsSync(from)) await copyTree(from, join(to, name), leftOut)
      }
      if (config.secretsKeyFile !== undefined) await copyTree(config.secretsKeyFile, join(to, KEY))
      if (isEmbedded && (before === null || (await controlOf(dataDir)) !== before)) {
        throw new Error('a server was started meanwhile: stop it, and take the backup again')
      }
      await verify(files, to, await openStore(config, to))
      await complete(to, isEmbedded ? 'embedded' : 'dump')
      return files
    })
    await rm(join(to, UNFINISHED))
    console.log(
      `backup complete in ${to}: the database, ${stored.code.length} archives of code, and checkpoints${config.blobUrl === undefined ? '' : `; ${config.blobUrl} is not part of it`}`,
    )
    return EXIT_OK
  })
}

async function complete(directory: string, database: Manifest['database']): Promise<void> {
  const manifest: Manifest = { version: 1, reprise: packageJson.version, takenAt: new Date().toISOString(), database }
  await writeToDisk(directory)
  await writeFile(join(directory, `${MANIFEST}.part`), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true })
  await rename(join(directory, `${MANIFEST}.part`), join(directory, MANIFEST))
}

/** Restores a backup into the places of the configuration, which must be empty or missing. Returns the exit status. */
export function restore(environment: NodeJS.ProcessEnv, directory: string): Promise<number> {
  const work = async (config: Config) => {
    const [dataDir, from] = [resolve(config.dataDir), resolve(directory)]
    const { database, takenAt } = await readManifest(from)
    if ((database === 'dump') !== (config.databaseUrl !== undefined)) {
      const what = database === 'dump' ? 'a dump: name an empty database' : 'an embedded database: leave it out'
      throw new ConfigurationError([`REPRISE_DATABASE_URL: the backup has ${what}`])
    }
    const parts = PARTS.map((part) => ({ name: part.name, to: resolve(part.directory(config, dataDir)) }))
    const places = [dataDir, ...parts.map(({ to }) => to)]
    const outside = places.filter(
      (to) => !places.some((other) => other !== to && isInside(to, other)) && to !== dataDir,
    )
    await filling([dataDir, ...outside], async () => {
      await copyTree(join(from, DATA), dataDir)
      for (const { name, to } of parts) if (existsSync(join(from, name))) await copyTree(join(from, name), to)
      await restoreKey(from, config.secretsKeyFile ?? join(dataDir, KEY))
      if (database === 'dump') await load(config, join(from, DUMP))
      for (const place of [...outside, dataDir]) await writeToDisk(place)
    })
    for (const place of [...outside, dataDir]) await rm(join(place, UNFINISHED))
    console.log(`restored the backup of ${takenAt} into ${dataDir}`)
    return EXIT_OK
  }
  return asked(environment, work, { restores: true })
}

/** A person waits for it, who needs no stack of a fault. */
function asked(...[environment, work, options]: Parameters<typeof withConfig>): Promise<number> {
  const report = (error: unknown) => {
    if (error instanceof ConfigurationError) throw error
    console.error(`error: ${messageOf(error)}`)
    return 1
  }
  return withConfig(environment, (...given) => work(...given).catch(report), options)
}

/** Claims the directories, and empties them if the work fails. */
async function filling<T>(directories: string[], work: () => Promise<T>): Promise<T> {
  const claimed: string[] = []
  try {
    for (const directory of directories) {
      await claim(directory)
      claimed.push(directory)
    }
    return await work()
  } catch (error) {
    for (const directory of claimed) await empty(directory)
    throw error
  }
}

/** Removes everything from a directory that this process has claimed, and its mark at the end. */
async function empty(directory: string): Promise<void> {
  const names = await readdir(directory)
  for (const name of names.filter((each) => each !== UNFINISHED && each !== LOST_FOUND)) {
    await rm(join(directory, name), { recursive: true, force: true })
  }
  await rm(join(directory, UNFINISHED))
}

/** Creates the directory or takes an empty one, or one that an earlier call has left unfinished. */
async function claim(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const marker = join(directory, UNFINISHED)
  const names = (await readdir(directory)).filter((name) => name !== LOST_FOUND)
  if (names.length > 0) {
    if (!names.includes(UNFINISHED)) throw new ConfigurationError([`${directory} is not empty`])
    const pid = Number(await readFile(marker, 'utf8'))
    if (pid !== process.pid && isAlive(pid)) throw new ConfigurationError([`process ${pid} writes into ${directory}`])
    await empty(directory)
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
    return readStoredFiles(client)
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

/** Opens the copied blobs, or the bucket, which has backups of its own. */
function openStore(config: Config, to: string): Promise<BlobStore> {
  return openBlobs({ ...config, blobDir: join(to, 'blobs') }, to)
}

/** @throws Error if a file that the database names was not copied */
async function verify({ code, checkpoints }: StoredFiles, to: string, blobs: BlobStore): Promise<void> {
  const old = join(to, PARTS[0].name)
  const isThere = async (file: OldFile) =>
    hasOldFile(old, file) || (await blobs.has(file.projectId, [file.sha256])).size === 1
  for (const key of code) {
    if (!(await isThere(key))) throw new Error(`the code ${key.sha256} is missing: ${REMOVED}`)
  }
  for (const copy of checkpoints) {
    if (!(await isThere(copy))) throw new Error(`the checkpoint of chain ${copy.chainId} is missing: ${REMOVED}`)
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

/** A key that is there is kept: servers of other databases may use it. */
async function restoreKey(from: string, to: string): Promise<void> {
  const key = [join(from, KEY), join(from, DATA, KEY)].find((path) => existsSync(path))
  if (key === undefined || existsSync(to)) return
  await copyTree(key, `${to}.part`)
  await rename(`${to}.part`, to)
}

/** Changes whenever a server has been started; null if there is none, or while one runs. */
async function controlOf(dataDir: string): Promise<string | null> {
  if (existsSync(join(dataDir, 'postgres/data/postmaster.pid'))) return null
  const found = await stat(join(dataDir, CONTROL_FILE), { bigint: true }).catch(() => null)
  return found && `${found.ino} ${found.mtimeNs}`
}

async function writeToDisk(directory: string): Promise<void> {
  // Systems without the program write it to the disk within half a minute.
  await run(systemProgram('sync'), ['-f', directory]).catch(() => undefined)
}

function isInside(path: string, directory: string): boolean {
  const way = relative(directory, resolve(path))
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}

function slashed(path: string): string {
  return path.replaceAll('\\', '/')
}
