import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { inject } from 'vitest'
import { connectionString, type Cluster } from '../../../src/store/postgres/cluster.ts'
import { EMBEDDED_DATABASE } from '../../../src/store/postgres/embedded.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { ensureRunning, stopServer } from '../../../src/store/postgres/postmaster.ts'
import { TEST_SETTINGS } from './test-settings.ts'

const NAME = 'prepared'

/** Makes the database in a new cluster, and keeps a copy of both in the run's directory. Nothing runs afterwards. */
export async function prepareCluster(cluster: Cluster, runDirectory: string): Promise<void> {
  const { address } = await ensureRunning(cluster, TEST_SETTINGS)
  const client = new pg.Client({ connectionString: connectionString(cluster, address, 'postgres') })
  await client.connect()
  await client.query(`CREATE DATABASE ${EMBEDDED_DATABASE}`)
  await client.end()
  await migrate(connectionString(cluster, address, EMBEDDED_DATABASE), pino({ enabled: false }))
  await stopServer(cluster)
  await copy(cluster.directory, join(runDirectory, NAME))
}

/**
 * Puts the directory of an embedded PostgreSQL here, with a database that is migrated and otherwise empty: what the
 * first start of a server makes, for a twentieth of the CPU.
 */
export async function copyPreparedCluster(directory: string): Promise<void> {
  await copy(join(inject('runDirectory'), NAME), directory)
}

/** With owners and modes, which Node does not copy. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}
