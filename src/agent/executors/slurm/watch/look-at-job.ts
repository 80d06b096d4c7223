import { existsSync, opendirSync, readdirSync, statSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FailureError } from '../../../../domain/session/failure.ts'
import { gpuMemoryFailure } from '../../../gpus/kernel-gpus.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import { isNoFile, readEnd, statIfThere } from '../../../control-file.ts'
import { hasEnded } from '../../kernels/kernel-entry.ts'
import * as directory from '../../kernels/kernel-directory.ts'
import { judgeJob } from '../judge-job.ts'
import { pullImage } from '../../process/image-preset.ts'
import { uptimeSeconds } from '../../process/proc-stat.ts'
import { faultOfCommand } from '../../process/program-fault.ts'
import { isJobOver, NO_STATUS, readJobStatus } from '../slurm-status.ts'
import { makeRequest } from '../prepare-kernel.ts'
import { concludeDevices, readDevices, watchDevices } from '../slurm-gpus.ts'
import { hostOf, memoryLimit, type SlurmHost, type SlurmKernel } from '../slurm-host.ts'
import { cancelJob, enforceStop, showStop, stopUnbegun } from './stop-job.ts'

/** Time after the lease until everything that was started under it is certainly gone. */
const GONE_AFTER_LEASE_MS = 30_000
/** The lease of earlier instances, which is unknown until the server answers. It is longer than any usual fence. */
const UNKNOWN_LEASE_MS = 3_600_000
const SUBMISSIONS_MAX = 3
/**
 * Largest directory whose entries are listed: few names are read in 7 µs, while looking for a missing `status` takes
 * 20.
 */
const DIRECTORY_BYTES_MAX = 16 * 1024

/**
 * Checks a kernel's directory and its job, and acts on what both show.
 *
 * @param asking kernels whose nodes Slurm is being asked about
 * @returns whether the kernel has begun or ended meanwhile
 */
export function lookAt(host: SlurmHost, kernel: SlurmKernel, now: number, asking: Set<SlurmKernel>): boolean {
  if (kernel.lingers) {
    lookForRest(host, kernel, now, asking)
    return false
  }
  if (hasEnded(kernel) || kernel.submit === null) return false
  if (kernel.phase !== 'LAUNCHING' && kernel.phase !== 'RUNNING') return false
  const before = kernel.status
  const names = readStatus(kernel, now)
  if (readDevices(kernel, names)) host.gpusChanged()
  watchDevices(host, kernel, now)
  const { claimed, exitCode } = kernel.status
  const moved = claimed !== before.claimed || exitCode !== before.exitCode
  if (kernel.status.began !== null && kernel.phase === 'LAUNCHING') {
    kernel.beganAt ??= uptimeSeconds()
    host.registry.began(kernel, directory.statusTimes(kernel.outputPath).startedAt)
    host.wake()
  }
  // A job may run before `sbatch` has returned. Until `sbatch` has returned, a job that has not been seen is not
  // judged.
  if (!kernel.handedOver) return moved
  if (kernel.killAt !== null && !claimed) stopUnbegun(host, kernel)
  if (!hasEnded(kernel)) conclude(host, kernel, now)
  if (!hasEnded(kernel)) enforceStop(host, kernel)
  return moved
}

/**
 * Lists the directory. On network file systems, too, listing it again shows what another node has created; its first
 * entries are enough for that.
 *
 * @returns all names in it; null if its program has created many
 */
function namesIn(path: string): string[] | null {
  if (statSync(path).size <= DIRECTORY_BYTES_MAX) return readdirSync(path)
  const opened = opendirSync(path)
  try {
    opened.readSync()
    return null
  } finally {
    opened.closeSync()
  }
}

