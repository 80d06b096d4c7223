import { RepriseError } from '../../domain/errors.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { lockCode, readCode, recordCode, type CodeRow } from '../../store/sql/code/code-archives.sql.ts'
import { actorOf } from '../access/actor.ts'
import { assertMayChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { codeKeyOf, type CodeInput } from './code-input.ts'
import { tooLarge, type CodeStore } from './code-store.ts'

export interface UploadedCode {
  code: CodeRow
  /** False if the project had it already. */
  created: boolean
}

/**
 * Receives an archive of files for sessions of a project. The file has its name before the record is there: a crash in
 * between leaves a file that nobody knows, which is removed later.
 *
 * @param bytes as announced; null if they were not
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
  const key = await codeKeyOf(context, asked)
  if (bytes !== null && bytes > store.bytesMax) throw tooLarge(store.bytesMax)
  await using received = await store.receive(source, key)
  const uploaded = await db.transaction(async (tx) => {
    const others = await lockCode(tx, key)
    if (others + received.bytes > store.projectBytesMax) throw full(asked.project, others, store.projectBytesMax)
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
  const words = `project ${project} has ${bytes} bytes of uploaded code, and the limit is ${bytesMax}`
  return new RepriseError('QUOTA_EXCEEDED', `${words} (REPRISE_UPLOAD_PROJECT_BYTES_MAX)`)
}
