import { CODE_LEFTOVER_AFTER_MS } from '../../domain/limits.ts'
import type { Database } from '../../store/database.ts'
import { lockCode, readCode, readUnusedCode, removeCode } from '../../store/sql/code/code-archives.sql.ts'
import { validate as isUuid } from 'uuid'
import type { CodeStore } from './code-store.ts'

/**
 * Removes archives that no session and no schedule names and that were last used so many days ago; returns how many. A
 * crash between the file and its record leaves a record of a file that is gone: clients are told that there is none, and
 * the next pass removes it.
 */
export async function removeUnusedCode(
  db: Database,
  store: CodeStore,
  { keptDays, limit }: { keptDays: number; limit: number },
): Promise<number> {
  const unused = await readUnusedCode(db, keptDays, limit)
  let removed = 0
  for (const key of unused) {
    removed += await db.transaction(async (tx) => {
      if (!(await removeCode(tx, key, keptDays))) return 0
      await store.remove(key)
      return 1
    })
  }
  return removed
}

/** Removes files that no record names: what interrupted uploads and deleted projects left. */
export async function removeCodeLeftovers(
  db: Database,
  store: CodeStore,
  ageMs = CODE_LEFTOVER_AFTER_MS,
): Promise<number> {
  let removed = 0
  for (const projectId of await store.projects()) {
    if (!isUuid(projectId)) continue
    for (const { name, sha256 } of await store.filesOlderThan(projectId, ageMs)) {
      removed += await db.transaction(async (tx) => {
        if (sha256 !== null) {
          await lockCode(tx, { projectId, sha256 })
          if ((await readCode(tx, { projectId, sha256 })) !== null) return 0
        }
        await store.removeFile(projectId, name)
        return 1
      })
    }
  }
  return removed
}
