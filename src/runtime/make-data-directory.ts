import { chmod, mkdir, stat } from 'node:fs/promises'
import { ConfigurationError } from '../config.ts'

const WRITABLE_BY_ALL = 0o002

/**
 * For this user alone. As root, others may pass through it to what is theirs, but not list it: the embedded database
 * runs as another user, and kernels may do so.
 *
 * @throws ConfigurationError for a directory such as `/tmp`, which is not the server's to close
 */
export async function makeDataDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const own = process.getuid?.()
  if (own === undefined) return
  const { uid, mode } = await stat(path)
  if ((mode & WRITABLE_BY_ALL) !== 0) {
    throw new ConfigurationError([
      `REPRISE_DATA_DIR: everybody may write to ${path}; name a directory of the server's own, such as ${path}/reprise`,
    ])
  }
  const wanted = own === 0 ? 0o711 : 0o700
  if (uid === own && (mode & 0o777) !== wanted) await chmod(path, wanted)
}
