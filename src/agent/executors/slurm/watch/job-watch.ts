import { messageOf } from '../../../../observability/error-message.ts'
import { guarded } from '../../../../waiting/wait.ts'
import { hasEnded } from '../../kernels/kernel-entry.ts'
import { hasLogGrown } from '../../kernels/kernel-logs.ts'
import { uidOf } from '../job-users.ts'
import { WAITING } from '../judge-job.ts'
import { isJobOver, type JobRow } from '../slurm-status.ts'
import { keyOf, type SlurmHost, type SlurmKernel } from '../slurm-host.ts'
import { cancelNeedless, enforceStop, needlessJobs } from './stop-job.ts'
import { lookAt } from './look-at-job.ts'

/** Longest interval of checks of the directories, which show what Slurm does not report. */
const LOOK_MAX_MS = 1_000
/** Shortest interval, while jobs begin and end, because the next ones wait for their places. */
const LOOK_MIN_MS = 100
/** Limits the load on the shared directory to a thousand kernels per second, however many there are. */
const LOOK_PER_KERNEL_MS = 1

/**
 * Asks Slurm for all jobs in one call per interval, and checks the directories of all live kernels. judgeJob then
 * judges both together.
 */
export function createJobWatch(host: SlurmHost): JobWatch {
  const lookMaxMs = Math.min(LOOK_MAX_MS, host.options.pollMs)
  let lookMs = LOOK_MIN_MS
  let lookAtMs = 0
  const asking = new Set<SlurmKernel>()
  let lookTimer: NodeJS.Timeout | undefined
  let pollTimer: NodeJS.Timeout | undefined
  let polled: Promise<void> = Promise.resolve()
  let cancelling: Promise<void> = Promise.resolve()
  let suspects: ReadonlySet<string> | null = null
  let looking: Promise<void> | null = null
  let wasAway = false

  const failed = (error: unknown) => host.log.warn({ error: messageOf(error) }, 'a check of jobs failed')

  /** Never rejects. */
  function look(): Promise<void> {
    return (looking ??= lookOnce()
      .catch((error: unknown) => {
        failed(error)
        goOn()
      })
      .finally(() => (looking = null)))
  }

  /**
   * Checks the directories once. An unavailable directory shows nothing, and one that hangs would block this process.
   */
  async function lookOnce(): Promise<void> {
    const isAway = (await host.presence.look()) !== null
    if (host.registry.closed) return
    host.dropStopped()
    const moved = isAway ? enforceStops() : lookAtAll()
    lookMs = moved ? LOOK_MIN_MS : lookMs * 2
    wasAway = isAway
    goOn()
  }

  function enforceStops(): false {
    for (const kernel of host.registry.kernels.values()) if (!hasEnded(kernel)) enforceStop(host, kernel)
    return false
  }

  /** @returns whether a kernel has begun or ended meanwhile */
  function lookAtAll(): boolean {
    const now = performance.now()
    let grown = false
    let moved = false
    for (const kernel of host.registry.kernels.values()) {
      try {
        if (wasAway) resume(host, kernel, now)
        moved = lookAt(host, kernel, now, asking) || moved
      } catch (error) {
        host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'a kernel could not be checked')
      }
      grown = hasLogGrown(kernel, now) || grown
    }
    if (grown) host.registry.changed()
    return moved
  }

  function wake(): void {
    lookMs = LOOK_MIN_MS
    goOn()
  }

  function goOn(): void {
    if (host.registry.closed || !(hasWork(host) || (suspects?.size ?? 0) > 0)) return
    lookMs = Math.min(Math.max(lookMs, host.registry.kernels.size * LOOK_PER_KERNEL_MS), lookMaxMs)
    const at = performance.now() + lookMs
    if (lookTimer === undefined || at < lookAtMs) {
      clearTimeout(lookTimer)
      lookTimer = setTimeout(guarded(lookAgain, failed), lookMs).unref()
      lookAtMs = at
    }
    pollTimer ??= setTimeout(
      guarded(() => (polled = poll()), failed),
      host.options.pollMs,
    ).unref()
  }

  function lookAgain(): void {
    lookTimer = undefined
    look().catch(failed)
  }

  async function poll(): Promise<void> {
    const askedAt = performance.now()
    try {
      await apply(await host.commands.list(usersOf(host)), askedAt)
      host.contact.answered()
    } catch (error) {
      host.contact.silent(messageOf(error))
      for (const kernel of host.registry.kernels.values()) kernel.row = 'unknown'
    }
    pollTimer = undefined
    goOn()
  }

  async function apply(rows: readonly JobRow[], askedAt: number): Promise<void> {
    const byKey = Map.groupBy(rows, ({ key }) => key)
    const byId = new Map(rows.filter(({ name }) => name.startsWith('rp-')).map((row) => [row.jobId, row]))
    for (const kernel of host.registry.kernels.values()) {
      // The kernel may have been submitted while Slurm was answering, so its job may be missing in the answer.
      if (kernel.submit === null || Math.max(kernel.submittedAt, kernel.statusSeenAt) >= askedAt) continue
      const { began } = kernel.status
      // Once a job of the kernel has begun, only that job counts, even if it came from an earlier submission. Before,
      // any job that may still begin counts.
      noteRow(kernel, began === null ? pickRow(byKey.get(keyOf(kernel))) : ownRow(kernel, byId.get(began.jobId)))
    }
    const needless = needlessJobs(host, rows, suspects)
    suspects = needless.suspects
    if (needless.jobs.length > 0) cancelling = cancelling.then(() => cancelNeedless(host, needless.jobs))
    await look()
  }

  return {
    wake,
    async close() {
      clearTimeout(lookTimer)
      clearTimeout(pollTimer)
      await Promise.all([polled, looking])
    },
  }
}