/** @returns the names in the directory; null if they are unknown */
function readStatus(kernel: SlurmKernel, now: number): string[] | null {
  let names: string[] | null
  try {
    names = namesIn(kernel.outputPath)
  } catch (error) {
    // The program has moved the directory: the last reading remains valid, unless all kernels are unavailable.
    if (!isNoFile(error) || !existsSync(dirname(kernel.path))) throw error
    return null
  }
  const before = kernel.status
  kernel.status = readJobStatus(kernel, before, names)
  if (kernel.status.claimed !== before.claimed || (kernel.status.began === null) !== (before.began === null)) {
    Object.assign(kernel, { statusSeenAt: now, row: 'unknown', missed: 0, rowSince: now })
  }
  if (kernel.status.exitCode !== null) kernel.exitSeenAt ??= now
  return names
}

function conclude(host: SlurmHost, kernel: SlurmKernel, now: number): void {
  const stopOrdered = (kernel.killAt !== null || kernel.removing) && !hasEndedByItself(kernel)
  const stopError = stopOrdered ? kernel.stopError : null
  const verdict = judgeJob({
    status: kernel.status,
    row: kernel.row,
    startedAgain: () => statIfThere(join(kernel.outputPath, 'again')) !== null,
    rowAgeMs: now - kernel.rowSince,
    endedForMs: kernel.exitSeenAt === null ? null : now - kernel.exitSeenAt,
    stopOrdered,
    stopError,
    memoryLimitBytes: memoryLimit(kernel.spec),
    slurmOutput: () => slurmOutput(kernel),
    whyNotRun: () => whyNotRun(host, kernel),
    ofGpuMemory: () => ofGpuMemory(kernel),
  })
  if (verdict.kind === 'waits') return show(host, kernel, verdict.reason)
  if (verdict.kind === 'runs') return
  if (verdict.kind === 'not-run') return giveUp(host, kernel, verdict)
  const { exitCode, oomKilled, error, gone } = verdict
  concludeDevices(kernel)
  host.registry.exited(kernel, {
    exitCode,
    oomKilled,
    error,
    endedAt: exitCode === null ? new Date().toISOString() : directory.statusTimes(kernel.outputPath).endedAt,
    usage: null,
    stopOrdered,
    stopError,
    ranSeconds: kernel.status.ranSeconds,
    lingers: !gone,
  })
  if (kernel.gpus !== null) host.gpusChanged()
  if (!gone) linger(host, kernel, now)
}

/**
 * Whether no signal had reached it when it ended, so that a stop ordered meanwhile was not the cause. The job and its
 * keeper record each signal before they pass it on. Jobs of older versions do not write `ran`, and their keepers do not
 * record all signals.
 */
function hasEndedByItself({ status }: SlurmKernel): boolean {
  const { exitCode, ranSeconds, signalled, stopping, fenced } = status
  return exitCode !== null && ranSeconds !== null && !signalled && !stopping && !fenced
}

function show(host: SlurmHost, kernel: SlurmKernel, reason: string | null): void {
  const start = kernel.row !== null && kernel.row !== 'unknown' ? kernel.row.start : null
  const note = reason === null ? kernel.note : `queued by Slurm: ${reason}${start === null ? '' : `, about ${start}`}`
  if (note === kernel.note) return
  kernel.note = note
  host.registry.changed()
}

/** Claims the kernel, so that no job runs it any more. Then it is submitted again, or fails. */
function giveUp(
  host: SlurmHost,
  kernel: SlurmKernel,
  { again, error }: { again: boolean; error: { name: string; message: string } },
): void {
  if (!kernel.status.never && !directory.claimStatus(kernel.outputPath, 'never')) return
  if (kernel.killAt !== null || kernel.removing) return host.registry.endBeforeRunning(kernel, kernel.stopError)
  if (!again || kernel.submissions >= SUBMISSIONS_MAX) return host.registry.fail(kernel, error.name, error.message)
  host.log.warn({ kernelId: kernel.id, error: error.message }, 'a job never began; it is submitted again')
  // An earlier instance has submitted it, perhaps with other options.
  if (!makeRequest(host, kernel)) return
  kernel.handedOver = false
  kernel.submit = null
  kernel.status = NO_STATUS
  unlinkSync(join(kernel.outputPath, 'status'))
  host.enqueue(kernel)
}

