import { createHash } from 'node:crypto'
import { ArchiveError } from '../../../archive/archive-entry.ts'
import { extractArchive, type Owner } from '../../../archive/extract-archive.ts'
import { RepriseError } from '../../../domain/errors.ts'
import { RELAY_ENTRIES_MAX } from '../../../domain/limits.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { reconnectPauseMs, wait } from '../../../waiting/wait.ts'
import { removeTree } from '../../remove-tree.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import { draftPath, judgeChain, placeFetched } from './chain-directory.ts'
import type { ChainHost } from './chain-host.ts'
import { describeBytes } from '../../../domain/amounts.ts'

const WANTED_CHECK_MS = 100
const PROGRESS_EVERY_MS = 500

/** Downloads by directory: kernels of one session that are prepared here at the same time share one download. */
const underWay = new Map<string, Promise<unknown>>()

/**
 * Fetches the chain's newest checkpoint, either completely or not at all, if the servers have a copy and this store
 * does not. A server that does not answer is asked again as long as the kernel is wanted. If there is no copy, or it is
 * damaged or does not fit here, the attempt begins without it, and reports why.
 *
 * @param owner the user who then owns it; null for the agent's own user
 * @returns false if the kernel must not be prepared further
 */
export async function pullCheckpoint(host: ChainHost, kernel: KernelEntry, owner: Owner | null): Promise<boolean> {
  const isWanted = () => (kernel.phase === 'PREPARING' || kernel.phase === 'PULLING') && !host.registry.closed
  for (let failures = 1; isWanted(); failures++) {
    const { wanted, path } = judgeChain(host, kernel.spec)
    if (!wanted || host.relay === undefined) return true
    kernel.phase = 'PULLING'
    host.registry.changed()
    const other = underWay.get(path)
    if (other !== undefined) {
      await other.catch(() => {})
      continue
    }
    try {
      const fetching = fetchInto(host, kernel, { owner, isWanted })
      underWay.set(path, fetching)
      await fetching
    } catch (error) {
      if (!isWanted()) return false
      const reason = finalReason(error)
      host.log.warn({ kernelId: kernel.id, error: messageOf(error), failures }, 'a checkpoint could not be fetched')
      if (reason !== null) {
        kernel.fetchFault = reason
        return true
      }
      const until = performance.now() + reconnectPauseMs(failures, Math.random())
      while (isWanted() && performance.now() < until) await wait(WANTED_CHECK_MS)
    } finally {
      underWay.delete(path)
    }
  }
  return isWanted()
}

class DamagedError extends Error {}

/** Returns a reason that would also end the next try; null for errors that may be temporary. */
function finalReason(error: unknown): string | null {
  if (error instanceof ArchiveError) return `it is refused: ${error.message}`
  if (error instanceof DamagedError || (error instanceof RepriseError && error.code === 'CODE_NOT_FOUND'))
    return error.message
  const { code = '', message } = error as NodeJS.ErrnoException
  return LOCAL.includes(code) ? `it could not be written: ${message}` : null
}

/** Errors of this machine's file system. */
const LOCAL = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EEXIST', 'ENOTEMPTY', 'ENAMETOOLONG', 'EIO']

async function fetchInto(
  host: ChainHost,
  kernel: KernelEntry,
  { owner, isWanted }: { owner: Owner | null; isWanted(): boolean },
): Promise<void> {
  const { id: kernelId, assignment, spec } = kernel
  const draft = draftPath(host, spec, 'new')
  const ending = new AbortController()
  const timer = setInterval(() => {
    if (!isWanted()) ending.abort(new Error('the kernel is not wanted any more'))
  }, WANTED_CHECK_MS)
  try {
    await removeTree(draft)
    const request = { kernelId, assignment, purpose: 'CHECKPOINT', sha256: null } as const
    const { attempt, sha256, total, chunks } = await host.relay!.blobs.fetch(request, ending.signal)
    const most = host.limits.chainBytes
    if (most !== null && total > most)
      throw new ArchiveError(
        `it has ${describeBytes(total)}, and this agent allows ${describeBytes(most)} (REPRISE_CHAIN_BYTES_MAX)`,
      )
    const hash = createHash('sha256')
    async function* checked() {
      let [got, told] = [0, 0]
      for await (const chunk of chunks) {
        ending.signal.throwIfAborted()
        if ((got += chunk.length) > total) throw new ArchiveError('it is longer than announced')
        hash.update(chunk)
        if (performance.now() - told > PROGRESS_EVERY_MS) {
          told = performance.now()
          kernel.note = `fetching the checkpoint of attempt ${attempt}: ${inMegabytes(got, total)}`
          host.registry.changed()
        }
        yield chunk
      }
    }
    await extractArchive(checked(), draft, { owner, entriesMax: RELAY_ENTRIES_MAX })
    const found = hash.digest('hex')
    if (found !== sha256) throw new DamagedError(`it is damaged: its SHA-256 is ${found}, and was ${sha256}`)
    if (isWanted()) placeFetched(host, spec, draft)
  } finally {
    clearInterval(timer)
    // The unread part of the answer would keep its connection, or the server's file, open.
    ending.abort(new Error('the rest of it is not needed'))
    await removeTree(draft).catch(() => {})
  }
}

function inMegabytes(got: number, all: number): string {
  return `${Math.floor(got / 1e6)} of ${Math.ceil(all / 1e6)} MB`
}
