import { chmod, mkdtemp, statfs } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** Several times what a run uses at most. */
const MEMORY_FREE_MIN = 6 * 2 ** 30

/**
 * A directory for everything that a run writes: databases with hundreds of files each, created and dropped often. In
 * memory if there is enough of it and TMPDIR is not set: that halves the cost of databases, and nothing has to outlive
 * the run.
 */
export async function makeRunDirectory(): Promise<string> {
  const directory = await mkdtemp(join((await hasRoom()) ? MEMORY : tmpdir(), 'reprise-test-'))
  await chmod(directory, 0o755)
  return directory
}

async function hasRoom(): Promise<boolean> {
  if (process.env['TMPDIR'] || process.platform !== 'linux' || freemem() < MEMORY_FREE_MIN) return false
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= MEMORY_FREE_MIN
}
