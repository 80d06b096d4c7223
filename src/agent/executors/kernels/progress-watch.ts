import type { Readable } from 'node:stream'
import { join } from 'node:path'
import { PROGRESS_LINE_LENGTH_MAX } from '../../../domain/limits.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { toPlainLine } from '../../../domain/storable-text.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { createPasses } from '../../../waiting/passes.ts'
import { wait, within } from '../../../waiting/wait.ts'
import { readEnd, statIfThere } from '../../control-file.ts'
import type { ExecutorHooks } from '../executor.ts'
import { PROGRESS_FILE } from './exit-verdict.ts'
import type { KernelEntry } from './kernel-entry.ts'
import { appendToLog } from './kernel-logs.ts'
import type { KernelSteps } from './kernel-steps.ts'

const LOOK_MS = 1_000
/** The most that one look adds to the time without progress: the agent itself may have been stopped in between. */
const LOOK_MAX_MS = 3 * LOOK_MS
/** The least time between two reports of one kernel's progress. */
const REPORT_MS = 3_000
/** Bytes at the end of a progress file that are searched for its last line. */
const TAIL_BYTES = 4_096
const ON_HANG_MS = 60_000
const HANG_OUTPUT_BYTES_MAX = 1024 * 1024
/** Most time for what a command left in its pipes when it ended: processes that it has started may keep them open. */
const LAST_OUTPUT_MS = 10_000
/** Time in which the end of a program that onHang has ended is reported: its exit code is then the program's own. */
const OWN_END_MS = 500
const HANG_GRACE_MS = 5_000

interface ProgressHost<K extends KernelEntry> {
  kernels: ReadonlyMap<string, K>
  steps: Pick<KernelSteps<K>, 'exec' | 'isAway' | 'isReadable' | 'isSuspended'>
  stop(kernel: K, graceMs: number, error: FailureError): void
  hooks: Pick<ExecutorHooks, 'changed' | 'diskIsFull'>
  log: Logger
}

export interface ProgressWatch<K extends KernelEntry> {
  /** Called when a kernel has begun to run. */
  wake(): void
  /**
   * Called when a kernel has ended, before the length of its log is taken. @returns null, or a promise of the end of its
   * log: its `onHang` command has not been read to its end
   */
  conclude(kernel: K, stopOrdered: boolean): Promise<void> | null
  close(): void
}

/**
 * Reads what running programs tell about their progress, and stops those that make none for longer than their sessions
 * allow. Progress is output, a write to the progress file, or a published checkpoint. The time counts only while this
 * agent watches, and only while output can arrive: not if its disk is full, its container engine is silent, or Slurm
 * has suspended the job.
 */
