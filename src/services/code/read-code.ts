import { readCode, type CodeRow } from '../../store/sql/code/code-archives.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { codeKeyOf, codeNotFound, type CodeInput } from './code-input.ts'
import type { CodeStore } from './code-store.ts'

export type { CodeRow }

/**
 * What a client asks before it uploads: whether sessions of the project find this code. One whose file is lost is not
 * there: it can be uploaded again.
 *
 * @throws RepriseError VALIDATION_FAILED, PROJECT_NOT_FOUND, CODE_NOT_FOUND
 */
export async function readUploadedCode(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  store: CodeStore,
  input: CodeInput,
): Promise<CodeRow> {
  const key = await codeKeyOf(context, input)
  const row = await readCode(context.db, key)
  if (row === null || !(await store.has(key))) throw codeNotFound(key.sha256, input.project)
  return row
}
