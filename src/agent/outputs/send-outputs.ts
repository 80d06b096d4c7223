import pLimit from 'p-limit'
import { OUTPUT_FILES_AT_ONCE_MAX, OUTPUT_HASHES_ASKED_MAX, OUTPUT_PAGE_FILES_MAX } from '../../domain/limits.ts'
import { manifestId, type OutputFile } from '../../domain/session/outputs.ts'
import type { ExecutorHooks } from '../executors/executor.ts'
import { type CollectedFile, type CollectedOutputs, contentOf } from './collect-outputs.ts'

/** The kernel whose outputs are sent. */
export interface OutputsKernel {
  kernelId: string
  assignment: number
}

/** Sends a blob, and waits out failures of servers and proxies. */
export type SendBlob = (
  blob: { sha256: string; bytes: number; open(offset: number): AsyncIterable<Uint8Array> },
  signal: AbortSignal,
) => Promise<void>

interface Sending {
  kernel: OutputsKernel
  report: NonNullable<ExecutorHooks['reportOutputs']>
  /** Returns those of the hashes that the servers have whole. */
  have(sha256s: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>
  send: SendBlob
  signal: AbortSignal
}

/**
 * Sends the contents that the servers do not have, then the list of files, and then the end.
 *
 * @returns false if the servers still lack something, because it was removed meanwhile
 */
export async function sendOutputs(
  { state, files, reasons }: CollectedOutputs,
  { kernel, report, have, send, signal }: Sending,
): Promise<boolean> {
  await sendContents(files, { have, send, signal })
  for (let at = 0; at === 0 || at < files.length; at += OUTPUT_PAGE_FILES_MAX) {
    const page = files.slice(at, at + OUTPUT_PAGE_FILES_MAX).map(listed)
    const { wanted } = await report({ ...kernel, step: 'FILES', first: at === 0, files: page }, signal)
    // The outputs are settled, for example because a server had the end on record already.
    if (!wanted) return true
  }
  const manifest = manifestId()
  for (const file of files) manifest.add(file)
  const id = files.length === 0 ? null : manifest.id()
  const { missing = [] } = await report({ ...kernel, step: 'END', state, manifest: id, reasons }, signal)
  return missing.length === 0
}

async function sendContents(
  files: readonly CollectedFile[],
  { have, send, signal }: Pick<Sending, 'have' | 'send' | 'signal'>,
): Promise<void> {
  const blobs = new Map<string, CollectedFile>()
  for (const file of files) if (file.target === null && file.bytes > 0) blobs.set(file.sha256, file)
  const hashes = [...blobs.keys()]
  const limit = pLimit(OUTPUT_FILES_AT_ONCE_MAX)
  for (let at = 0; at < hashes.length; at += OUTPUT_HASHES_ASKED_MAX) {
    const asked = hashes.slice(at, at + OUTPUT_HASHES_ASKED_MAX)
    const known = await have(asked, signal)
    const lacking = asked.filter((sha256) => !known.has(sha256)).map((sha256) => blobs.get(sha256)!)
    await Promise.all(
      lacking.map((file) =>
        limit(() => {
          signal.throwIfAborted()
          const { sha256, bytes } = file
          return send({ sha256, bytes, open: (offset) => contentOf(file, offset) }, signal)
        }),
      ),
    )
  }
}

function listed({ path, bytes, mode, sha256, target, modifiedAt }: CollectedFile): OutputFile {
  return { path, bytes, mode, sha256, target, modifiedAt }
}
