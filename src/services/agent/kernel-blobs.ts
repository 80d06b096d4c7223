import type {
  BlobAnswer,
  BlobPartRequest,
  BlobRequest,
  BlobsRequest,
  BlobState,
  CodeAnswer,
  CodeRequest,
} from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import type { Database } from '../../store/database.ts'
import { type BlobKernel, readBlobKernel } from '../../store/sql/blob.sql.ts'
import { haveBlobs, receiveParts } from '../blob/transfer-blobs.ts'
import { type CodeStore, openCode } from '../code/code-store.ts'
import { openRelayed, type RelayContext } from './relay-checkpoint.ts'

/**
 * What agents may transfer: for a kernel that they have, or had when it ended, and within the project of its session.
 */
export interface KernelBlobContext extends RelayContext {
  db: Database
  code: CodeStore
}

/** @throws RepriseError KERNEL_NOT_FOUND */
export async function haveKernelBlobs(
  { db, relay: { blobs } }: RelayContext,
  request: BlobsRequest,
): Promise<{ blobs: BlobState[] }> {
  const { projectId } = await kernelOf(db, request)
  return { blobs: await haveBlobs({ db, blobs }, projectId, request.sha256s) }
}

/** @throws RepriseError KERNEL_NOT_FOUND, FORBIDDEN, REQUEST_TOO_LARGE, VALIDATION_FAILED, SERVER_DISK_FULL */
export async function receiveKernelParts(
  { db, relay }: RelayContext,
  request: BlobPartRequest,
  body: Uint8Array,
): Promise<{ blobs: BlobState[] }> {
  const { projectId } = await kernelOf(db, request)
  const { purpose, slices } = request
  if (purpose === 'CODE') throw new RepriseError('FORBIDDEN', 'agents upload no code')
  if (purpose === 'CHECKPOINT' && slices.some(({ bytes }) => bytes > relay.bytesMax)) {
    const limit = `the limit is ${relay.bytesMax} bytes (REPRISE_CHECKPOINT_RELAY_MAX)`
    throw new RepriseError('REQUEST_TOO_LARGE', `The checkpoint is too large: ${limit}.`)
  }
  return { blobs: await receiveParts({ db, blobs: relay.blobs }, projectId, slices, body) }
}

/** @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND, VALIDATION_FAILED */
export async function openKernelBlob(context: KernelBlobContext, request: BlobRequest): Promise<BlobAnswer> {
  const { sha256, offset: from, purpose } = request
  if (purpose === 'CHECKPOINT') return openRelayed(context, request, { wanted: sha256, from })
  if (purpose === 'CODE') return openCodeOf(context, request, from)
  const { projectId } = await currentKernelOf(context.db, request)
  const opened = sha256 === null ? null : await context.relay.blobs.open({ projectId, sha256 }, { from })
  if (opened === null) throw new RepriseError('CODE_NOT_FOUND', `the project has no file ${sha256}`)
  return { ...opened, sha256: sha256!, total: from + opened.bytes }
}

/**
 * Opens the uploaded code of a kernel that the agent has now.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND
 */
export async function openKernelCode(context: KernelBlobContext, request: CodeRequest): Promise<CodeAnswer> {
  const { bytes, chunks } = await openCodeOf(context, request, 0)
  return { bytes, chunks }
}

async function openCodeOf({ db, code }: KernelBlobContext, request: CodeRequest, from: number): Promise<BlobAnswer> {
  const { kernelId } = request
  const { projectId, codeSha256: sha256 } = await currentKernelOf(db, request)
  if (sha256 === null) throw new RepriseError('CODE_NOT_FOUND', `kernel ${kernelId} has no uploaded code`)
  const opened = await openCode(db, code, { projectId, sha256 }, from)
  if (opened !== null) return { ...opened, sha256, total: from + opened.bytes }
  const advice = `all servers must share one ${code.blobs.place}`
  throw new RepriseError('CODE_NOT_FOUND', `the uploaded code ${sha256} is gone from this server's store; ${advice}`)
}

async function currentKernelOf(db: Database, request: CodeRequest): Promise<BlobKernel> {
  const kernel = await kernelOf(db, request)
  if (!kernel.isCurrent) throw notAssigned(request)
  return kernel
}

async function kernelOf(db: Database, request: CodeRequest): Promise<BlobKernel> {
  const found = await readBlobKernel(db, request)
  if (found === undefined) throw notAssigned(request)
  return found
}

function notAssigned({ kernelId }: CodeRequest): RepriseError {
  return new RepriseError('KERNEL_NOT_FOUND', `kernel ${kernelId} is not assigned to this agent`)
}
