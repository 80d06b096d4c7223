import { messageOf } from '../../../../observability/error-message.ts'
import { guarded } from '../../../../waiting/wait.ts'
import { claimStatus } from '../../kernels/kernel-directory.ts'
import { gangSize, type SlurmHost, type SlurmKernel } from '../slurm-host.ts'
import { submit } from './submit-batch.ts'

const AT_ONCE_MAX = 4
/** Slurm's own bound where nothing else is configured; what a cluster takes is found out. */
const ARRAY_MAX = 1_000
/** In which equal ones gather, before a first call; behind that, as long as it takes. */
const GATHER_MS = 20
const PAUSE_MIN_MS = 1_000
const PAUSE_MAX_MS = 60_000

/**
 * Hands kernels to Slurm, in the order of their starts: equal ones as one array, those of a session together as one job.
 * What Slurm does not take now is tried again after 1, 2, 4 … 60 s; meanwhile it says why it waits.
 *
 * `submit` is written before `sbatch` is called. A crash in between, or a dying agent's `sbatch` that succeeds late, may
 * leave a job that nobody counts; the claim lets only one of several run.
 */
export function createSubmitQueue(host: SlurmHost): SubmitQueue {
  const waiting = new Set<SlurmKernel>()
  /** What is being submitted, by batchKey. */
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
    host.log.error({ error: messageOf(error) }, 'a hand-over to Slurm met a fault')
    schedule(PAUSE_MIN_MS)
  }

  function succeeded(): void {
    failures = 0
  }

  function divide(batch: readonly SlurmKernel[]): void {
    arrayMax = Math.min(arrayMax, Math.floor(batch.length / 2))
    host.log.info({ tasks: batch.length, arrayMax }, 'Slurm takes no array of so many')
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

  /** Nothing runs them: the stop is answered here, unless a submission that seemed to fail has not. */
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

  /** @returns whether nothing runs it any more; null if that cannot be said while the directory is away */
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
  /** Ends those whose stop was ordered while they waited. */
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
 * The first that waits, with all that go with it; empty if there is no room, or if each still lacks some of its gang.
 * While some are submitted, those that are equal to them gather: the more there are, the fewer calls.
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

/** Of a gang that is submitted once more some may run, or have run; one that was stopped before leaves nothing to start. */
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

/** A job has one user, and so have the tasks of an array. The kernels of a gang are a job of their own. */
function batchKey(kernel: SlurmKernel): string {
  const { user, request, exclusion, spec } = kernel
  return JSON.stringify([user, request, exclusion, gangSize(kernel) === 1 ? null : spec.sessionId])
}
