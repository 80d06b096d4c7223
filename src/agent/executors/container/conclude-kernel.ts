import { appendFileSync, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import type { KernelUsage } from '../../../domain/agent/kernel-report.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { readEnd } from '../../control-file.ts'
import { gpuMemoryFailure } from '../../gpus/kernel-gpus.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { SIGKILLED } from '../executor.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import * as directory from '../kernels/kernel-directory.ts'
import { parseStatus } from '../kernels/shim-status.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import type { ContainerDescription } from './engine/engine-answers.ts'
import { WORK } from './container-spec.ts'
import { lineEndsFault } from '../process/program-fault.ts'
import { completeLogs, type LogFollower } from './follow-logs.ts'
import { endedUnseen, judgeContainer, missingProgram } from './judge-container.ts'
import { endedBeforeStop, readClocks, uptimeAt } from '../time-limit.ts'
import { wait, within } from '../../../waiting/wait.ts'

/** If there is more output than this, a running copy is waited for, and not started again. */
const COPIED_ANEW_BYTES_MAX = 8 * 1024 * 1024
/** A copy that receives nothing for this long is no longer waited for. */
const LAST_OUTPUT_WITHIN_MS = 5_000
const COMPLETE_WITHIN_MS = 60_000
/** Time in which a removal, which first kills the container, must follow the kill. */
const REMOVED_WITHIN_MS = 2_000
const REMOVED_CHECK_MS = 200
const FIRST_LINE_BYTES = 512
/** Uncertainty of an end that the engine reports by the wall clock: it may be taken for this much earlier. */
const CLOCKS_APART_SECONDS = 0.05
const MAY_BE_MISSING = '[reprise: the container engine was down; output may be missing]\n'

/**
 * Fetches the missing output of an ended container, records its end, and reports it.
 *
 * @param last null if the container has been removed, but not by this agent
 * @throws EngineSilentError, and then it has to be called again
 */
export async function concludeKernel(
  host: ContainerHost,
  kernel: ContainerKernel,
  last: ContainerDescription | null,
): Promise<void> {
  kernel.ending = {}
  kernel.noticed ??= readClocks()
  let container = last
  try {
    if (last === null) await kernel.follower?.stop()
    else {
      await takeOutput(host, kernel, last)
      if (await isRemoved(host, kernel, last)) container = null
    }
  } catch (error) {
    kernel.ending = null
    throw error
  }
  if (hasEnded(kernel) || host.registry.closed) return
  const { path, memoryLimitBytes, group } = kernel
  const noted = parseStatus(directory.readStatus(path)).exitCode
  const exitCode = noted ?? container?.exitCode ?? null
  const usage = usageOf(host, kernel, container)
  const mark = directory.readStopMark(path)
  const ranSeconds = usage?.wallSeconds ?? null
  const endedAtUptime = kernel.clocks === null || ranSeconds === null ? null : kernel.clocks.uptime + ranSeconds
  const cameFirst =
    exitCode !== null && endedAtUptime !== null && endedBeforeStop(kernel, endedAtUptime + CLOCKS_APART_SECONDS)
  const stopOrdered = !cameFirst && (kernel.killAt !== null || kernel.removing || mark !== null)
  const stopError = stopOrdered ? (kernel.stopError ?? mark?.error ?? null) : null
  const verdict = judgeContainer({
    container,
    notedExitCode: noted,
    stopOrdered,
    stopError,
    ranOutOfMemory:
      hasExceededMemory(kernel, exitCode) ||
      (!stopOrdered &&
        group !== null &&
        memoryLimitBytes !== null &&
        exitCode !== null &&
        (host.groups?.ranOutOfMemory(group, memoryLimitBytes, exitCode) ?? false)),
    memoryLimitBytes,
    missing: missingInContainer(kernel, exitCode),
    explained: () => explainedByGpus(kernel, exitCode),
    otherBoot: (directory.readRecord(path)?.bootId ?? host.bootId) !== host.bootId,
    outages: host.contact.outages,
  })
  writeDown(host, kernel, { exitCode, noted, oomKilled: verdict.oomKilled, usage })
  const endedAt = (container?.finishedAt ?? new Date()).toISOString()
  host.registry.exited(kernel, {
    ...verdict,
    // Engines have been seen to report an end a millisecond before the beginning.
    endedAt: kernel.startedAt !== null && endedAt < kernel.startedAt ? kernel.startedAt : endedAt,
    stopOrdered,
    stopError,
    usage,
    ranSeconds,
  })
}

/**
 * Whether the container was ended by its removal, for example by a person: it was killed, but not by this agent, and is
 * gone soon afterwards.
 */
async function isRemoved(
  { engine, registry }: ContainerHost,
  kernel: ContainerKernel,
  { id, exitCode, oomKilled }: ContainerDescription,
): Promise<boolean> {
  const { path, killAt, removing } = kernel
  const isOwn =
    killAt !== null || removing || directory.readStopMark(path) !== null || hasExceededMemory(kernel, exitCode)
  if (exitCode !== SIGKILLED || oomKilled || isOwn) return false
  for (let waitedMs = 0; waitedMs < REMOVED_WITHIN_MS && !registry.closed; waitedMs += REMOVED_CHECK_MS) {
    if ((await engine.inspect(id)) === null) return true
    await wait(REMOVED_CHECK_MS)
  }
  return false
}

/**
 * Whether this or an earlier instance killed it for its use of memory, or has recorded such an end. One that exited
 * with 0 ended before it could be killed.
 */
function hasExceededMemory({ path, exceededMemory }: ContainerKernel, exitCode: number | null): boolean {
  const mark = exceededMemory ?? directory.readOomMark(path)
  return mark !== null && (exitCode !== 0 || mark.atEnd === true)
}

async function takeOutput(
  host: ContainerHost,
  kernel: ContainerKernel,
  container: ContainerDescription,
): Promise<void> {
  const { id: containerId } = container
  const { path, follower } = kernel
  if (kernel.logsComplete) return
  if (follower !== null && outputBytes(path) > COPIED_ANEW_BYTES_MAX) await awaitOutput(follower, path)
  await follower?.stop()
  kernel.follower = null
  try {
    const signal = AbortSignal.timeout(COMPLETE_WITHIN_MS)
    await completeLogs({ engine: host.engine, containerId, path }, signal)
    // The output of Podman's containers does not pass through the engine.
    if (host.description.name === 'docker' && endedUnseen(container, host.contact.outages)) {
      noteGap(directory.logPath(path, 'STDOUT'))
    }
  } catch (error) {
    // Without the engine the end cannot be reported yet. A full disk does not delay it.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'output of a kernel could not be taken')
  }
  kernel.logsComplete = true
}

/** Adds a note to the output. An earlier instance that was killed may already have added it. */
function noteGap(file: string): void {
  const tail = Buffer.alloc(MAY_BE_MISSING.length)
  const fd = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW)
  try {
    readSync(fd, tail, 0, tail.length, Math.max(0, fstatSync(fd).size - tail.length))
    if (tail.toString() !== MAY_BE_MISSING) appendFileSync(fd, MAY_BE_MISSING)
  } finally {
    closeSync(fd)
  }
}

