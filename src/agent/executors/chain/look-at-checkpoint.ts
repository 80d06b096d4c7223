import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import type { LeftCheckpoint } from '../../../domain/agent/checkpoint.ts'
import { CHECKPOINT_LOOK_ENTRIES_MAX, CHECKPOINT_LOOK_ENTRIES_MIN, CHECKPOINT_LOOK_MS } from '../../../domain/limits.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import { chainDirectory, generationOf, isEmpty, isFirstKernel } from './chain-directory.ts'
import { openDirectoryBelow, pathOf } from './walk-below.ts'
import { noteTooLarge } from './drop-chains.ts'
import type { ChainHost } from './chain-host.ts'
import { isPublishFile } from './publish-files.ts'

/**
 * Returns what a chain has stored at its end, or null if there is nothing to report. Most chains store nothing, which
 * this notices without counting.
 */
export function leftCheckpoint(host: ChainHost, { spec, found }: KernelEntry): Promise<LeftCheckpoint> | null {
  if (!isFirstKernel(spec)) return null
  const path = chainDirectory(host, spec)
  if (isEmpty(path) && found === null) return null
  return lookAtCheckpoint(path, generationOf(spec)).then((left) => {
    if (left.files === null) noteTooLarge(host, spec)
    return left
  })
}

/**
 * Counts the files that a chain has stored, while no kernel of the chain runs. Above a limit it only reports that there
 * is something. Follows no links. Never rejects.
 */
async function lookAtCheckpoint(path: string, generation: number): Promise<LeftCheckpoint> {
  const seen: Seen = { entries: 0, files: 0, bytes: 0, newestMs: 0, until: performance.now() + CHECKPOINT_LOOK_MS }
  const whole = await walk(path, seen).catch((error: NodeJS.ErrnoException) => error.code === 'ENOENT' && isEmpty(path))
  const newestAt = seen.newestMs === 0 ? null : new Date(seen.newestMs).toISOString()
  if (!whole) return { generation, files: null, bytes: null, newestAt }
  // Directories without files are no checkpoint.
  return { generation, files: seen.files, bytes: seen.bytes, newestAt }
}

interface Seen {
  entries: number
  files: number
  bytes: number
  newestMs: number
  until: number
}

/** @returns whether everything was counted */
async function walk(directory: string, seen: Seen, isTop = true): Promise<boolean> {
  await using open = await openDirectoryBelow(directory, '')
  const here = pathOf(open)
  for await (const entry of await opendir(here)) {
    if (isTop && isPublishFile(entry.name)) continue
    if (++seen.entries > CHECKPOINT_LOOK_ENTRIES_MAX) return false
    if (seen.entries > CHECKPOINT_LOOK_ENTRIES_MIN && performance.now() > seen.until) return false
    const path = join(here, entry.name)
    if (entry.isDirectory()) {
      if (!(await walk(path, seen, false))) return false
      continue
    }
    const { size, mtimeMs } = await lstat(path)
    seen.files += 1
    if (entry.isFile()) seen.bytes += size
    seen.newestMs = Math.max(seen.newestMs, mtimeMs)
  }
  return true
}
