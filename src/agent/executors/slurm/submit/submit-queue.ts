import { messageOf } from '../../../../observability/error-message.ts'
import { guarded } from '../../../../waiting/wait.ts'
import { claimStatus } from '../../kernels/kernel-directory.ts'
import { gangSize, type SlurmHost, type SlurmKernel } from '../slurm-host.ts'
import { submit } from './submit-batch.ts'

const AT_ONCE_MAX = 4
/** Slurm's own limit by default. The limit of a cluster is found out by trying. */
const ARRAY_MAX = 1_000
/** Time in which equal kernels gather before a first call. Later calls take as long as they take. */
const GATHER_MS = 20
const PAUSE_MIN_MS = 1_000
const PAUSE_MAX_MS = 60_000

/**
 * Submits kernels to Slurm, in the order of their starts. Equal kernels become an array of jobs; the kernels of one
 * session become one job. If Slurm does not accept a job now, it is tried again after 1, 2, 4 … 60 s, and the kernel
 * reports why it waits.
 *
 * `submit` is written before `sbatch` is called. A crash in between, or a dying agent's `sbatch` that succeeds late,
 * may leave a job that no agent knows of. The claim lets only one of several jobs run the command.
 */
export function createSubmitQueue(host: SlurmHost): SubmitQueue {
  const waiting = new Set<SlurmKernel>()
  /** Submissions in progress, by batchKey. */
  const running = new Set<string>()
  let arrayMax = ARRAY_MAX
  let failures = 0
  let retryAt = 0
  let timer: NodeJS.Timeout | undefined

  function pump(): void {
    timer = undefined
    dropStopped()
    if (host.presence.fault !== null) return schedule(PAUSE_MIN_MS)
    const refusal = host.lease.refusal()
    if (refusal !== null) return later(refusal, PAUSE_MIN_MS)
    if (performance.now() < retryAt) return schedule(retryAt - performance.now())
    while (running.size < AT_ONCE_MAX) {
      const room = host.options.queueJobs - jobsOf(host)
      const batch = nextBatch(waiting, Math.min(room, arrayMax), host.registry.kernels.values(), running)
      const [first] = batch
      if (first === undefined) break
      const key = batchKey(first)
      for (const kernel of batch) waiting.delete(kernel)
      running.add(key)
      submit(host, batch)
        .then((again) => {
          if (again === null) succeeded()
          else if (again.tooMany && batch.length > 1) divide(batch)
          else failed(batch, again.reason)
        })
        .catch((error: unknown) => failed(batch, messageOf(error)))
        .finally(() => {
          running.delete(key)
          schedule(0)
        })
    }
  }

  function pumpFailed(error: unknown): void {
    host.log.error({ error: messageOf(error) }, 'a submission to Slurm failed unexpectedly')
    schedule(PAUSE_MIN_MS)
  }

  function succeeded(): void {
    failures = 0
  }

  function divide(batch: readonly SlurmKernel[]): void {
    arrayMax = Math.min(arrayMax, Math.floor(batch.length / 2))
    host.log.info({ tasks: batch.length, arrayMax }, 'Slurm accepts no array of this size')
    putBack(batch)
  }

  function putBack(batch: readonly SlurmKernel[]): void {
    for (const kernel of batch) if (isSubmittable(kernel)) waiting.add(kernel)
  }

  function failed(batch: readonly SlurmKernel[], reason: string): void {
    failures += 1
    const pauseMs = Math.min(PAUSE_MIN_MS * 2 ** (failures - 1), PAUSE_MAX_MS)
    retryAt = performance.now() + pauseMs
    if (failures === 1) host.log.warn({ reason }, 'Slurm does not take jobs now')
    putBack(batch)
    later(reason, pauseMs)
  }

  function later(reason: string, pauseMs: number): void {
    if (waiting.size === 0) return
    let changed = false
    for (const kernel of waiting) {
      changed ||= kernel.note !== reason
      kernel.note = reason
    }
    if (changed) host.registry.changed()
    schedule(pauseMs)
  }

  /** Ends stopped kernels here, since nothing runs them, unless a submission that seemed to fail has succeeded. */
  function dropStopped(): void {
    for (const kernel of waiting) {
      if (isSubmittable(kernel) && kernel.killAt === null) continue
      const never = !isSubmittable(kernel) || kernel.submissions === 0 || giveUp(kernel)
      if (never === null) continue
      waiting.delete(kernel)
      if (!isSubmittable(kernel)) continue
      if (never) {
        host.registry.endBeforeRunning(kernel, kernel.stopError)
      } else {
        kernel.handedOver = true
        host.registry.applyStop(kernel)
      }
    }
  }

  /** @returns whether nothing runs it any more; null if that is unknown while the directory is unavailable */
  function giveUp({ id, outputPath }: SlurmKernel): boolean | null {
    if (host.presence.fault !== null) return null
    try {
      return claimStatus(outputPath, 'never')
    } catch (error) {
      host.log.debug({ kernelId: id, error: messageOf(error) }, 'the start of a kernel could not be given up')
      return null
    }
  }

  function schedule(pauseMs: number): void {
    if (host.registry.closed || waiting.size === 0 || timer !== undefined) return
    timer = setTimeout(guarded(pump, pumpFailed), pauseMs).unref()
  }

  return {
    add(kernel) {
      waiting.add(kernel)
      schedule(GATHER_MS)
    },
    dropStopped,
    close: () => clearTimeout(timer),
  }
}

