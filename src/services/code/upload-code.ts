import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { NAME_LENGTH_MAX } from '../../domain/limits.ts'
import { type CodeKey, type CodeRow, findProject, lockCode, readCode, recordCode } from '../../store/sql/code.sql.ts'
import { parseInput } from '../input/parse-input.ts'
import { text } from '../input/input-fields.ts'
import type { ServiceContext } from '../service-context.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { fillProject, projectNotFound } from '../access/tenants.ts'
import { type CodeStore, tooLarge } from './code-store.ts'
import { describeBytes } from '../../domain/amounts.ts'

/** The SHA-256 of an archive. */
export const codeSha256 = z
  .string()
  .toLowerCase()
  .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal')

export interface CodeInput {
  sha256: string
  /** The project's name. */
  project?: string | undefined
}

const schema = z.strictObject({ sha256: codeSha256, project: text(NAME_LENGTH_MAX).default('default') })

/** @throws RepriseError VALIDATION_FAILED, PROJECT_NOT_FOUND */
export async function codeKeyOf(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  input: CodeInput,
): Promise<CodeKey & { project: string }> {
  const { sha256, project } = parseInput(schema, await fillProject(context, input))
  const projectId = await findProject(context.db, project, context.viewer.projectId)
  if (projectId === null) throw await projectNotFound(context, project)
  return { projectId, sha256, project }
}

export function codeNotFound(sha256: string, project: string): RepriseError {
  return new RepriseError('CODE_NOT_FOUND', `project ${project} has no uploaded code ${sha256}`)
}

export interface UploadedCode {
  code: CodeRow
  /** False if the project already had the archive. */
  created: boolean
}

/**
 * Receives an archive of files for sessions of a project. The file gets its name before the record is written: a crash
 * in between leaves a file without a record, which is removed later.
 *
 * @param bytes the announced size; null if none was announced
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, REQUEST_TOO_LARGE, QUOTA_EXCEEDED
 */
export async function uploadCode(
  context: ServiceContext,
  store: CodeStore,
  input: CodeInput & { bytes: number | null; source: AsyncIterable<Uint8Array> },
): Promise<UploadedCode> {
  const { db, viewer, log } = context
  assertMayChange(viewer)
  const { bytes, source, ...asked } = input
  const { project, ...key } = await codeKeyOf(context, asked)
  if (bytes !== null && bytes > store.bytesMax) throw tooLarge(store.bytesMax)
  await using received = await store.receive(source, key)
  const uploaded = await db.transaction(async (tx) => {
    const others = await lockCode(tx, key)
    if (others + received.bytes > store.projectBytesMax) throw full(project, others, store.projectBytesMax)
    const created = (await readCode(tx, key)) === null
    await received.keep()
    const { bytes: size, files } = received
    const code = await recordCode(tx, { ...key, bytes: size, files, createdBy: viewer.name })
    if (created) {
      const details = { sha256: key.sha256, bytes: size, files }
      await recordAudit(tx, { actor: actorOf(viewer), action: 'uploadCode', projectId: key.projectId, details })
    }
    return { code, created }
  })
  if (uploaded.created) log.debug({ ...key, bytes: received.bytes }, 'code was uploaded')
  return uploaded
}

function full(project: string, bytes: number, bytesMax: number): RepriseError {
  const words = `project ${project} has ${describeBytes(bytes)} of uploaded code, and the limit is ${describeBytes(bytesMax)}`
  return new RepriseError('QUOTA_EXCEEDED', `${words} (REPRISE_UPLOAD_PROJECT_BYTES_MAX)`)
}
