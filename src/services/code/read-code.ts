import { type CodeRow, readCode, readUnusedCode, removeCode } from '../../store/sql/code.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { type CodeInput, codeKeyOf, codeNotFound } from './upload-code.ts'
import { type CodeStore, hasCode } from './code-store.ts'
import type { Database } from '../../store/database.ts'

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
  if (row === null || !(await hasCode(store, key))) throw codeNotFound(key.sha256, project)
  return row
}

/**
 * Removes the records of archives that no session and no schedule names and that have not been used for this many days;
 * returns their number. Their blobs are then removed with all that nothing uses.
 */
export async function removeUnusedCode(
  db: Database,
  { keptDays, limit }: { keptDays: number; limit: number },
): Promise<number> {
  const unused = await readUnusedCode(db, keptDays, limit)
  let removed = 0
  for (const key of unused)
    removed += await db.transaction(async (tx) => ((await removeCode(tx, key, keptDays)) ? 1 : 0))
  return removed
}
