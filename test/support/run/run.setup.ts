import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { connectionString, openCluster } from '../../../src/store/postgres/cluster.ts'
import { EMBEDDED_DATABASE } from '../../../src/store/postgres/embedded.ts'
import { ensureRunning } from '../../../src/store/postgres/postmaster.ts'
import { TEMPLATE_DATABASE } from '../database/database.ts'
import { prepareCluster } from '../database/prepared-cluster.ts'
import { KEEP_SEEDS } from '../database/restore-seeds.ts'
import { KEEP_CLOCK } from '../database/test-clock.ts'
import { makeRunDirectory } from './run-directory.ts'
import { TEST_SETTINGS } from '../database/test-settings.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The maintenance database of the run's PostgreSQL. */
    postgres: string
    /** Directory for everything that the run writes; removed when it ends. */
    runDirectory: string
  }
}

/** One PostgreSQL for the whole run, with a migrated template that each test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await makeRunDirectory()
  const stop = watch(directory)
  try {
    const cluster = await openCluster(join(directory, 'postgres'))
    await prepareCluster(cluster, directory)
    const { address } = await ensureRunning(cluster, TEST_SETTINGS)
    const urlOf = (database: string) => connectionString(cluster, address, database)
    const maintenance = urlOf('postgres')
    const client = new pg.Client({ connectionString: maintenance })
    await client.connect()
    await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE} TEMPLATE ${EMBEDDED_DATABASE} STRATEGY FILE_COPY`)
    await keepSeeds(urlOf(TEMPLATE_DATABASE))
    await client.query(`ALTER DATABASE ${TEMPLATE_DATABASE} ALLOW_CONNECTIONS false`)
    await client.end()
    project.provide('postgres', maintenance)
    project.provide('runDirectory', directory)
    return stop
  } catch (error) {
    await stop()
    throw error
  }
}

async function keepSeeds(template: string): Promise<void> {
  const client = new pg.Client({ connectionString: template })
  await client.connect()
  await client.query(KEEP_SEEDS)
  await client.query(KEEP_CLOCK)
  await client.end()
}

/**
 * Starts a process that stops the cluster, ends what tests left running and removes everything as soon as this process
 * ends, however it does.
 */
function watch(directory: string): () => Promise<void> {
  const program = join(import.meta.dirname, 'run-watchdog.ts')
  const watchdog = spawn(process.execPath, [program, directory], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  })
  const gone = once(watchdog, 'exit')
  return async () => {
    watchdog.stdin.end()
    await gone
  }
}
