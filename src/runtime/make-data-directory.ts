import { chmod, mkdir, stat } from 'node:fs/promises'

/**
 * For this user alone. As root, others may pass through it to what is theirs, but not list it: the embedded database
 * runs as another user, and kernels may do so.
 */
export async function makeDataDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const own = process.getuid?.()
  if (own === undefined) return
  const { uid, mode } = await stat(path)
  const wanted = own === 0 ? 0o711 : 0o700
  if (uid === own && (mode & 0o777) !== wanted) await chmod(path, wanted)
}
