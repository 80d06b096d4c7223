import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, chown, lstat, mkdir, open, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import pLimit from 'p-limit'
import type { Owner } from '../../archive/extract-archive.ts'
import type { InputFile } from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { OUTPUT_FILES_AT_ONCE_MAX } from '../../domain/limits.ts'
import { isExecutable, outputPathFault, staysInside } from '../../domain/session/outputs.ts'
import type { FailureError } from '../../domain/session/failure.ts'
import { messageOf } from '../../observability/error-message.ts'
import { guarded, reconnectPauseMs, wait } from '../../waiting/wait.ts'
import { openBelow } from '../executors/chain/walk-below.ts'
import type { CodeHost } from '../executors/kernels/kernel-code.ts'
import type { KernelEntry } from '../executors/kernels/kernel-entry.ts'
import { contentOf } from './collect-outputs.ts'

/** Pause before outputs that have not arrived yet are asked for again. */
const LATER_MS = 1_000
const WANTED_CHECK_MS = 100

/**
 * Puts outputs of other sessions into the kernel's working directory, verified by their hashes, before its program
 * starts. A server that does not answer is asked again as long as the kernel is wanted. After a crash, the whole
 * directory is created again.
 *
 * @param owner the user who then owns them; null for the agent's own user
 * @returns false if the kernel must not be prepared further
 */
export async function pullInputs<K extends KernelEntry>(
  { registry, listInputs, blobs, log }: Pick<CodeHost<K>, 'registry' | 'listInputs' | 'blobs' | 'log'>,
  kernel: K,
  owner: Owner | null,
): Promise<boolean> {
  const { id: kernelId, assignment, spec, path } = kernel
  if (spec.hasInputs !== true) return true
  if (listInputs === undefined || blobs === undefined) {
    registry.fail(kernel, 'executor-failed', 'this agent has no server to fetch its inputs from')
    return false
  }
  kernel.phase = 'PULLING'
  registry.changed()
  const isWanted = () => kernel.phase === 'PULLING' && !registry.closed
  const ending = new AbortController()
  const { signal } = ending
  const look = () => {
    if (!isWanted()) ending.abort(new Error('the kernel is not wanted any more'))
  }
  const timer = setInterval(
    guarded(look, () => {}),
    WANTED_CHECK_MS,
  )
  const limit = pLimit(OUTPUT_FILES_AT_ONCE_MAX)
  const place = { work: join(path, 'work'), owner }
  try {
    for (let [after, failures]: [string | null, number] = [null, 0]; isWanted();) {
      try {
        const { files, next, waiting } = await listInputs({ kernelId, assignment, after }, signal)
        note(waiting ?? null)
        if (waiting !== undefined) {
          await wait(LATER_MS, { signal })
          continue
        }
        const fetch = async ({ sha256, bytes, source }: InputFile) =>
          source === undefined
            ? (await blobs.fetch({ kernelId, assignment, purpose: 'OUTPUT', sha256 }, signal)).chunks
            : openInPlace(source, bytes)
        await Promise.all(files.map((file) => limit(() => placeFile(place, file, fetch))))
        if (next === null) return isWanted()
        after = next
        failures = 0
      } catch (error) {
        if (!isWanted()) return false
        const failure = failureOf(error)
        if (failure !== null) {
          registry.fail(kernel, failure.name, failure.message)
          return false
        }
        log.warn({ kernelId, error: messageOf(error) }, 'inputs of a kernel could not be fetched; trying again')
        await wait(reconnectPauseMs(++failures, Math.random()), { signal })
      }
    }
    return false
  } finally {
    clearInterval(timer)
    ending.abort(new Error('the rest is not needed'))
  }

  function note(text: string | null): void {
    if (kernel.note === text) return
    kernel.note = text
    registry.changed()
  }
}

/** The file cannot be placed, also not by another try. */
class PlacingError extends Error {}

/** An input that stays in place cannot be read from there. */
class InPlaceError extends Error {
  constructor({ node, directory, path }: NonNullable<InputFile['source']>, why: string) {
    super(`the input ${path} stays on ${node}, in ${directory}, and cannot be read from there: ${why}`)
  }
}

/**
 * Opens a file that stays in place, on a disk that this agent shares with the one that left it. A program with access
 * may have replaced it: no link is followed, no device is read, and the caller compares its hash.
 */
async function openInPlace(
  source: NonNullable<InputFile['source']>,
  bytes: number,
): Promise<AsyncIterable<Uint8Array>> {
  const { directory, path } = source
  try {
    await using file = await openBelow(directory, path)
    const stats = await file.stat()
    if (!stats.isFile() || stats.size !== bytes) throw new InPlaceError(source, 'it has changed since')
  } catch (error) {
    if (error instanceof InPlaceError) throw error
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'this agent does not share that disk, or the file is gone' : messageOf(error)
    throw new InPlaceError(source, why)
  }
  return contentOf({ root: directory, name: path }, 0)
}

async function placeFile(
  { work, owner }: { work: string; owner: Owner | null },
  file: InputFile,
  fetch: (file: InputFile) => Promise<AsyncIterable<Uint8Array>>,
): Promise<void> {
  const { path, bytes, mode, sha256, target, source } = file
  if (outputPathFault(path) !== null || (target !== null && !staysInside(path, target)))
    throw new PlacingError(`the input ${JSON.stringify(path)} is not a plain path`)
  const parts = path.split('/')
  for (let length = 1; length < parts.length; length++)
    await makeDirectory(join(work, ...parts.slice(0, length)), owner)
  const at = join(work, path)
  // It may be one of the uploaded files.
  await rm(at, { force: true })
  if (target !== null) return symlink(target, at)
  const hash = createHash('sha256')
  await using handle = await open(at, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  if (bytes > 0) {
    let received = 0
    for await (const chunk of await fetch(file)) {
      received += chunk.length
      if (received > bytes) break
      hash.update(chunk)
      await handle.writeFile(chunk)
    }
  }
  const found = hash.digest('hex')
  if (bytes > 0 && found !== sha256) {
    if (source !== undefined) throw new InPlaceError(source, 'it has changed since')
    throw new Error(`the input ${path} has arrived damaged: its SHA-256 is ${found}`)
  }
  await chmod(at, isExecutable(mode) ? 0o755 : 0o644)
  if (owner !== null) await chown(at, owner.uid, owner.gid)
}

/** Makes a directory. No link of the uploaded code may be in its place. */
async function makeDirectory(at: string, owner: Owner | null): Promise<void> {
  try {
    await mkdir(at, 0o755)
    if (owner !== null) await chown(at, owner.uid, owner.gid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!(await lstat(at)).isDirectory())
      throw new PlacingError(`${at} is in the way of an input: it is not a directory`)
  }
}

/** Errors of this machine's file system. */
const LOCAL = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EISDIR', 'ENOTEMPTY', 'ENAMETOOLONG', 'EIO']

/** Returns a failure if another try would fail in the same way. */
function failureOf(error: unknown): FailureError | null {
  if (error instanceof RepriseError) {
    const isGone = error.code === 'OUTPUTS_NOT_FOUND' || error.code === 'CODE_NOT_FOUND'
    return isGone ? { name: 'inputs-unavailable', message: error.message } : null
  }
  if (error instanceof InPlaceError) return { name: 'inputs-unavailable', message: error.message }
  const { code, message } = error as NodeJS.ErrnoException
  if (!(error instanceof PlacingError) && (code === undefined || !LOCAL.includes(code))) return null
  return { name: 'executor-failed', message: `the inputs could not be placed: ${message}` }
}