/**
 * Continues with a kernel after its directory was unavailable. Only now can it show what Slurm has reported meanwhile,
 * and a stop can be written.
 */
function resume({ registry }: SlurmHost, kernel: SlurmKernel, now: number): void {
  kernel.rowSince = now
  if (kernel.killAt !== null && kernel.handedOver && !hasEnded(kernel)) registry.applyStop(kernel)
}

export interface JobWatch {
  wake(): void
  close(): Promise<void>
}

function hasWork({ registry }: SlurmHost): boolean {
  return [...registry.kernels.values()].some(
    (kernel) => kernel.phase === 'LAUNCHING' || kernel.phase === 'RUNNING' || kernel.lingers || startsAgain(kernel.row),
  )
}

/** Whether Slurm is about to start its job another time. Once that job waits, it is cancelled; see needlessJobs. */
function startsAgain(row: SlurmKernel['row']): boolean {
  if (row === null || row === 'unknown' || isJobOver(row.state)) return false
  return WAITING.has(row.state) || row.restarts > 0
}

function usersOf({ options, registry }: SlurmHost): number[] {
  const users = [null, ...Object.values(options.users ?? {}), ...[...registry.kernels.values()].map(({ user }) => user)]
  return [...new Set(users.map(uidOf))]
}

/** Returns the row only if it belongs to the kernel's user: a program may have written any job id. */
function ownRow({ user }: SlurmKernel, row: JobRow | undefined): JobRow | null {
  return row?.uid === uidOf(user) ? row : null
}

function pickRow(rows: readonly JobRow[] = []): JobRow | null {
  return rows.find(({ state }) => !isJobOver(state)) ?? rows.at(-1) ?? null
}

/**
 * Records the row. A missing job may be between two states of Slurm, so only two answers in a row count. Slurm forgets
 * ended jobs, which does not change how they ended.
 */
function noteRow(kernel: SlurmKernel, row: JobRow | null): void {
  if (row === null && kernel.row !== null && isJobOver(stateOf(kernel.row))) return
  kernel.missed = row === null ? kernel.missed + 1 : 0
  if (row === null && kernel.missed < 2) return
  if (stateOf(kernel.row) !== stateOf(row)) kernel.rowSince = performance.now()
  kernel.row = row
}

function stateOf(row: SlurmKernel['row']): string {
  return row === null || row === 'unknown' ? String(row) : row.state
}
