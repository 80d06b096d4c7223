import { once } from 'node:events'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openCluster } from '../../src/store/postgres/cluster.ts'
import { isPostgres } from '../../src/store/postgres/process-table.ts'
import { readPidFile } from '../../src/store/postgres/postmaster.ts'

/** `postgres-watchdog.ts <directory>`: when standard input ends, stops the cluster in there and removes it all. */

const directory = process.argv[2]!
const clusterDirectory = join(directory, 'postgres')

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.stdin.resume()
await once(process.stdin, 'close')
try {
  if (await stat(clusterDirectory).catch(() => null)) await stop()
} finally {
  await rm(directory, { recursive: true, force: true, maxRetries: 10 })
}

async function stop(): Promise<void> {
  const cluster = await openCluster(clusterDirectory)
  // A run that is killed while the server starts leaves one that only now becomes ready.
  await sleep(50)
  const running = await readPidFile(cluster)
  if (running === null || !(await isPostgres(running.pid))) return
  const args = ['stop', '-D', cluster.dataDirectory, '-m', 'immediate', '-w', '-s']
  await cluster.runAs.run(cluster.binaries.pg_ctl, args, { cwd: cluster.directory })
}