/** Waits until the copy has ended, or makes no progress. */
async function awaitOutput({ ended }: LogFollower, path: string): Promise<void> {
  const end = ended.then(
    () => true,
    () => true,
  )
  for (let before = -1; outputBytes(path) > before;) {
    before = outputBytes(path)
    if (await within(LAST_OUTPUT_WITHIN_MS, end)) return
  }
}

function outputBytes(path: string): number {
  return directory.logSize(path, 'STDOUT') + directory.logSize(path, 'STDERR')
}

/** Writes to the directory what a later instance must know, since engine and cgroup may have forgotten it. */
function writeDown(
  host: ContainerHost,
  { id, path, memoryLimitBytes }: ContainerKernel,
  end: { exitCode: number | null; noted: number | null; oomKilled: boolean; usage: KernelUsage | null },
): void {
  try {
    if (end.oomKilled) {
      const limitBytes = memoryLimitBytes ?? 0
      directory.writeMark(path, 'oom', { usedBytes: end.usage?.peakMemoryBytes ?? limitBytes, limitBytes, atEnd: true })
    }
    if (end.usage !== null) directory.writeMark(path, 'usage', end.usage)
    if (end.noted === null && end.exitCode !== null) appendFileSync(join(path, 'status'), `exit ${end.exitCode}\n`)
  } catch (error) {
    host.log.warn({ kernelId: id, error: messageOf(error) }, 'the end of a kernel could not be recorded')
  }
}

function usageOf(
  { groups }: ContainerHost,
  kernel: ContainerKernel,
  container: ContainerDescription | null,
): KernelUsage | null {
  const { path, group } = kernel
  const noted = directory.readUsageMark(path)
  if (noted !== null) return { ...noted, source: 'CGROUP' }
  const wallSeconds = wallSecondsOf(kernel, container?.finishedAt?.getTime())
  const metered = group === null || groups === null ? null : groups.read(group)
  if (metered === null)
    return wallSeconds === null ? null : { peakMemoryBytes: null, cpuSeconds: null, wallSeconds, source: 'PROCESSES' }
  return { ...metered, wallSeconds, source: 'CGROUP' }
}

/** Measured by the machine's uptime or, after a restart of the machine, by the wall clock. */
function wallSecondsOf({ clocks, noticed, startedAt }: ContainerKernel, endedMs: number | undefined): number | null {
  if (endedMs === undefined) return null
  if (clocks !== null && noticed !== null) return uptimeAt(endedMs, clocks, noticed) - clocks.uptime
  return startedAt === null ? null : Math.max(0, (endedMs - Date.parse(startedAt)) / 1000)
}

/** Explains why the program could not be run. The files of the image are out of reach, those of an upload are not. */
function missingInContainer({ path, spec: { command } }: ContainerKernel, exitCode: number | null): string | null {
  const missing = missingProgram(exitCode, firstLine(directory.logPath(path, 'STDERR')), command)
  const program = command[0] ?? ''
  const file = relative(WORK, resolve(WORK, program))
  if (missing === null || !program.includes('/') || file.startsWith('..')) return missing
  return lineEndsFault(join(path, 'work', file), program) ?? missing
}

/** An error message is among the last lines. */
const OUTPUT_READ_BYTES = 4_096

function explainedByGpus(kernel: ContainerKernel, exitCode: number | null): FailureError | null {
  if (exitCode === null || exitCode === 0) return null
  return gpuMemoryFailure(kernel, readEnd(directory.logPath(kernel.path, 'STDERR'), OUTPUT_READ_BYTES), exitCode)
}

function firstLine(path: string): string {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      const buffer = Buffer.alloc(FIRST_LINE_BYTES)
      return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, 0)).split('\n', 1)[0]!
    } finally {
      closeSync(fd)
    }
  } catch {
    return ''
  }
}
