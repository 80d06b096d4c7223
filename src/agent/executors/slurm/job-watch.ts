import { existsSync, readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../../observability/error-message.ts'
import { readControlFile } from '../../control-file.ts'
import { hasEnded } from '../kernel-book/kernel-entry.ts'
import * as directory from '../kernel-directory/kernel-directory.ts'
import { hasLogGrown } from '../kernel-directory/log-growth.ts'
import { judgeJob, WAITING } from './judge-job.ts'
import type { JobRow } from './parse-squeue.ts'
import { makeRequest } from './prepare-kernel.ts'
import type { SlurmHost } from './slurm-host.ts'
import { keyOf, memoryLimit, type SlurmKernel } from './slurm-kernel.ts'
import { parseJobStatus } from './slurm-status.ts'

/** A look at the directories costs little, and shows what Slurm does not say. */
const LOOK_MAX_MS = 1_000
/** Behind the time at which the keeper should have ended it. */
const CANCEL_AFTER_MS = 10_000
/** Behind the lease, until what was started under it is gone for sure. */
const GONE_AFTER_LEASE_MS = 30_000
/** The lease of earlier instances is not known before the server has answered; longer than any fence that is usual. */
const UNKNOWN_LEASE_MS = 3_600_000
const SUBMISSIONS_MAX = 3

/**
 * Asks Slurm for all jobs in one call per interval, and looks at the directories of all live kernels. What both say
 * together is judged by judgeJob.
 */
export function createJobWatch(host: SlurmHost): JobWatch {
  const lookMs = Math.min(LOOK_MAX_MS, host.options.pollMs)
  const asking = new Set<SlurmKernel>()
  let lookTimer: NodeJS.Timeout | undefined
  let pollTimer: NodeJS.Timeout | undefined
  let polled: Promise<void> = Promise.resolve()
  let cancelling: Promise<void> = Promise.resolve()
  let answers = 0
  let silent = false

  function look(): void {
    lookTimer = undefined
    const now = performance.now()
    let grown = false
    host.dropStopped()
    for (const kernel of host.book.kernels.values()) {
      try {
        lookAt(host, kernel, now, asking)
      } catch (error) {
        host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'a kernel could not be looked at')
      }
      grown = hasLogGrown(kernel, now) || grown
    }
    if (grown) host.book.changed()
    wake()
  }

  function wake(): void {
    if (host.book.closed || !hasWork(host)) return
    lookTimer ??= setTimeout(look, lookMs).unref()
    pollTimer ??= setTimeout(() => void (polled = poll()), host.options.pollMs).unref()
  }

  async function poll(): Promise<void> {
    const askedAt = performance.now()
    try {
      apply(await host.commands.list([String(process.getuid?.() ?? 0)]), askedAt)
      answers += 1
      if (silent) host.log.info('Slurm answers again')
      silent = false
    } catch (error) {
      if (!silent) host.log.warn({ error: messageOf(error) }, 'Slurm does not answer')
      silent = true
      for (const kernel of host.book.kernels.values()) kernel.row = 'unknown'
    }
    pollTimer = undefined
    wake()
  }

  function apply(rows: readonly JobRow[], askedAt: number): void {
    const byKey = Map.groupBy(rows, ({ key }) => key)
    const byId = new Map(rows.filter(({ name }) => name.startsWith('rp-')).map((row) => [row.jobId, row]))
    for (const kernel of host.book.kernels.values()) {
      // It may have been submitted while Slurm was answering.
      if (kernel.submit === null || Math.max(kernel.submittedAt, kernel.statusSeenAt) >= askedAt) continue
      const { began } = kernel.status
      // The job that began is the one that counts, whichever of several submissions it is; before, one that still may.
      noteRow(kernel, began === null ? pickRow(byKey.get(keyOf(kernel.submit))) : (byId.get(began.jobId) ?? null))
    }
    const needless = needlessJobs(host, rows, answers === 0)
    if (needless.size > 0) cancelling = cancelling.then(() => cancelAll(host, needless))
    look()
  }

  return {
    wake,
    async close() {
      clearTimeout(lookTimer)
      clearTimeout(pollTimer)
      await polled
    },
  }
}

export interface JobWatch {
  wake(): void
  close(): Promise<void>
}

function hasWork({ book }: SlurmHost): boolean {
  return [...book.kernels.values()].some(
    (kernel) => kernel.phase === 'LAUNCHING' || kernel.phase === 'RUNNING' || kernel.lingers || startsAgain(kernel.row),
  )
}

/** Slurm is about to start its job another time: that is prevented once it waits, see needlessJobs. */
function startsAgain(row: SlurmKernel['row']): boolean {
  if (row === null || row === 'unknown' || isOver(row.state)) return false
  return WAITING.has(row.state) || row.restarts > 0
}

function pickRow(rows: readonly JobRow[] = []): JobRow | null {
  return rows.find(({ state }) => !isOver(state)) ?? rows.at(-1) ?? null
}

function isOver(state: string): boolean {
  return /^(BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|TIMEOUT|REVOKED)/.test(
    state,
  )
}

