import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from '../../observability/log.ts'
import { type Address, type Cluster, connectionString, openCluster, serverConnectionString } from './cluster.ts'
import { EmbeddedPostgresError } from './embedded-error.ts'
import { type OwnerLock, takeOwnerLock } from './owner-lock.ts'
import { ensureRunning, runsWith, stopServer } from './postmaster.ts'
import type { Settings } from './binaries.ts'
import { embeddedSettings } from './binaries.ts'

export interface EmbeddedPostgres {
  /** The directory of its files. */
  directory: string
  /** Connects as the superuser. */
  connectionString: string
  /** Connects as the role that `ensureServerRole` creates. */
  serverConnectionString: string
  /** Whether it was already running, left by a server process that was killed. */
  adopted: boolean
  stop(): Promise<void>
}

/** The name of the database in every embedded PostgreSQL. */
export const EMBEDDED_DATABASE = 'reprise'
const TAKE_ATTEMPTS_MAX = 5
const RESTART_PAUSE_MS = 1_000
const INVALID_CATALOG_NAME = '3D000'
/** Errors of a process that creates the database at the same time as another one. */
const ALREADY_THERE = ['42P04', '23505']

/**
 * Starts PostgreSQL under `<dataDir>/postgres`, or adopts the instance already running there, for this process alone.
 */
export async function startEmbeddedPostgres(options: {
  dataDir: string
  log: Logger
  /** The size of each of the server's pools. */
  connectionsMax: number
}): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir)
  const cluster = await openCluster(join(dataDir, 'postgres'))
  const keeper = new Keeper(cluster, dataDir, embeddedSettings(options.connectionsMax), options.log)
  const { address, adopted } = await keeper.take()
  return {
    directory: cluster.directory,
    connectionString: connectionString(cluster, address, EMBEDDED_DATABASE),
    serverConnectionString: serverConnectionString(cluster, address, EMBEDDED_DATABASE),
    adopted,
    stop: () => keeper.stop(),
  }
}

/** Holds the owner lock and, if the database crashes, restarts it at the same address. */
class Keeper {
  readonly #cluster: Cluster
  readonly #dataDir: string
  readonly #settings: Settings
  readonly #log: Logger
  #lock: OwnerLock | undefined
  #stopping = false
  #restoring: Promise<void> | undefined

  constructor(cluster: Cluster, dataDir: string, settings: Settings, log: Logger) {
    this.#cluster = cluster
    this.#dataDir = dataDir
    this.#settings = settings
    this.#log = log
  }

  async take(wanted?: Address): Promise<{ address: Address; adopted: boolean }> {
    for (let attempt = 1; ; attempt++) {
      const server = await ensureRunning(this.#cluster, this.#settings, wanted)
      const { address } = server
      const isCurrent = await runsWith(this.#cluster, this.#settings)
      let isKept = false
      try {
        await ensureDatabase(this.#cluster, address)
        const lock = await takeOwnerLock({
          connectionString: connectionString(this.#cluster, address, EMBEDDED_DATABASE),
          dataDir: this.#dataDir,
          onLost: (error) => isKept && this.#restore(address, error),
        })
        if (isCurrent) {
          isKept = true
          this.#lock = lock
          return server
        }
        // Started by a server with other settings, or by an earlier version, which let it listen on the network.
        await stopServer(this.#cluster)
      } catch (error) {
        // The previous server process may be stopping the database at this moment.
        if (error instanceof EmbeddedPostgresError || attempt === TAKE_ATTEMPTS_MAX) throw error
        await sleep(RESTART_PAUSE_MS)
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#restoring
    await this.#lock?.release()
    await stopServer(this.#cluster)
  }

  #restore(address: Address, error: Error | null): void {
    if (this.#stopping) return
    this.#log.error({ err: error }, 'the embedded PostgreSQL dropped its connections')
    this.#restoring = this.#takeAgain(address)
  }

  async #takeAgain(wanted: Address): Promise<void> {
    while (!this.#stopping) {
      try {
        const { adopted } = await this.take(wanted)
        this.#log.warn({ restarted: !adopted }, 'the embedded PostgreSQL is back')
        return
      } catch (error) {
        this.#log.error({ err: error }, 'the embedded PostgreSQL is not back yet')
        await sleep(RESTART_PAUSE_MS)
      }
    }
  }
}

async function ensureDatabase(cluster: Cluster, address: Address): Promise<void> {
  if (await answers(connectionString(cluster, address, EMBEDDED_DATABASE))) return
  const client = new pg.Client({ connectionString: connectionString(cluster, address, 'postgres') })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(`CREATE DATABASE "${EMBEDDED_DATABASE}"`)
  } catch (error) {
    if (!ALREADY_THERE.includes((error as pg.DatabaseError).code ?? '')) throw error
  } finally {
    await client.end()
  }
}

/** Whether the database exists; any other refusal, such as a wrong password, is thrown. */
async function answers(connection: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: connection })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch (error) {
    if ((error as pg.DatabaseError).code === INVALID_CATALOG_NAME) return false
    throw error
  } finally {
    await client.end().catch(() => null)
  }
}
