import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError } from '../../../archive/archive-entry.ts'
import { extractArchive, type Owner } from '../../../archive/extract-archive.ts'
import type { BlobAnswer } from '../../../domain/agent/protocol.ts'
import { RepriseError } from '../../../domain/errors.ts'
import { UPLOAD_ENTRIES_MAX } from '../../../domain/limits.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { reconnectPauseMs, wait } from '../../../waiting/wait.ts'
import { removeTree } from '../../remove-tree.ts'
import type { ExecutorHooks } from '../executor.ts'
import { makeOwn, OUTPUT_DIR } from './kernel-directory.ts'
import type { KernelRegistry } from './kernel-steps.ts'
import type { KernelEntry } from './kernel-entry.ts'
import { describeBytes } from '../../../domain/amounts.ts'

/** Interval at which the download checks whether the kernel is still wanted. */
const WANTED_CHECK_MS = 100

/** The file of the uploaded code that the program reads as its standard input, if it exists. */
export const INPUT_FILE = '.reprise-stdin'

/** Returns the path of that file, relative to the working directory; null if there is none. */
export function inputOf({ spec, path }: Pick<KernelEntry, 'spec' | 'path'>): string | null {
  return spec.codeSha256 != null && existsSync(join(path, 'work', INPUT_FILE)) ? `./${INPUT_FILE}` : null
}

interface CodePlacing {
  /** The kernel's directory, whose `work` is empty. */
  path: string
  /** The owner of `work`; null for the agent's own user. */
  owner: Owner | null
  sha256: string
  bytesMax: number
  /** Returns false once the kernel is stopped or removed, or the executor is closed. */
  isWanted(): boolean
  fetch(signal: AbortSignal): Promise<BlobAnswer>
  log: Logger
}

/**
 * Puts the uploaded code of a kernel into its working directory, either completely or not at all. The code is extracted
 * beside `work`, where no kernel can reach it, and checked against its hash. Then a rename replaces `work`. After a
 * crash, the whole directory is created again. A server that does not answer is asked again as long as the kernel is
 * wanted, so an outage costs no attempt.
 *
 * @returns why the kernel cannot have its code; null if it has the code, or is no longer wanted
 */
async function placeCode(placing: CodePlacing): Promise<FailureError | null> {
  const { path, sha256, log, isWanted } = placing
  const part = join(path, 'code.part')
  for (let failures = 1; isWanted(); failures++) {
    try {
      await removeTree(part)
      await download(placing, part)
      if (!isWanted()) return null
      await makeOutputDirectory(part, placing.owner)
      await rmdir(join(path, 'work', OUTPUT_DIR)).catch(ifMissing)
      await rmdir(join(path, 'work'))
      await rename(part, join(path, 'work'))
      return null
    } catch (error) {
      if (!isWanted()) return null
      const failure = failureOf(error, sha256)
      if (failure !== null) return failure
      log.warn({ error: messageOf(error), failures }, 'the code of a kernel could not be fetched; trying again')
      await waitWhile(isWanted, reconnectPauseMs(failures, Math.random()))
    }
  }
  return null
}

/** The uploaded files may have an entry of this name, which then stays. */
async function makeOutputDirectory(work: string, owner: Owner | null): Promise<void> {
  await makeOwn(join(work, OUTPUT_DIR), owner).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

function ifMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/**
 * Returns a failure if the server refused, or if another try would fail in the same way. Returns null for errors that
 * may be temporary.
 */
function failureOf(error: unknown, sha256: string): FailureError | null {
  if (error instanceof ArchiveError) {
    return { name: 'code-invalid', message: `the uploaded code ${sha256} is refused: ${error.message}` }
  }
  if (error instanceof DamagedError) return { name: 'code-unavailable', message: error.message }
  if (error instanceof RepriseError && error.code === 'CODE_NOT_FOUND') {
    return { name: 'code-unavailable', message: error.message }
  }
  const { code, message } = error as NodeJS.ErrnoException
  if (typeof code !== 'string' || !LOCAL.includes(code)) return null
  return { name: 'executor-failed', message: `the uploaded code could not be written: ${message}` }
}

/** Errors of this machine's file system. */
const LOCAL = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EEXIST', 'ENOTEMPTY', 'ENAMETOOLONG', 'EIO']

class DamagedError extends Error {}

async function download(placing: CodePlacing, part: string): Promise<void> {
  const { sha256, owner, bytesMax, isWanted, fetch } = placing
  const ending = new AbortController()
  const timer = setInterval(() => {
    if (!isWanted()) ending.abort(new Error('the kernel is not wanted any more'))
  }, WANTED_CHECK_MS)
  try {
    const { total: bytes, chunks } = await fetch(ending.signal)
    if (bytes > bytesMax) {
      const limit = `this agent takes ${describeBytes(bytesMax)} (REPRISE_UPLOAD_BYTES_MAX)`
      throw new ArchiveError(`it has ${describeBytes(bytes)}, and ${limit}`)
    }
    const hash = createHash('sha256')
    const received = async function* () {
      let got = 0
      for await (const chunk of chunks) {
        ending.signal.throwIfAborted()
        got += chunk.length
        if (got > bytes) break
        hash.update(chunk)
        yield chunk
      }
      if (got !== bytes) throw new Error(`the server broke off after ${got} of ${bytes} bytes`)
    }
    await extractArchive(received(), part, { owner, entriesMax: UPLOAD_ENTRIES_MAX })
    const found = hash.digest('hex')
    if (found === sha256) return
    throw new DamagedError(`the uploaded code ${sha256} is damaged: its SHA-256 is ${found}`)
  } finally {
    clearInterval(timer)
    // The unread part of the answer would keep its connection open.
    ending.abort(new Error('the rest of it is not needed'))
  }
}

async function waitWhile(isWanted: () => boolean, ms: number): Promise<void> {
  const until = performance.now() + ms
  while (isWanted() && performance.now() < until) await wait(Math.min(WANTED_CHECK_MS, ms))
}

/** The parts of an executor that fetch the code and the inputs of its kernels. */
export interface CodeHost<K extends KernelEntry> {
  readonly registry: KernelRegistry<K>
  /** Largest archive of uploaded code. */
  readonly codeBytesMax: number
  readonly fetchCode: ExecutorHooks['fetchCode']
  readonly listInputs: ExecutorHooks['listInputs']
  readonly blobs: ExecutorHooks['blobs']
  readonly log: Logger
}

/**
 * Puts the uploaded code into the kernel's working directory.
 *
 * @param owner the user who then owns it; null for the agent's own user
 * @returns false if the kernel must not be prepared further
 */
export async function pullCode<K extends KernelEntry>(
  { registry, codeBytesMax: bytesMax, fetchCode, log }: CodeHost<K>,
  kernel: K,
  owner: Owner | null,
): Promise<boolean> {
  const { id: kernelId, assignment, spec, path } = kernel
  if (spec.codeSha256 == null) return true
  if (fetchCode === undefined) {
    registry.fail(kernel, 'executor-failed', 'this agent has no server to fetch the uploaded code from')
    return false
  }
  kernel.phase = 'PULLING'
  registry.changed()
  const isWanted = () => kernel.phase === 'PULLING' && !registry.closed
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
  if (error !== null) registry.fail(kernel, error.name, error.message)
  return error === null
}
