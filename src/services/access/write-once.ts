import { randomBytes } from 'node:crypto'
import { link, mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * A file that only its owner reads, written completely or not at all. If two servers start at once, one of them writes
 * it; false: the other one did, or it was there.
 */
export async function writeOnce(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`
  await mkdir(dirname(path), { recursive: true })
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}
