import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { NAME_LENGTH_MAX } from '../../domain/limits.ts'
import { findProject, type CodeKey } from '../../store/sql/code/code-archives.sql.ts'
import { parseInput } from '../input/parse-input.ts'
import { text } from '../input/text-input.ts'
import type { ServiceContext } from '../service-context.ts'

/** Of an archive. */
export const codeSha256 = z
  .string()
  .toLowerCase()
  .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal')

export interface CodeInput {
  sha256: string
  /** Its name. */
  project: string
}

const schema = z.strictObject({ sha256: codeSha256, project: text(NAME_LENGTH_MAX) })

/** @throws RepriseError VALIDATION_FAILED, PROJECT_NOT_FOUND */
export async function codeKeyOf(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  input: CodeInput,
): Promise<CodeKey> {
  const { sha256, project } = parseInput(schema, input)
  const projectId = await findProject(db, project, viewer.projectId)
  if (projectId === null) throw new RepriseError('PROJECT_NOT_FOUND', `no project ${project}`)
  return { projectId, sha256 }
}

export function codeNotFound(sha256: string, project: string): RepriseError {
  return new RepriseError('CODE_NOT_FOUND', `project ${project} has no uploaded code ${sha256}`)
}
