import { chmod, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'

/**
 * A new directory below the run's own. When the run ends, however it does, all processes that have this path in
 * their command line, environment or working directory are ended, and the directory is removed.
 */
export async function temporaryDirectory(name: string): Promise<string> {
  const directory = await mkdtemp(join(inject('runDirectory'), `${name}-`))
  // Other users than root need access to files that are shared with them in here.
  await chmod(directory, 0o755)
  return directory
}
