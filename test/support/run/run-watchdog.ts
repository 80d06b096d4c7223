import { once } from 'node:events'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openCluster } from '../../../src/store/postgres/cluster.ts'
import { stopServer } from '../../../src/store/postgres/postmaster.ts'
import { endLeftovers } from './end-leftovers.ts'
import { unmountBelow } from './mounts.ts'
import { endServices } from './run-service.ts'

/**
 * `run-watchdog.ts <directory>`: when standard input ends, and with it the test run, stops what runs in there and
 * removes it all.
 */

const directory = process.argv[2]!
const cluster = join(directory, 'postgres')

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.stdin.resume()
await once(process.stdin, 'close')
try {
  await endServices(directory)
  // The run's own PostgreSQL is not a leftover.
  if (await stat(cluster).catch(() => null)) await stopServer(await openCluster(cluster))
  for (const leftover of await endLeftovers(directory)) console.error(`left running by a test, ended now: ${leftover}`)
} finally {
  await unmountBelow(directory)
  await rm(directory, { recursive: true, force: true, maxRetries: 10 })
}