function linger(host: SlurmHost, kernel: SlurmKernel, now: number): void {
  kernel.lingersSince = now
  host.log.warn({ kernelId: kernel.id, node: hostOf(kernel), error: kernel.error?.message }, 'a job is out of reach')
  try {
    directory.writeMark(kernel.path, 'stop', { killAt: Date.now(), error: kernel.error })
    showStop(host, kernel)
  } catch (error) {
    host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'the stop of a job could not be recorded')
  }
  cancelJob(host, kernel)
}

/**
 * Checks whether anything of a lost kernel still runs. Nothing does once its keeper reports that, its node is back
 * without it, or its lease expired long ago.
 */
function lookForRest(host: SlurmHost, kernel: SlurmKernel, now: number, asking: Set<SlurmKernel>): void {
  readStatus(kernel, now)
  const { exitCode, killed } = kernel.status
  const ttl = host.lease.ttlSeconds
  const leaseMs = ttl === null ? UNKNOWN_LEASE_MS : ttl * 1000
  if (exitCode !== null || killed || now - kernel.lingersSince >= leaseMs + GONE_AFTER_LEASE_MS) {
    return host.registry.gone(kernel)
  }
  const node = hostOf(kernel)
  if (node === null || node === '' || asking.has(kernel)) return
  asking.add(kernel)
  void host.commands
    .isNodeUp(node)
    .then((up) => void (up && isOff(kernel) && host.registry.gone(kernel)))
    .catch(() => undefined)
    .finally(() => setTimeout(() => asking.delete(kernel), host.options.pollMs).unref())
}

/** Whether Slurm no longer reports it as running. */
function isOff({ row }: SlurmKernel): boolean {
  return row === null || (row !== 'unknown' && isJobOver(row.state))
}

/** Returns the last line that Slurm itself has written, for people. */
function slurmOutput({ outputPath }: SlurmKernel): string {
  return readEnd(join(outputPath, 'slurm.out'), OUTPUT_READ_BYTES).trim().split('\n').at(-1)!.slice(0, 500)
}

function ofGpuMemory(kernel: SlurmKernel): FailureError | null {
  const output = readEnd(directory.logPath(kernel.outputPath, 'STDERR'), OUTPUT_READ_BYTES)
  return gpuMemoryFailure(kernel, output, kernel.status.exitCode ?? 0)
}

/** A message of the shell that runs the command, or of `env`, is among the last lines. */
const OUTPUT_READ_BYTES = 4_096

/**
 * Explains why the command could not be run. The agent sees the nodes' files only as far as they are shared, so what it
 * finds counts only if the shell on the node has complained as well. Lines that end as on Windows are a fact about the
 * file itself.
 */
function whyNotRun(host: SlurmHost, kernel: SlurmKernel): string | null {
  const { spec, path, user, outputPath, token } = kernel
  const { exitCode } = kernel.status
  const machine = `node ${hostOf(kernel) ?? '?'}`
  const work = join(path, 'work')
  const view = { work, chain: work, uid: user?.uid ?? null, namespaces: null, machine }
  const image = kernel.image ?? pullImage(host.presets, spec.image, host.path)
  const fault = typeof image === 'string' ? null : faultOfCommand(spec, exitCode, { image, path: host.path, view })
  if (fault?.kind === 'line-ends') return fault.text
  const last = readEnd(directory.logPath(outputPath, 'STDERR'), OUTPUT_READ_BYTES).trimEnd().split('\n').at(-1)!
  const ofShell = last.includes(`/${kernel.id}/run.${token}: `)
  if (!ofShell && !/^(\/usr)?(\/bin\/)?env: /.test(last)) return null
  if (fault !== null) return fault.text
  if (!ofShell || (exitCode !== 126 && exitCode !== 127)) return null
  const [program = ''] = spec.command
  return exitCode === 127
    ? `command not found: there is no ${program} on ${machine}`
    : `${program} cannot be run on ${machine}: ${last.split(': ').at(-1)}`
}