export function createProgressWatch<K extends KernelEntry>(host: ProgressHost<K>): ProgressWatch<K> {
  const { kernels, log } = host
  const looks = createPasses({
    pauseMs: () => ([...kernels.values()].some(isRunning) ? LOOK_MS : null),
    pauseMinMs: LOOK_MS,
    pass: look,
    failed: (error) => log.warn({ error: messageOf(error) }, 'the progress of programs could not be read'),
  })

  async function look(): Promise<void> {
    const isReadable = (await host.steps.isReadable?.()) ?? true
    const now = performance.now()
    let hasNews = false
    for (const kernel of kernels.values()) {
      if (!isRunning(kernel)) continue
      const moved = isReadable && hasMoved(kernel)
      hasNews = report(kernel, now) || hasNews
      if (isSilentFor(kernel, moved, now)) endHung(kernel)
    }
    if (hasNews) host.hooks.changed()
  }

  function isSilentFor(kernel: K, moved: boolean, now: number): boolean {
    const { progress, spec } = kernel
    const limitMs = spec.progressTimeoutMs ?? null
    const sinceMs = now - (progress.lookedAt ?? now)
    progress.lookedAt = now
    if (limitMs === null || progress.hung !== null) return false
    if (moved) progress.silentMs = 0
    else if (!isDeaf(kernel)) progress.silentMs += Math.min(sinceMs, LOOK_MAX_MS)
    return progress.silentMs >= limitMs
  }

  function isDeaf(kernel: K): boolean {
    return (
      host.hooks.diskIsFull?.() === true || host.steps.isAway?.() === true || host.steps.isSuspended?.(kernel) === true
    )
  }

  function endHung(kernel: K): void {
    const error = hangError(kernel.spec.progressTimeoutMs ?? 0)
    kernel.progress.hung = error
    log.info({ kernelId: kernel.id, sessionId: kernel.spec.sessionId }, `stopping a program: ${error.message}`)
    const command = runOnHang(kernel)
    kernel.progress.onHang = command.catch(() => undefined).finally(() => (kernel.progress.onHang = null))
    command
      .catch((reason: unknown) => note(kernel, `onHang was not run: ${messageOf(reason)}`))
      .then(() => host.stop(kernel, kernel.spec.stopGraceMs ?? HANG_GRACE_MS, error))
      .catch((reason: unknown) => log.error({ kernelId: kernel.id, error: messageOf(reason) }, 'kernel not stopped'))
  }

  /** Runs the session's command in the kernel, for a limited time, and keeps what it writes. */
  async function runOnHang(kernel: K): Promise<void> {
    const command = kernel.spec.onHang ?? []
    if (command.length === 0) return
    if (host.steps.exec === undefined) throw new Error('this agent cannot run commands in its kernels')
    const terminal = { tty: false, term: 'dumb', columns: 80, rows: 24 }
    const channel = await host.steps.exec(kernel, { kind: 'exec', command, ...terminal })
    note(kernel, 'no progress; output of onHang:')
    // Not destroyed: with containers, the output arrives on the same connection.
    channel.stdin.end()
    const outputs = [channel.stdout, channel.stderr].filter((output) => output !== null)
    const read = Promise.all(outputs.map((output) => collect(output, kernel)))
    const end = await within(ON_HANG_MS, channel.ended)
    if (end === undefined) await channel.hangUp()
    await within(LAST_OUTPUT_MS, read)
    for (const output of outputs) output.destroy()
    if (end !== undefined) await wait(OWN_END_MS)
    if (end === undefined) note(kernel, `onHang was ended after ${ON_HANG_MS / 1000} s`)
    else note(kernel, `onHang ended with ${end.exitCode ?? 'an unknown exit code'}`)
  }

  function append({ id, outputPath, progress }: K): void {
    if (progress.hangOutput.length === 0) return
    try {
      appendToLog(outputPath, 'STDERR', Buffer.concat(progress.hangOutput))
    } catch (error) {
      log.warn({ kernelId: id, error: messageOf(error) }, 'the output of onHang could not be written')
    }
  }

  return {
    wake: looks.wake,
    conclude(kernel, stopOrdered) {
      const { progress } = kernel
      readLine(kernel)
      progress.reported = progress.line
      // A program may end by what onHang does, for example by a signal that makes it dump its state.
      const isOwnEnd = !stopOrdered && kernel.error === null && kernel.exitCode !== 0 && !kernel.oomKilled
      if (progress.hung !== null && isOwnEnd) kernel.error = progress.hung
      if (progress.onHang === null) {
        append(kernel)
        return null
      }
      return within(LAST_OUTPUT_MS, progress.onHang).then(() => append(kernel))
    },
    close: looks.close,
  }
}

function isRunning({ phase, killAt, removing }: KernelEntry): boolean {
  return phase === 'RUNNING' && killAt === null && !removing
}

/** Notes output, progress file and checkpoints. @returns whether there is progress since the last look */
function hasMoved(kernel: KernelEntry): boolean {
  const { progress, logSizes } = kernel
  const logBytes = logSizes.STDOUT + logSizes.STDERR
  const hasLine = readLine(kernel)
  const moved = hasLine || logBytes !== progress.logBytes || progress.published !== progress.publishedSeen
  progress.logBytes = logBytes
  progress.publishedSeen = progress.published
  return moved
}

/** Reads the last line of the progress file if the file has changed. @returns whether it has */
function readLine({ path, progress }: KernelEntry): boolean {
  const file = join(path, 'work', PROGRESS_FILE)
  try {
    const stat = statIfThere(file)
    const state = stat?.isFile() === true ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : ''
    if (state === progress.fileState) return false
    progress.fileState = state
    // Progress bars return the carriage instead of beginning a new line.
    const lines = state === '' ? [] : readEnd(file, TAIL_BYTES).split(/[\r\n]+/)
    progress.line = toPlainLine(lines.findLast((line) => line.trim() !== '') ?? '', PROGRESS_LINE_LENGTH_MAX)
    return state !== ''
  } catch {
    // The program has locked its directory, or no further file can be opened now.
    return false
  }
}

/** @returns whether there is a line to report */
function report({ progress }: KernelEntry, now: number): boolean {
  if (progress.line === progress.reported || now - progress.reportedAt < REPORT_MS) return false
  progress.reported = progress.line
  progress.reportedAt = now
  return true
}

function hangError(limitMs: number): FailureError {
  return { name: 'no-progress', message: `no-progress: ${timeInWords(limitMs / 1000)} without output` }
}

/** `10 min`, `2 h`, `90 s`: a whole number of the largest unit that has one. */
function timeInWords(seconds: number): string {
  if (seconds >= 3600 && seconds % 3600 === 0) return `${seconds / 3600} h`
  return seconds >= 60 && seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`
}

function note({ progress }: KernelEntry, text: string): void {
  progress.hangOutput.push(Buffer.from(`\n[reprise: ${text}]\n`))
}

async function collect(output: Readable, { progress }: KernelEntry): Promise<void> {
  let left = HANG_OUTPUT_BYTES_MAX
  for await (const chunk of output) {
    const bytes = chunk as Uint8Array
    if (left > 0) progress.hangOutput.push(bytes.subarray(0, left))
    left -= bytes.length
  }
}
