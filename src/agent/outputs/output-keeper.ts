import { mkdirSync } from 'node:fs'
import { readdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RepriseError } from '../../domain/errors.ts'
import { OUTPUTS_AT_ONCE_MAX, OUTPUTS_HEARD_INTERVAL_MS } from '../../domain/limits.ts'
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
import { sendOutputs } from './send-outputs.ts'

/** Pause before a session whose end is not on record yet is asked about again. */
const LATER_MS = 500

/**
 * Keeps the directories of kernels that are gone until the servers have their outputs. The registry hands a directory
 * over instead of removing it, by one rename: `kernels/<id>` becomes `outputs/<id>.<assignment>`. From then on the
 * kernel is gone for the servers, and nothing waits for its outputs. `spec.json` in the directory says what to collect,
 * so after a crash the next instance starts again, and sends what the servers do not have.
 *
 * A directory is removed once its outputs are settled, or are not wanted. It stays while the servers do not answer.
 */
export interface OutputKeeper {
  /** @returns whether it keeps the kernel's directory, which has another name then */
  keep(kernel: Pick<KernelEntry, 'id' | 'assignment' | 'spec' | 'path' | 'startedAt'>): Promise<boolean>
  /** Continues with the directories of earlier instances. */
  resume(): Promise<void>
  close(): Promise<void>
}

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
}

export function createOutputKeeper({ kernelsDir, hooks, removals, log }: KeeperOptions): OutputKeeper {
  const outputsDir = join(dirname(kernelsDir), 'outputs')
  const { reportOutputs: report, blobs } = hooks
  const kept = new Map<string, Kept>()
  const waiting: Kept[] = []
  const ending = new AbortController()
  const { signal } = ending
  const workers = new Set<Promise<void>>()
  const heartbeat = setInterval(
    guarded(tellAll, (error) => log.debug({ error: messageOf(error) }, 'outputs could not be reported')),
    OUTPUTS_HEARD_INTERVAL_MS,
  ).unref()
  // Only the agent enters it.
  mkdirSync(outputsDir, { recursive: true, mode: 0o700 })

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
      } catch (error) {
        if (signal.aborted) return
        const { kernelId } = each
        if (isFinal(error)) {
          log.warn({ kernelId, error: messageOf(error) }, 'the outputs of a kernel are not wanted')
          return drop(each)
        }
        const level = failures === 1 ? 'warn' : 'debug'
        log[level]({ kernelId, error: messageOf(error), failures }, 'outputs could not be sent; trying again')
      }
      await wait(reconnectPauseMs(failures, Math.random()), { signal })
    }
  }

  async function collect({ kernelId, assignment, path, patterns }: Kept): Promise<'settled' | 'later' | 'again'> {
    const kernel = { kernelId, assignment }
    const { wanted, later = false, bytesMax } = await report!({ ...kernel, step: 'BEGIN' }, signal)
    if (later) return 'later'
    if (!wanted) return 'settled'
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

  return {
    async keep({ id, assignment, spec, path, startedAt }) {
      if (report === undefined || blobs === undefined) return false
      if (startedAt === null || !isFirstKernel(spec)) return false
      const patterns = spec.outputPaths ?? []
      if (patterns.length === 0 && !(await hasOwnOutputs(path))) return false
      const to = join(outputsDir, `${id}.${assignment}`)
      await rename(path, to)
      add({ kernelId: id, assignment, path: to, patterns })
      return true
    },
    async resume() {
      await removals.resume(outputsDir)
      for (const name of await readdir(outputsDir)) {
        if (isDropped(name)) continue
        const path = join(outputsDir, name)
        const record = await readLockedRecord(path).catch(() => null)
        if (record === null || report === undefined) removals.drop(path)
        else add(keptOf(path, record))
      }
    },
    async close() {
      clearInterval(heartbeat)
      ending.abort(new Error('the agent is stopping'))
      await Promise.all(workers)
    },
  }
}

function keptOf(path: string, { assignment, spec }: KernelRecord): Kept {
  return { kernelId: spec.kernelId, assignment, path, patterns: spec.outputPaths ?? [] }
}

async function hasOwnOutputs(kernelPath: string): Promise<boolean> {
  try {
    return (await readdir(join(kernelPath, 'work', OUTPUT_DIR))).length > 0
  } catch {
    return false
  }
}

/** Whether the servers will never take the outputs: the session is gone, or they are of an older version. */
function isFinal(error: unknown): boolean {
  if (error instanceof RepriseError) return error.code === 'KERNEL_NOT_FOUND' || error.code === 'NO_SUCH_PATH'
  return error instanceof ForeignAnswer && error.status === 404
}
