import type { Owner } from '../../../archive/extract-archive.ts'
import type { Logger } from '../../../observability/log.ts'
import type { ExecutorHooks } from '../executor.ts'
import { placeCode } from '../kernel-directory/place-code.ts'
import type { KernelBook } from './kernel-book.ts'
import type { KernelEntry } from './kernel-entry.ts'

/** What fetches the code that comes along with kernels. */
export interface CodeHost<K extends KernelEntry> {
  readonly book: KernelBook<K>
  /** Of a kernel's uploaded code. */
  readonly codeBytesMax: number
  readonly fetchCode: ExecutorHooks['fetchCode']
  readonly log: Logger
}

/**
 * Puts the code that comes along into the kernel's working directory.
 *
 * @param owner to whom it belongs then; null for the agent's own user
 * @returns false if the kernel is not to be prepared further
 */
export async function pullCode<K extends KernelEntry>(
  { book, codeBytesMax: bytesMax, fetchCode, log }: CodeHost<K>,
  kernel: K,
  owner: Owner | null,
): Promise<boolean> {
  const { id: kernelId, assignment, spec, path } = kernel
  if (spec.codeSha256 == null) return true
  if (fetchCode === undefined) {
    book.fail(kernel, 'executor-failed', 'this agent has no server to fetch the uploaded code from')
    return false
  }
  kernel.phase = 'PULLING'
  book.changed()
  const isWanted = () => kernel.phase === 'PULLING' && !book.closed
  const error = await placeCode({
    path,
    owner,
    sha256: spec.codeSha256,
    bytesMax,
    isWanted,
    fetch: (signal) => fetchCode({ kernelId, assignment }, signal),
    log: log.child({ kernelId }),
  })
  if (!isWanted()) return false
  if (error !== null) book.fail(kernel, error.name, error.message)
  return error === null
}
