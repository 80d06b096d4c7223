import { chmodSync, existsSync, lstatSync, mkdirSync, opendirSync } from 'node:fs'
import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RepriseError } from '../../domain/errors.ts'
import {
  OUTPUTS_AT_ONCE_MAX,
  OUTPUTS_HEARD_INTERVAL_MS,
  OUTPUTS_IN_PLACE_ASKED_INTERVAL_MS,
  OUTPUTS_UNKNOWN_KEPT_MS,
} from '../../domain/limits.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { Logger } from '../../observability/log.ts'
import { guarded, reconnectPauseMs, wait } from '../../waiting/wait.ts'
import { isFirstKernel } from '../executors/chain/chain-directory.ts'
import type { ExecutorHooks } from '../executors/executor.ts'
import { type KernelRecord, OUTPUT_DIR, readLockedRecord } from '../executors/kernels/kernel-directory.ts'
import type { KernelEntry } from '../executors/kernels/kernel-entry.ts'
import { ForeignAnswer } from '../http-gateway.ts'
import { isDropped, type Removals } from '../removals.ts'
import { collectOutputs, withoutFiles } from './collect-outputs.ts'
import { FILES, keepInPlace } from './keep-in-place.ts'
import { listOutputs, sendOutputs } from './send-outputs.ts'

/** Pause before a session whose end is not on record yet is asked about again. */
const LATER_MS = 500

/**
 * Keeps the directories of kernels that are gone until the servers have their outputs. The registry hands a directory
 * over instead of removing it, by one rename: `kernels/<id>` becomes `outputs/<id>.<assignment>`. From then on the
 * kernel is gone for the servers, and nothing waits for its outputs. `spec.json` in the directory says what to collect,
 * so after a crash the next instance starts again, and sends what the servers do not have.
 *
 * A directory is removed once its outputs are settled, or are not wanted. It stays while the servers do not answer, and
 * with outputs that stay in place as long as the servers want them.
 */
export interface OutputKeeper {
  /** @returns whether it keeps the kernel's directory, which has another name then */
  keep(kernel: KeptKernel): Promise<boolean>
  /** Whether a kernel that has ended has outputs for which its session did not ask. */
  areUnasked(kernel: KeptKernel): boolean
  /** Continues with the directories of earlier instances. */
  resume(): Promise<void>
  /** Removes outputs that stayed in place and are not wanted any more. It is also called from time to time. */
  reviewInPlace(): Promise<void>
  close(): Promise<void>
}

type KeptKernel = Pick<KernelEntry, 'id' | 'assignment' | 'spec' | 'path' | 'startedAt'>

interface KeeperOptions {
  kernelsDir: string
  hooks: Pick<ExecutorHooks, 'reportOutputs' | 'blobs'>
  removals: Removals
  log: Logger
}

interface Kept {
  kernelId: string
  assignment: number
  path: string
  patterns: readonly string[]
  inPlace: boolean
}

/** Since when the servers do not know the session of outputs that stay in place. */
const UNKNOWN_SINCE = 'unknown'

