import { OUTPUT_HASHES_ASKED_MAX, OUTPUT_PAGE_FILES_MAX } from '../../domain/limits.ts'
import { manifestId, type OutputFile } from '../../domain/session/outputs.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { BlobExchange, ExecutorHooks } from '../executors/executor.ts'
import { type OutgoingBlob, sendBlobs } from '../executors/kernels/send-blob.ts'
import { type CollectedFile, type CollectedOutputs, contentOf } from './collect-outputs.ts'

interface Sending {
  kernel: { kernelId: string; assignment: number }
  report: NonNullable<ExecutorHooks['reportOutputs']>
  blobs: BlobExchange
  /** Called with a reason for people while the transfer waits, and with null when it goes on. */
  onWaiting(reason: string | null): void
  signal: AbortSignal
}

/**
 * Sends the contents that the servers do not have, then the list of files, and then the end.
 *
 * @returns true if the outputs are settled; otherwise the files that could not be read again, each with the reason. The
 *   map is empty if the servers still lack something, because it was removed meanwhile.
 */
export async function sendOutputs(
  { state, files, reasons }: CollectedOutputs,
  sending: Sending,
): Promise<true | ReadonlyMap<string, string>> {
  const { kernel, report, signal } = sending
  const failed = await sendContents(files, sending)
  signal.throwIfAborted()
  if (failed.size > 0) return failed
  return (await listOutputs({ state, files, reasons }, { kernel, report, signal })) || new Map()
}

/**
 * Sends the list of files, and then the end.
 *
 * @param directory where the files stay; missing if their contents were sent
 * @returns false if the servers still lack something
 */
export async function listOutputs(
  { state, files, reasons }: CollectedOutputs,
  { kernel, report, signal, directory }: Pick<Sending, 'kernel' | 'report' | 'signal'> & { directory?: string },
): Promise<boolean> {
  for (let at = 0; at === 0 || at < files.length; at += OUTPUT_PAGE_FILES_MAX) {
    const page = files.slice(at, at + OUTPUT_PAGE_FILES_MAX).map(listed)
    const { wanted } = await report({ ...kernel, step: 'FILES', first: at === 0, files: page }, signal)
    // The outputs are settled, for example because a server had the end on record already.
    if (!wanted) return true
  }
  const manifest = manifestId()
  for (const file of files) manifest.add(file)
  const id = files.length === 0 ? null : manifest.id()
  const place = directory === undefined || files.length === 0 ? {} : { directory }
  const { missing = [] } = await report({ ...kernel, step: 'END', state, manifest: id, reasons, ...place }, signal)
  return missing.length === 0
}

async function sendContents(
  files: readonly CollectedFile[],
  { kernel: { kernelId: id, assignment }, blobs: exchange, onWaiting, signal }: Sending,
): Promise<ReadonlyMap<string, string>> {
  const contents = new Map<string, CollectedFile>()
  for (const file of files) if (file.target === null && file.bytes > 0) contents.set(file.sha256, file)
  const blobs = [...contents.values()].map(blobOf)
  const failed = new Map<string, string>()
  for (let at = 0; at < blobs.length; at += OUTPUT_HASHES_ASKED_MAX) {
    const some = blobs.slice(at, at + OUTPUT_HASHES_ASKED_MAX)
    await sendBlobs(exchange, { id, assignment }, some, {
      purpose: 'OUTPUT',
      isWanted: () => !signal.aborted,
      onWaiting,
      failed: ({ sha256 }, error) => failed.set(contents.get(sha256)!.path, messageOf(error)),
    })
  }
  return failed
}

function blobOf(file: CollectedFile): OutgoingBlob {
  const { sha256, bytes } = file
  return { sha256, bytes, open: (offset) => contentOf(file, offset) }
}

function listed({ path, bytes, mode, sha256, target, modifiedAt }: CollectedFile): OutputFile {
  return { path, bytes, mode, sha256, target, modifiedAt }
}
