import { execFile } from 'node:child_process'
import { chown, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isPostgres } from './process-table.ts'
import { lookUp, ownUser } from './run-as.ts'

const STOP_WITHIN_MS = 60_000
const POLL_MS = 50

/**
 * Earlier versions lent the user `postgres` to the database of a server that runs as root. Its files become those of the
 * user that is lent now, once it does not run. The directory itself comes last: what a crash leaves is begun again.
 */
export async function takeOver(directory: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const owner = await stat(directory).catch(() => null)
  if (owner === null || owner.uid === 0 || owner.uid !== (await lookUp('postgres'))?.uid) return
  const user = await ownUser()
  if (user === null || user.uid === owner.uid) return
  await stopLeftover(directory)
  const paths = (await readdir(directory)).map((name) => join(directory, name))
  const execute = promisify(execFile)
  if (paths.length > 0) await execute('chown', ['-hR', `${user.uid}:${user.gid}`, '--', ...paths])
  await chown(directory, user.uid, user.gid)
}

/** One that a server which was killed has left running. */
async function stopLeftover(directory: string): Promise<void> {
  const text = await readFile(join(directory, 'data/postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  const deadline = performance.now() + STOP_WITHIN_MS
  // SIGINT asks it for a fast shutdown.
  if (await isPostgres(pid)) process.kill(pid, 'SIGINT')
  while (await isPostgres(pid)) {
    if (performance.now() > deadline) throw new Error(`the PostgreSQL in ${directory} (process ${pid}) does not stop`)
    await sleep(POLL_MS)
  }
}