export function createOutputKeeper({ kernelsDir, hooks, removals, log }: KeeperOptions): OutputKeeper {
  const outputsDir = join(dirname(kernelsDir), 'outputs')
  const { reportOutputs: report, blobs } = hooks
  const kept = new Map<string, Kept>()
  const waiting: Kept[] = []
  /** Settled outputs that stay in place. */
  const stayed = new Map<string, Kept>()
  const ending = new AbortController()
  const { signal } = ending
  const workers = new Set<Promise<void>>()
  const heartbeat = setInterval(
    guarded(tellAll, (error) => log.debug({ error: messageOf(error) }, 'outputs could not be reported')),
    OUTPUTS_HEARD_INTERVAL_MS,
  ).unref()
  const review = setInterval(
    guarded(reviewInPlace, (error) => log.debug({ error: messageOf(error) }, 'outputs in place were not reviewed')),
    OUTPUTS_IN_PLACE_ASKED_INTERVAL_MS,
  ).unref()
  // Other users pass through it to outputs that are their own.
  mkdirSync(outputsDir, { recursive: true, mode: 0o711 })
  chmodSync(outputsDir, 0o711)

  function add(each: Kept): void {
    kept.set(each.path, each)
    waiting.push(each)
    if (workers.size === OUTPUTS_AT_ONCE_MAX || signal.aborted) return
    const worker = workThrough().finally(() => workers.delete(worker))
    workers.add(worker)
  }

  /** Never rejects. */
  async function workThrough(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) await settle(next)
  }

  /** Tries again until the outputs are settled. Never rejects. */
  async function settle(each: Kept): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const done = await collect(each)
        if (done === 'later') return postpone(each)
        if (done === 'settled') return drop(each)
        if (done === 'stays') {
          kept.delete(each.path)
          stayed.set(each.path, each)
          return
        }
      } catch (error) {
        if (signal.aborted) return
        const { kernelId } = each
        if (isFinal(error)) {
          if (each.inPlace) {
            kept.delete(each.path)
            stayed.set(each.path, each)
            return dropIfLongUnknown(each).catch(() => undefined)
          }
          log.warn({ kernelId, error: messageOf(error) }, 'the outputs of a kernel are not wanted')
          return drop(each)
        }
        const level = failures === 1 ? 'warn' : 'debug'
        log[level]({ kernelId, error: messageOf(error), failures }, 'outputs could not be sent; trying again')
      }
      await wait(reconnectPauseMs(failures, Math.random()), { signal })
    }
  }

  async function collect(each: Kept): Promise<'settled' | 'stays' | 'later' | 'again'> {
    const { kernelId, assignment, path, patterns, inPlace } = each
    const kernel = { kernelId, assignment }
    const answer = await report!({ ...kernel, step: 'BEGIN' }, signal)
    const { wanted, later = false, bytesMax } = answer
    if (later) return 'later'
    if (answer.kept === true) return 'stays'
    if (!wanted) return 'settled'
    if (inPlace) return stay(each)
    const onWaiting = (reason: string | null) => {
      if (reason === null) log.info({ kernelId }, 'outputs of a kernel are sent again')
      else log.warn({ kernelId, reason }, 'outputs of a kernel wait to be sent')
    }
    let outputs = await collectOutputs(join(path, 'work'), { patterns, bytesMax, signal })
    for (let tries = 1; ; tries++) {
      const sent = await sendOutputs(outputs, { kernel, report: report!, blobs: blobs!, onWaiting, signal })
      if (sent === true) break
      if (sent.size === 0) return 'again'
      // They have changed since they were found: once they are read again, then they are left out.
      outputs =
        tries === 1
          ? await collectOutputs(join(path, 'work'), { patterns, bytesMax, signal })
          : withoutFiles(outputs, sent)
    }
    const { state, files, reasons } = outputs
    log.info({ kernelId, state, files: files.length, reasons }, 'the outputs of a kernel are settled')
    return 'settled'
  }

  async function stay({ kernelId, assignment, path, patterns }: Kept): Promise<'settled' | 'stays' | 'again'> {
    const find = () => collectOutputs(join(path, 'work'), { patterns, bytesMax: Number.MAX_SAFE_INTEGER, signal })
    const { outputs, directory } = await keepInPlace({ path, collect: find, removals })
    const sending = { kernel: { kernelId, assignment }, report: report!, signal }
    if (!(await listOutputs(outputs, { ...sending, directory }))) return 'again'
    const { state, files, reasons } = outputs
    log.info({ kernelId, state, files: files.length, reasons, directory }, 'the outputs of a kernel stay in place')
    return files.length === 0 ? 'settled' : 'stays'
  }

  async function reviewInPlace(): Promise<void> {
    for (const each of stayed.values()) {
      if (signal.aborted) return
      const { kernelId, assignment, path } = each
      try {
        const answer = await report!({ kernelId, assignment, step: 'BEGIN' }, signal)
        if (answer.kept === true) await rm(join(path, UNKNOWN_SINCE), { force: true })
        else if (answer.wanted || answer.later === true) {
          // The servers know the session again, and do not have the list yet.
          stayed.delete(path)
          add(each)
        } else drop(each)
      } catch (error) {
        if (!isFinal(error)) throw error
        await dropIfLongUnknown(each)
      }
    }
  }

  /** Keeps people's files for some days if the servers do not know their session: their database may be a wrong one. */
  async function dropIfLongUnknown(each: Kept): Promise<void> {
    const mark = join(each.path, UNKNOWN_SINCE)
    const since = await stat(mark).catch(() => null)
    if (since === null) await writeFile(mark, '')
    else if (Date.now() - since.mtimeMs > OUTPUTS_UNKNOWN_KEPT_MS) drop(each)
  }

  function postpone(each: Kept): void {
    setTimeout(
      guarded(
        () => add(each),
        () => {},
      ),
      LATER_MS,
    ).unref()
  }

  function drop({ path, kernelId }: Kept): void {
    kept.delete(path)
    stayed.delete(path)
    try {
      removals.drop(path)
    } catch (error) {
      log.warn({ kernelId, error: messageOf(error) }, 'the directory of outputs was not removed')
    }
  }

  /** Tells the servers that the files are still here, which may wait for their turn for long. */
  async function tellAll(): Promise<void> {
    for (const { kernelId, assignment } of kept.values()) {
      if (signal.aborted) return
      await report!({ kernelId, assignment, step: 'BEGIN' }, signal)
    }
  }

  /** Whether outputs of the kernel would be kept, if it has some. */
  function mayHaveSome({ spec, startedAt }: KeptKernel): boolean {
    return report !== undefined && blobs !== undefined && startedAt !== null && isFirstKernel(spec)
  }

  return {
    areUnasked: (kernel) =>
      mayHaveSome(kernel) && (kernel.spec.outputPaths ?? []).length === 0 && hasOwnOutputs(kernel.path),
    async keep(kernel) {
      const { id, assignment, spec, path } = kernel
      const patterns = spec.outputPaths ?? []
      if (!mayHaveSome(kernel) || (patterns.length === 0 && !hasOwnOutputs(path))) return false
      const to = join(outputsDir, `${id}.${assignment}`)
      await rename(path, to)
      add({ kernelId: id, assignment, path: to, patterns, inPlace: spec.outputsInPlace === true })
      return true
    },
    async resume() {
      await removals.resume(outputsDir)
      for (const name of await readdir(outputsDir)) {
        if (isDropped(name)) continue
        const path = join(outputsDir, name)
        const record = await readLockedRecord(path).catch(() => null)
        if (record === null && existsSync(join(path, FILES))) {
          log.warn({ path }, 'files of a kernel stay here, but its record is gone: remove them by hand')
        } else if (record === null || report === undefined) removals.drop(path)
        else {
          await removals.resume(path)
          add(keptOf(path, record))
        }
      }
    },
    reviewInPlace,
    async close() {
      clearInterval(heartbeat)
      clearInterval(review)
      ending.abort(new Error('the agent is stopping'))
      await Promise.all(workers)
    },
  }
}

function keptOf(path: string, { assignment, spec }: KernelRecord): Kept {
  const { kernelId, outputPaths, outputsInPlace } = spec
  return { kernelId, assignment, path, patterns: outputPaths ?? [], inPlace: outputsInPlace === true }
}

/** Reads one entry only, as a program may have written a million, and follows no link, as it may lead to a hung disk. */
function hasOwnOutputs(kernelPath: string): boolean {
  const path = join(kernelPath, 'work', OUTPUT_DIR)
  try {
    if (!lstatSync(path).isDirectory()) return false
    const directory = opendirSync(path, { bufferSize: 1 })
    try {
      return directory.readSync() !== null
    } finally {
      directory.closeSync()
    }
  } catch {
    return false
  }
}

/** Whether the servers will never take the outputs: the session is gone, or they are of an older version. */
function isFinal(error: unknown): boolean {
  if (error instanceof RepriseError) return error.code === 'KERNEL_NOT_FOUND' || error.code === 'NO_SUCH_PATH'
  return error instanceof ForeignAnswer && error.status === 404
}
