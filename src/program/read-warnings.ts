import { statfs } from 'node:fs/promises'
import { DISK_LOW_BYTES } from '../domain/limits.ts'
import { type Warning, warningsOf } from '../domain/warning.ts'
import type { Queryable } from '../store/database.ts'
import { readWarningFacts } from '../store/sql/server.sql.ts'

/** Returns all present warnings of a server. @param own warnings of its process */
export async function readWarnings(db: Queryable, own: readonly Warning[]): Promise<string[]> {
  return warningsOf(await readWarningFacts(db), own)
}

/** @param directories by a name for people; anyone may read warnings, so the names must not be paths */
export async function diskWarnings(directories: Readonly<Record<string, string>>): Promise<Warning[]> {
  const full: string[] = []
  for (const [name, directory] of Object.entries(directories)) {
    const found = await statfs(directory).catch(() => null)
    if (found !== null && found.bavail * found.bsize < DISK_LOW_BYTES) full.push(name)
  }
  if (full.length === 0) return []
  const text = `the disk of ${full.join(' and ')} is full, and what has to be written there fails: free some space, and all goes on by itself`
  return [{ kind: 'disk', text }]
}