/**
 * A job that one answer does not list may be between two states of Slurm; two in a row are believed. Slurm forgets ended
 * jobs, which does not change how they ended.
 */
function noteRow(kernel: SlurmKernel, row: JobRow | null): void {
  if (row === null && kernel.row !== null && isOver(stateOf(kernel.row))) return
  kernel.missed = row === null ? kernel.missed + 1 : 0
  if (row === null && kernel.missed < 2) return
  if (stateOf(kernel.row) !== stateOf(row)) kernel.rowSince = performance.now()
  kernel.row = row
}

function stateOf(row: SlurmKernel['row']): string {
  return row === null || row === 'unknown' ? String(row) : row.state
}

function lookAt(host: SlurmHost, kernel: SlurmKernel, now: number, asking: Set<SlurmKernel>): void {
  if (kernel.lingers) return lookForRest(host, kernel, now, asking)
  if (hasEnded(kernel) || kernel.submit === null) return
  if (kernel.phase !== 'LAUNCHING' && kernel.phase !== 'RUNNING') return
  readStatus(kernel, now)
  if (kernel.status.began !== null && kernel.phase === 'LAUNCHING') {
    host.book.began(kernel, directory.statusTimes(kernel.path).startedAt)
  }
  // A job may run before `sbatch` has said so, which is what is waited for where nothing of it is seen.
  if (!kernel.handedOver) return
  conclude(host, kernel, now)
  if (!hasEnded(kernel)) enforceStop(host, kernel)
}

