import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { NAME_LENGTH_MAX } from '../../domain/limits.ts'
import type { BlobState } from '../../domain/agent/protocol.ts'
import type { Database, Queryable } from '../../store/database.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import { readUnusedBytes, useBlob } from '../../store/sql/blob.sql.ts'
import {
  type CodeKey,
  type CodeRow,
  findProject,
  lockCode,
  readCode,
  readCodeBytes,
  recordCode,
} from '../../store/sql/code.sql.ts'
import { BlobDamagedError } from '../blob/blob-store.ts'
import { receiveParts, releaseBlob, storeStream } from '../blob/transfer-blobs.ts'
import { parseInput } from '../input/parse-input.ts'
import { text } from '../input/input-fields.ts'
import type { ServiceContext } from '../service-context.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { fillProject, projectNotFound } from '../access/tenants.ts'
import { checkArchive, type CodeStore, notReadable, tooLarge } from './code-store.ts'
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
 * Tells a client where it continues with an upload, before it sends parts.
 *
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND
 */
export async function readUploadState(
  context: ServiceContext,
  { blobs }: CodeStore,
  input: CodeInput,
): Promise<BlobState> {
  assertMayChange(context.viewer)
  const { projectId, sha256 } = await codeKeyOf(context, input)
  // Only a part, which notes the use of the blob, can tell that it is complete and stays.
  return { sha256, received: await blobs.received({ projectId, sha256 }), complete: false }
}

/**
 * Called before the body is read.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND
 */
export function assertMayUpload(context: ServiceContext, asked: CodeInput) {
  assertMayChange(context.viewer)
  return codeKeyOf(context, asked)
}

/**
 * Receives a part of an archive. Parts that the server has already are answered with the offset at which it continues.
 *
 * @param input.bytes the size of the whole archive
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, REQUEST_TOO_LARGE, QUOTA_EXCEEDED,
 *   SERVER_DISK_FULL, STORAGE_UNAVAILABLE
 */
export async function receiveCodePart(
  context: ServiceContext,
  store: CodeStore,
  input: CodeInput & { bytes: number; offset: number; part: Uint8Array },
): Promise<BlobState> {
  const { db } = context
  const { bytes, offset, part, ...asked } = input
  const { project, ...key } = await assertMayUpload(context, asked)
  if (bytes > store.bytesMax) throw tooLarge(store.bytesMax)
  if (offset === 0) await assertRoom({ db, project }, store, key, bytes)
  const slice = { sha256: key.sha256, bytes, offset, length: part.length }
  const [state] = await receiveParts({ db, blobs: store.blobs }, key.projectId, [slice], part)
  if (state!.refused !== undefined) throw notReadable(state!.refused)
  return state!
}

/** Bytes that have arrived and are not used yet count, too: an upload is only recorded at its end. */
async function assertRoom(
  { db, project }: { db: Database; project: string },
  { projectBytesMax }: CodeStore,
  key: CodeKey,
  bytes: number,
): Promise<void> {
  const others = (await readCodeBytes(db, key)) + (await readUnusedBytes(db, key))
  if (others + bytes > projectBytesMax) throw full(project, others, projectBytesMax)
}

/**
 * Makes a blob of the project that has arrived available to sessions, once it is read by the rules for archives.
 *
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, CODE_NOT_FOUND (parts are missing),
 *   REQUEST_TOO_LARGE, QUOTA_EXCEEDED
 */
export async function recordUpload(context: ServiceContext, store: CodeStore, input: CodeInput): Promise<UploadedCode> {
  assertMayChange(context.viewer)
  return recordArchive(context, store, await codeKeyOf(context, input))
}

/** Records an archive whose blob is stored. One that is refused does not stay. */
async function recordArchive(
  context: ServiceContext,
  store: CodeStore,
  key: CodeKey & { project: string },
): Promise<UploadedCode> {
  const { db, log } = context
  const opened = await store.blobs.open(key)
  if (opened === null) throw codeNotFound(key.sha256, key.project)
  const { bytes } = opened
  if (bytes > store.bytesMax) throw tooLarge(store.bytesMax)
  const now = await readNow(db)
  try {
    const files = await checkArchive(opened.chunks)
    const uploaded = await db.transaction((tx) => recordIn(tx, context, store, { ...key, bytes, files }))
    const { projectId, sha256 } = key
    if (uploaded.created) log.debug({ projectId, sha256, bytes }, 'code was uploaded')
    return uploaded
  } catch (error) {
    if (error instanceof RepriseError) await releaseBlob({ db, blobs: store.blobs }, key, now)
    throw error
  }
}

async function recordIn(
  tx: Queryable,
  { viewer }: ServiceContext,
  { projectBytesMax }: CodeStore,
  { project, ...archive }: CodeKey & { project: string; bytes: number; files: number },
): Promise<UploadedCode> {
  const { projectId, sha256, bytes, files } = archive
  const others = await lockCode(tx, archive)
  if (others + bytes > projectBytesMax) throw full(project, others, projectBytesMax)
  if ((await useBlob(tx, archive)) === null) throw codeNotFound(sha256, project)
  const created = (await readCode(tx, archive)) === null
  const code = await recordCode(tx, { ...archive, createdBy: viewer.name })
  if (created) {
    const details = { sha256, bytes, files }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'uploadCode', projectId, details })
  }
  return { code, created }
}

/**
 * Receives an archive as one stream, from clients of the previous version.
 *
 * @param bytes the announced size; null if none was announced
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, REQUEST_TOO_LARGE, QUOTA_EXCEEDED,
 *   SERVER_DISK_FULL, STORAGE_UNAVAILABLE
 */
export async function uploadCode(
  context: ServiceContext,
  store: CodeStore,
  input: CodeInput & { bytes: number | null; source: AsyncIterable<Uint8Array> },
): Promise<UploadedCode> {
  const { db, viewer } = context
  assertMayChange(viewer)
  const { bytes, source, ...asked } = input
  const { project, ...key } = await codeKeyOf(context, asked)
  if (bytes !== null && bytes > store.bytesMax) throw tooLarge(store.bytesMax)
  await assertRoom({ db, project }, store, key, bytes ?? 0)
  try {
    await storeStream({ db, blobs: store.blobs }, key, bounded(source, store.bytesMax))
  } catch (error) {
    throw error instanceof BlobDamagedError ? notReadable(error.message) : error
  }
  return recordArchive(context, store, { ...key, project })
}

async function* bounded(source: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array, void> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge(bytesMax)
    yield chunk
  }
}

function full(project: string, bytes: number, bytesMax: number): RepriseError {
  const words = `project ${project} has ${describeBytes(bytes)} of uploaded code, and the limit is ${describeBytes(bytesMax)}`
  return new RepriseError('QUOTA_EXCEEDED', `${words} (REPRISE_UPLOAD_PROJECT_BYTES_MAX)`)
}