export interface SubmitQueue {
  add(kernel: SlurmKernel): void
  /** Ends kernels whose stop was ordered while they waited. */
  dropStopped(): void
  close(): void
}

function isSubmittable({ phase }: SlurmKernel): boolean {
  return phase === 'LAUNCHING'
}

function jobsOf({ registry }: SlurmHost): number {
  return [...registry.kernels.values()].filter(
    ({ phase, handedOver }) => handedOver && (phase === 'LAUNCHING' || phase === 'RUNNING'),
  ).length
}

/**
 * Returns the first waiting kernel with all others that can be submitted with it. Returns none if there is no room, or
 * if every gang is still incomplete. While some kernels are being submitted, equal ones gather: the more there are, the
 * fewer calls.
 */
function nextBatch(
  waiting: ReadonlySet<SlurmKernel>,
  room: number,
  all: Iterable<SlurmKernel>,
  running: ReadonlySet<string>,
): SlurmKernel[] {
  if (room <= 0) return []
  let bySession: Map<string, SlurmKernel[]> | undefined
  for (const first of waiting) {
    if (gangSize(first) === 1) {
      if (running.has(batchKey(first))) continue
      return equalTo(first, waiting, room)
    }
    bySession ??= Map.groupBy(all, ({ spec }) => spec.sessionId)
    const gang = bySession.get(first.spec.sessionId)!
    const ready = gang.length === gangSize(first) && gang.every((kernel) => waiting.has(kernel) || hasBegun(kernel))
    if (ready) return gang.filter((kernel) => waiting.has(kernel)).toSorted(byRole)
  }
  return []
}

/**
 * Whether it may run or have run, as kernels of a gang that is submitted again may. A stopped kernel that has not begun
 * needs no start.
 */
function hasBegun({ startedAt }: SlurmKernel): boolean {
  return startedAt !== null
}

function equalTo(first: SlurmKernel, waiting: ReadonlySet<SlurmKernel>, room: number): SlurmKernel[] {
  const key = batchKey(first)
  const equal = [...waiting].filter((kernel) => gangSize(kernel) === 1 && batchKey(kernel) === key)
  return equal.slice(0, room)
}

function byRole(a: SlurmKernel, b: SlurmKernel): number {
  return a.spec.role.localeCompare(b.spec.role) || a.spec.index - b.spec.index
}

/**
 * Returns a key for kernels that may share a job. A job has one user, as have the tasks of an array. A gang is its own
 * job.
 */
function batchKey(kernel: SlurmKernel): string {
  const { user, request, exclusion, spec } = kernel
  return JSON.stringify([user, request, exclusion, gangSize(kernel) === 1 ? null : spec.sessionId])
}
