import { createReadStream, existsSync } from 'node:fs'
import { readdir, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createZstdDecompress } from 'node:zlib'
import { messageOf } from '../../observability/error-message.ts'
import type { Logger } from '../../observability/log.ts'
import { readOldFiles } from '../../store/sql/blob.sql.ts'
import { BlobDamagedError, type BlobKey } from './blob-store.ts'
import { type BlobContext, storeStream } from './transfer-blobs.ts'

/**
 * Moves the files of older versions into the blob store: uploaded code from `code/<project id>/<SHA-256>.tar`, copies
 * of checkpoints from `relay/<chain id>/<SHA-256>.tar.zst`, below REPRISE_CHECKPOINT_DIR. Each is moved when somebody
 * needs it, or by a pass in the background; a file is removed only after its blob is stored, so both can be interrupted
 * at any time, and any number of servers can do it at once.
 */
export interface OldFile extends BlobKey {
  /** Set for a checkpoint. */
  chainId?: string | undefined
}

/**
 * Stores a file of an older version as a blob.
 *
 * @returns false if there is no such file, or it is damaged
 */
export async function adoptOldFile(context: BlobContext, directory: string, file: OldFile): Promise<boolean> {
  const path = pathOf(directory, file)
  if (!existsSync(path)) return false
  const bytes = createReadStream(path)
  const unpacked = file.chainId === undefined ? bytes : bytes.pipe(createZstdDecompress())
  bytes.on('error', (error) => unpacked.destroy(error))
  try {
    await storeStream(context, file, unpacked)
  } catch (error) {
    if (!isDamaged(error)) throw error
    await rm(path, { force: true })
    return false
  } finally {
    bytes.destroy()
    unpacked.destroy()
  }
  await rm(path, { force: true })
  return true
}

export function hasOldFile(directory: string, file: OldFile): boolean {
  return existsSync(pathOf(directory, file))
}

function isDamaged(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return error instanceof BlobDamagedError || code.startsWith('ZSTD_') || code === 'Z_BUF_ERROR'
}

function pathOf(directory: string, { projectId, sha256, chainId }: OldFile): string {
  return chainId === undefined
    ? join(directory, 'code', projectId, `${sha256}.tar`)
    : join(directory, 'relay', chainId, `${sha256}.tar.zst`)
}

/**
 * Moves all files on record, and then removes the old directories: what is left in them has no record.
 *
 * @returns the number of moved files
 */
export async function migrateOldFiles(
  context: BlobContext & { log: Logger },
  directory: string,
  signal: AbortSignal,
): Promise<number> {
  const roots = [join(directory, 'code'), join(directory, 'relay')]
  if (!roots.some((root) => existsSync(root))) return 0
  let moved = 0
  let failed = 0
  for (const file of await readOldFiles(context.db)) {
    if (signal.aborted) return moved
    try {
      if (await adoptOldFile(context, directory, file)) moved++
    } catch (error) {
      failed++
      context.log.warn({ ...file, error: messageOf(error) }, 'a file of an older version could not be moved')
    }
  }
  if (failed === 0) for (const root of roots) await removeOldDirectory(root)
  if (moved > 0) context.log.info({ moved }, `${moved} files of an older version are in the blob store now`)
  return moved
}

/** Age at which a file without a record is removed: a server of the older version may still be writing it. */
const OLD_AFTER_MS = 86_400_000

async function removeOldDirectory(root: string): Promise<void> {
  for (const owner of await readdir(root).catch(() => [])) {
    for (const name of await readdir(join(root, owner)).catch(() => [])) {
      const path = join(root, owner, name)
      const found = await stat(path).catch(() => null)
      if (found !== null && Date.now() - found.mtimeMs >= OLD_AFTER_MS) await rm(path, { force: true })
    }
    await rmdir(join(root, owner)).catch(() => {})
  }
  await rmdir(root).catch(() => {})
}
