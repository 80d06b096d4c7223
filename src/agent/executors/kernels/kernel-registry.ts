import { chmodSync, mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pLimit from 'p-limit'
import type { LeftCheckpoint } from '../../../domain/agent/checkpoint.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { createOutputKeeper } from '../../outputs/output-keeper.ts'
import { createRemovals, isDropped } from '../../removals.ts'
import type { Executor, ExecutorHooks } from '../executor.ts'
import { readVerdict } from './exit-verdict.ts'
import * as directory from './kernel-directory.ts'
import { removeKernelDirectory, spreadDirectories } from './kernel-directory.ts'
import { readKernelLog } from './kernel-logs.ts'
import { uptimeSeconds } from '../process/proc-stat.ts'
import { createProgressWatch } from './progress-watch.ts'
import type { KernelSteps, KernelRegistry, KernelEnd } from './kernel-steps.ts'
import { hasEnded, isOwnFailure, type KernelEntry, observeKernel, OUTPUT_LOST } from './kernel-entry.ts'

/** As many as libuv has threads, so that a launch never queues behind thousands of removals. */
const REMOVALS_AT_ONCE_MAX = 4

export interface KernelRegistryOptions {
  /** Contains a directory for each kernel. */
  kernelsDir: string
  /** Other users than the agent's pass through the directory to their own. */
  shared: boolean
  log: Logger
}

type Port = Pick<
  Executor,
  'recover' | 'observe' | 'prepare' | 'start' | 'stop' | 'forget' | 'logSizes' | 'readLog' | 'close'
>

/** @returns the registry for the executor's own steps, and the part of the port that the agent calls */
export function createKernelRegistry<K extends KernelEntry>(
  { kernelsDir, shared, log }: KernelRegistryOptions,
  steps: KernelSteps<K>,
  hooks: ExecutorHooks,
): { registry: KernelRegistry<K>; port: Port } {
  const kernels = new Map<string, K>()
  const removals = createRemovals({ log })
  const outputs = createOutputKeeper({ kernelsDir, hooks, removals, log })
  const progress = createProgressWatch({ kernels, steps, stop, hooks, log })
  const limit = pLimit(REMOVALS_AT_ONCE_MAX)
  const removeDirectory = (path: string) => limit(() => removeKernelDirectory(path, removals))
  let closed = false
  mkdirSync(kernelsDir, { recursive: true })
  chmodSync(kernelsDir, shared ? 0o711 : 0o700)
  spreadDirectories([kernelsDir])

  function changed(): void {
    if (!closed) hooks.changed()
  }

  function begin(spec: KernelSpec, assignment: number, startWanted: boolean): void {
    const kernel = steps.create(spec, assignment, join(kernelsDir, spec.kernelId))
    kernel.startWanted = startWanted
    kernels.set(kernel.id, kernel)
    kernel.busy = prepare(kernel)
  }

  /** Never rejects, because only a removal waits for it. */
  async function prepare(kernel: K): Promise<void> {
    const refusal = hooks.refusal?.() ?? null
    if (refusal !== null) return fail(kernel, 'executor-failed', refusal)
    try {
      await steps.prepare(kernel)
    } catch (error) {
      fail(kernel, 'executor-failed', `could not be prepared: ${messageOf(error)}`)
    }
  }

  function request(spec: KernelSpec, assignment: number, start: boolean): void {
    if (!directory.isSafeId(spec.kernelId) || !directory.isSafeId(spec.chainId))
      throw new TypeError(`not an id: ${spec.kernelId}`)
    const kernel = kernels.get(spec.kernelId)
    if (kernel === undefined) return begin(spec, assignment, start)
    if (assignment > kernel.assignment || (kernel.removing && assignment === kernel.assignment)) {
      setSuccessor(kernel, spec, assignment, start)
      return forget(kernel)
    }
    if (assignment < kernel.assignment) return
    const isOutdated = kernel.phase === 'PREPARED' && steps.isOutdated?.(kernel, spec) === true
    const isFirstStart = start && !kernel.startWanted
    // The order to start brings the secrets.
    if (isOutdated || isFirstStart) kernel.spec = spec
    kernel.startWanted ||= start
    if (isOutdated) {
      kernel.phase = 'PREPARING'
      kernel.busy = prepare(kernel)
    } else if (isFirstStart && kernel.phase === 'PREPARED') kernel.busy = launch(kernel)
  }

  /** Never rejects. After the hand-over, the watch takes care of the kernel. */
  async function launch(kernel: K): Promise<void> {
    kernel.phase = 'LAUNCHING'
    const refusal = hooks.refusal?.() ?? null
    if (refusal !== null) return fail(kernel, 'executor-failed', refusal)
    try {
      await steps.launch(kernel)
    } catch (error) {
      if (kernel.handedOver)
        log.error({ kernelId: kernel.id, error: messageOf(error) }, 'the launch of a kernel failed unexpectedly')
      else fail(kernel, 'executor-failed', `could not be started: ${messageOf(error)}`)
    }
  }

  function stop(kernel: K, graceMs: number, error: FailureError | null = null): void {
    const killAt = Math.min(Date.now() + graceMs, kernel.killAt ?? Number.POSITIVE_INFINITY)
    if (hasEnded(kernel)) return
    if (kernel.phase !== 'LAUNCHING' && kernel.phase !== 'RUNNING') return endBeforeRunning(kernel, error)
    if (steps.isEnding(kernel)) return
    const first = kernel.killAt === null
    if (!first && killAt === kernel.killAt) return
    kernel.killAt = killAt
    if (first) Object.assign(kernel, { stopError: error, stopAt: uptimeSeconds() })
    if (kernel.phase === 'RUNNING' || kernel.handedOver) applyStop(kernel)
  }

  function applyStop(kernel: K): void {
    kernel.killAt ??= Date.now()
    if (steps.isAway?.() !== true) writeStop(kernel)
    steps.stop(kernel)
  }

  function asked(kernel: K): void {
    kernel.asked = true
    if (steps.isAway?.() !== true) writeStop(kernel)
  }

  function writeStop(kernel: K): void {
    const { killAt, stopAt: at, stopError: error, asked: wasAsked } = kernel
    writeDown(kernel, 'stop', {
      killAt: killAt!,
      error,
      ...(at !== null && { at }),
      ...(wasAsked && { asked: true }),
    })
  }

  function readStop(kernel: K): boolean {
    const mark = directory.readStopMark(kernel.path)
    if (mark === null) return false
    const { killAt, error: stopError = null, at: stopAt = null, asked: wasAsked = false } = mark
    Object.assign(kernel, { killAt, stopError, stopAt, asked: wasAsked })
    return true
  }

  function exceededMemory(kernel: K, mark: directory.OomMark): void {
    kernel.exceededMemory = mark
    writeDown(kernel, 'oom', mark)
  }

  /**
   * Writes a mark for a later instance. If that fails, because the disk is full or the program has moved its directory,
   * this instance continues without it.
   */
  function writeDown<Name extends 'stop' | 'oom'>(kernel: K, name: Name, mark: directory.Marks[Name]): void {
    try {
      directory.writeMark(kernel.path, name, mark)
    } catch (error) {
      log.warn({ kernelId: kernel.id, error: messageOf(error) }, `the ${name} mark of a kernel could not be written`)
    }
  }

  /** Kills the kernel if it runs, and removes it once it is gone. */
  function forget(kernel: K): void {
    if (kernel.removing) return
    kernel.removing = true
    if (kernel.phase === 'LAUNCHING' || kernel.phase === 'RUNNING') return stop(kernel, 0)
    remove(kernel)
  }

  function fail(kernel: K, name: string, message: string): void {
    if (hasEnded(kernel)) return
    kernel.error = { name, message }
    // Keeps a later instance from starting a kernel that was reported as failed.
    if (kernel.handedOver) writeDown(kernel, 'stop', { killAt: 0 })
    settle(kernel, 'FAILED', new Date().toISOString())
  }

  function endBeforeRunning(kernel: K, error: FailureError | null): void {
    Object.assign(kernel, { error, stopped: error === null })
    settle(kernel, 'EXITED', new Date().toISOString())
  }

  function exited(kernel: K, { endedAt, stopOrdered, stopError, lingers = false, ...end }: KernelEnd): void {
    if (hasEnded(kernel)) return
    Object.assign(kernel, end, { lingers, stopped: stopOrdered && stopError === null })
    const concluded = progress.conclude(kernel, stopOrdered)
    if (kernel.startedAt !== null && hooks.diskIsFull?.() === true) kernel.outputLost = true
    measureLogs(kernel)
    kernel.leftOutputs = outputs.areUnasked(kernel)
    const left = steps.leftCheckpoint(kernel)
    const awaited = [
      ...(concluded === null ? [] : [concluded.then(() => measureLogs(kernel))]),
      ...(!stopOrdered && isOwnFailure(kernel) ? [takeVerdict(kernel)] : []),
      ...(left === null ? [] : [takeLeft(kernel, left)]),
    ]
    if (awaited.length > 0) holdBack(kernel, awaited)
    settle(kernel, 'EXITED', endedAt)
  }

  function measureLogs({ outputPath, outputLost, logSizes }: K): void {
    logSizes.STDOUT = directory.logSize(outputPath, 'STDOUT') + (outputLost ? OUTPUT_LOST.length : 0)
    logSizes.STDERR = directory.logSize(outputPath, 'STDERR')
  }

  /** Records the checkpoint. No later attempt follows one that has succeeded, so its checkpoint is not sent. */
  async function takeLeft(kernel: K, left: Promise<LeftCheckpoint | null>): Promise<void> {
    kernel.left = await left
    const hasSucceeded = kernel.exitCode === 0 && !kernel.oomKilled && kernel.error === null && !kernel.stopped
    if (kernel.left === null || kernel.left.files === 0 || hasSucceeded || kernel.removing || closed) return
    kernel.relaying = true
    steps
      .relayCheckpoint(kernel)
      .catch((error: unknown) => unknown(kernel, error))
      .then(() => {
        kernel.relaying = false
        changed()
        if (kernel.removing) remove(kernel)
      })
      .catch((error: unknown) => unknown(kernel, error))
  }

  /** Reads the program's verdict. A program that something outside kept from its work has not failed by itself. */
  async function takeVerdict(kernel: K): Promise<void> {
    const fault = kernel.error === null ? steps.outsideFault(kernel) : null
    const [verdict, error] = await Promise.all([readVerdict(kernel.path), fault])
    Object.assign(kernel, error === null ? { verdict } : { error })
  }

  /** Delays the report of the end until these are known. Results that cannot be found out are left out. */
  function holdBack(kernel: K, awaited: readonly Promise<void>[]): void {
    kernel.endPending = true
    Promise.all(awaited.map((each) => each.catch((error: unknown) => unknown(kernel, error))))
      .then(() => {
        kernel.endPending = false
        changed()
      })
      .catch((error: unknown) => unknown(kernel, error))
  }

  function unknown({ id }: K, error: unknown): void {
    log.warn({ kernelId: id, error: messageOf(error) }, 'details of a kernel’s end could not be determined')
  }

  function settle(kernel: K, phase: 'FAILED' | 'EXITED', endedAt: string): void {
    kernel.phase = phase
    kernel.endedAt = endedAt
    kernel.note = null
    steps.settled(kernel)
    changed()
    if (kernel.removing) remove(kernel)
  }

  function gone(kernel: K): void {
    if (!kernel.lingers) return
    kernel.lingers = false
    changed()
    if (kernel.removing) remove(kernel)
  }

  /** Removes the kernel, which must not be running. */
  function remove(kernel: K): void {
    if (kernel.phase === 'REMOVED' || kernel.lingers || kernel.relaying) return
    kernel.phase = 'REMOVED'
    changed()
    kernel.busy = kernel.busy
      .then(() => steps.remove?.(kernel))
      .then(async () => (await outputs.keep(kernel)) || removeDirectory(kernel.path))
      .catch((error: unknown) => log.error({ kernelId: kernel.id, error: messageOf(error) }, 'kernel not removed'))
      .then(() => succeed(kernel))
      .then(() => steps.removed(kernel))
      .catch((error: unknown) =>
        log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'the leftovers of a kernel were not removed'),
      )
  }

  function succeed({ id, successor }: K): void {
    kernels.delete(id)
    if (successor !== null && !closed) begin(successor.spec, successor.assignment, successor.startWanted)
    changed()
  }

  /** @returns the kernel to which an order for this assignment applies */
  function ordered(kernelId: string, assignment: number): K | undefined {
    const kernel = kernels.get(kernelId)
    if (kernel?.successor != null && assignment >= kernel.successor.assignment) kernel.successor = null
    return kernel
  }

  const registry: KernelRegistry<K> = {
    kernels,
    kernelsDir,
    get closed() {
      return closed
    },
    async prepared(kernel) {
      if ((kernel.phase !== 'PREPARING' && kernel.phase !== 'PULLING') || closed) return
      kernel.phase = 'PREPARED'
      kernel.note = null
      const launched = kernel.startWanted ? launch(kernel) : null
      changed()
      await launched
    },
    began(kernel, startedAt) {
      if (kernel.phase !== 'LAUNCHING') return
      kernel.phase = 'RUNNING'
      kernel.note = null
      kernel.startedAt = startedAt
      progress.wake()
      changed()
      if (kernel.killAt !== null) applyStop(kernel)
    },
    removals,
    fail,
    endBeforeRunning,
    exited,
    gone,
    stop,
    exceededMemory,
    applyStop,
    asked,
    readStop,
    beginAnew(kernel, startWanted) {
      kernel.startWanted = startWanted
      const mark = directory.readStopMark(kernel.path)
      if (mark !== null) return endBeforeRunning(kernel, mark.error ?? null)
      kernel.busy = prepare(kernel)
    },
    changed,
  }

  const port: Port = {
    async recover() {
      await removals.resume(kernelsDir)
      // A program without isolation may have put a directory in the place of one of the agent's files.
      await removals.resume(dirname(kernelsDir))
      await outputs.resume()
      for (const name of await readdir(kernelsDir)) {
        if (isDropped(name)) continue
        const path = join(kernelsDir, name)
        const record = await directory.readLockedRecord(path)
        if (record === null || record.spec.kernelId !== name) {
          await directory.removeKernelDirectory(path, removals).catch((error: unknown) => {
            log.warn({ path, error: messageOf(error) }, 'an entry that is no kernel’s directory was not removed')
          })
          continue
        }
        const kernel = steps.create(record.spec, record.assignment, path)
        kernel.port = record.port ?? null
        kernels.set(name, kernel)
        await steps.recover(kernel, record)
      }
      progress.wake()
    },
    observe: () => [...kernels.values()].filter(({ phase }) => phase !== 'REMOVED').map(observeKernel),
    prepare: (spec, assignment) => request(spec, assignment, false),
    start: (spec, assignment) => request(spec, assignment, true),
    stop(kernelId, assignment, graceMs, error) {
      const kernel = ordered(kernelId, assignment)
      if (kernel === undefined) return
      if (assignment > kernel.assignment) forget(kernel)
      else if (assignment === kernel.assignment) stop(kernel, graceMs, error)
    },
    forget(kernelId, assignment) {
      const kernel = ordered(kernelId, assignment)
      if (kernel !== undefined && assignment >= kernel.assignment) forget(kernel)
    },
    logSizes(kernelId) {
      const kernel = kernels.get(kernelId)
      if (kernel === undefined || kernel.phase === 'REMOVED') return { STDOUT: 0, STDERR: 0, final: true }
      return { ...kernel.logSizes, final: hasEnded(kernel) && !kernel.endPending }
    },
    async readLog(kernelId, stream, offset, maxBytes) {
      const kernel = kernels.get(kernelId)
      if (kernel === undefined || kernel.phase === 'REMOVED') return { text: '', bytes: 0, end: true }
      return readKernelLog(kernel, stream, offset, maxBytes)
    },
    async close() {
      closed = true
      progress.close()
      await Promise.all([...kernels.values()].map(({ busy }) => busy))
      await outputs.close()
      await removals.close()
    },
  }
  return { registry, port }
}

function setSuccessor(kernel: KernelEntry, spec: KernelSpec, assignment: number, start: boolean): void {
  const startWanted = start || (kernel.successor?.assignment === assignment && kernel.successor.startWanted)
  if (assignment >= (kernel.successor?.assignment ?? 0)) kernel.successor = { spec, assignment, startWanted }
}
