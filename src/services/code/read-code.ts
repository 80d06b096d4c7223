import { type CodeRow, lockCode, readCode, readUnusedCode, removeCode } from '../../store/sql/code.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { type CodeInput, codeKeyOf, codeNotFound } from './upload-code.ts'
import type { CodeStore } from './code-store.ts'
import { CODE_LEFTOVER_AFTER_MS } from '../../domain/limits.ts'
import type { Database } from '../../store/database.ts'
import { validate as isUuid } from 'uuid'

export type { CodeRow }

/**
 * Tells a client before an upload whether its project already has this code. Code whose file is lost counts as missing,
 * so that it can be uploaded again.
 *
 * @throws RepriseError VALIDATION_FAILED, PROJECT_NOT_FOUND, CODE_NOT_FOUND
 */
export async function readUploadedCode(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  store: CodeStore,
  input: CodeInput,
): Promise<CodeRow> {
  const { project, ...key } = await codeKeyOf(context, input)
  const row = await readCode(context.db, key)
  if (row === null || !(await store.has(key))) throw codeNotFound(key.sha256, project)
  return row
}

/**
 * Removes archives that no session and no schedule names and that have not been used for this many days; returns their
 * number. A crash between file and record leaves a record of a missing file: clients get the error that the code is
 * missing, and the next pass removes the record.
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

/** Removes files without a record, left by interrupted uploads and deleted projects. */
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