/** A directory that is read anew shows what another node has put there, on network file systems, too. */
function readStatus(kernel: SlurmKernel, now: number): void {
  try {
    readdirSync(kernel.path)
  } catch (error) {
    // The program has moved it: what was last read stands.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const before = kernel.status
  kernel.status = parseJobStatus(readControlFile(join(kernel.path, 'status')))
  if (kernel.status.claimed !== before.claimed || (kernel.status.began === null) !== (before.began === null)) {
    Object.assign(kernel, { statusSeenAt: now, row: 'unknown', missed: 0, rowSince: now })
  }
  if (kernel.status.exitCode !== null) kernel.exitSeenAt ??= now
}

function conclude(host: SlurmHost, kernel: SlurmKernel, now: number): void {
  const stopOrdered = kernel.killAt !== null || kernel.removing
  const verdict = judgeJob({
    status: kernel.status,
    row: kernel.row,
    startedAgain: existsSync(join(kernel.path, 'again')),
    rowAgeMs: now - kernel.rowSince,
    endedForMs: kernel.exitSeenAt === null ? null : now - kernel.exitSeenAt,
    stopOrdered,
    stopError: kernel.stopError,
    memoryLimitBytes: memoryLimit(kernel.spec),
    slurmOutput: () => slurmOutput(kernel),
  })
  if (verdict.kind === 'waits') return show(host, kernel, verdict.reason)
  if (verdict.kind === 'runs') return
  if (verdict.kind === 'not-run') return giveUp(host, kernel, verdict)
  const { exitCode, oomKilled, error, gone } = verdict
  host.book.exited(kernel, {
    exitCode,
    oomKilled,
    error,
    endedAt: exitCode === null ? new Date().toISOString() : directory.statusTimes(kernel.path).endedAt,
    usage: null,
    stopOrdered,
    stopError: kernel.stopError,
    lingers: !gone,
  })
  if (!gone) linger(host, kernel, now)
}

function show(host: SlurmHost, kernel: SlurmKernel, reason: string | null): void {
  const start = kernel.row !== null && kernel.row !== 'unknown' ? kernel.row.start : null
  const note = reason === null ? kernel.note : `queued by Slurm: ${reason}${start === null ? '' : `, about ${start}`}`
  if (note === kernel.note) return
  kernel.note = note
  host.book.changed()
}

/** Claims it, so that no job runs it any more; then it is submitted again, or has failed. */
function giveUp(
  host: SlurmHost,
  kernel: SlurmKernel,
  { again, error }: { again: boolean; error: { name: string; message: string } },
): void {
  if (!kernel.status.never && !directory.claimStatus(kernel.path, 'never')) return
  if (kernel.killAt !== null || kernel.removing) return host.book.endBeforeRunning(kernel, kernel.stopError)
  if (!again || kernel.submissions >= SUBMISSIONS_MAX) return host.book.fail(kernel, error.name, error.message)
  host.log.warn({ kernelId: kernel.id, error: error.message }, 'a job never began; it is submitted again')
  // An earlier instance has submitted it, perhaps with other options.
  if (!makeRequest(host, kernel)) return
  kernel.handedOver = false
  kernel.submit = null
  unlinkSync(join(kernel.path, 'status'))
  host.enqueue(kernel)
}

/** What the keeper has not ended in time. */
function enforceStop(host: SlurmHost, kernel: SlurmKernel): void {
  if (kernel.killAt === null || kernel.cancelled || Date.now() < kernel.killAt + CANCEL_AFTER_MS) return
  kernel.cancelled = true
  cancelJob(host, kernel)
}

function linger(host: SlurmHost, kernel: SlurmKernel, now: number): void {
  kernel.lingersSince = now
  host.log.warn({ kernelId: kernel.id, node: hostOf(kernel), error: kernel.error?.message }, 'a job is out of reach')
  directory.writeMark(kernel.path, 'stop', { killAt: Date.now(), error: kernel.error })
  cancelJob(host, kernel)
}

/** Nothing of it runs once its keeper says so, its node is back without it, or its lease has run out long ago. */
function lookForRest(host: SlurmHost, kernel: SlurmKernel, now: number, asking: Set<SlurmKernel>): void {
  readStatus(kernel, now)
  const { exitCode, killed } = kernel.status
  const ttl = host.lease.ttlSeconds
  const leaseMs = ttl === null ? UNKNOWN_LEASE_MS : ttl * 1000
  if (exitCode !== null || killed || now - kernel.lingersSince >= leaseMs + GONE_AFTER_LEASE_MS) {
    return host.book.gone(kernel)
  }
  const node = hostOf(kernel)
  if (node === null || node === '' || asking.has(kernel)) return
  asking.add(kernel)
  void host.commands
    .isNodeUp(node)
    .then((up) => void (up && isOff(kernel) && host.book.gone(kernel)))
    .catch(() => undefined)
    .finally(() => setTimeout(() => asking.delete(kernel), host.options.pollMs).unref())
}

/** Slurm does not call it running any more. */
function isOff({ row }: SlurmKernel): boolean {
  return row === null || (row !== 'unknown' && isOver(row.state))
}

/** The kernels of a gang share a job, which goes when none of them is wanted. */
export function cancelJob(host: SlurmHost, kernel: SlurmKernel, signal?: 'TERM'): void {
  if (kernel.submit === null) return
  const { name, task } = kernel.submit
  if (task === null && [...host.book.kernels.values()].some((other) => sharesJob(kernel, other))) return
  const jobId = task === null ? undefined : jobIdOf(kernel)
  if (task !== null && jobId === undefined) return
  void host.commands
    .cancel(name, { jobId, signal })
    .catch((error: unknown) => host.log.debug({ kernelId: kernel.id, error: messageOf(error) }, 'scancel did not work'))
}

function sharesJob(kernel: SlurmKernel, other: SlurmKernel): boolean {
  if (other === kernel || hasEnded(other) || other.submit?.name !== kernel.submit?.name) return false
  return other.killAt === null || Date.now() < other.killAt + CANCEL_AFTER_MS
}

function jobIdOf({ row, status }: SlurmKernel): string | undefined {
  if (row !== null && row !== 'unknown') return row.cancelId
  return status.began?.jobId || undefined
}

export function hostOf({ row, status }: SlurmKernel): string | null {
  if (status.began !== null && status.began.node !== '') return status.began.node
  return row === null || row === 'unknown' || row.node === '' ? null : row.node
}

/**
 * Jobs of this agent that no kernel needs: a dying agent's submission that has succeeded late, one whose cancellation
 * Slurm has not heard, or one whose kernel runs as another job. They would do nothing, but take a place in the queue.
 *
 * @param first whether those that run are meant, too: later on their kernels may just have been forgotten
 * @returns for each name which of its jobs; null for all
 */
function needlessJobs(host: SlurmHost, rows: readonly JobRow[], first: boolean): Map<string, string[] | null> {
  const kernels = Map.groupBy(
    [...host.book.kernels.values()].filter(({ submit }) => submit !== null),
    ({ submit }) => keyOf(submit!),
  )
  const isNeeded = ({ key, jobId }: JobRow) =>
    kernels.get(key)?.some((each) => !hasEnded(each) && (each.status.began?.jobId ?? jobId) === jobId) === true
  const mine = rows.filter(
    ({ name, comment }) => name.startsWith('rp-') && comment.startsWith(`reprise agent=${host.agentId} `),
  )
  const needless = mine.filter((row) =>
    WAITING.has(row.state) ? !isNeeded(row) : first && !isOver(row.state) && !kernels.has(row.key),
  )
  const ofName = Map.groupBy(mine, ({ name }) => name)
  return new Map(
    [...Map.groupBy(needless, ({ name }) => name)].map(([name, jobs]) => [
      name,
      jobs.length === ofName.get(name)!.length ? null : jobs.map(({ cancelId }) => cancelId),
    ]),
  )
}

async function cancelAll(host: SlurmHost, jobs: ReadonlyMap<string, string[] | null>): Promise<void> {
  for (const [name, ids] of jobs) {
    for (const jobId of ids ?? [undefined]) await host.commands.cancel(name, { jobId }).catch(() => undefined)
  }
}

/** The last line of what Slurm itself has written, for people. */
function slurmOutput({ path }: SlurmKernel): string {
  return (readControlFile(join(path, 'slurm.out'), 1024 * 1024) ?? '').trim().split('\n').at(-1)?.slice(0, 500) ?? ''
}
