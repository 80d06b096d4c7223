import type { FailureCause } from '../../session/failure.ts'

/** What advice is found in: an attempt that has ended. Times are in milliseconds. */
export interface AdvisedAttempt {
  chainId: string
  name: string
  attempt: number
  /** Automatic retries in its epoch before it. */
  retry: number
  startedMs: number | null
  endedMs: number
  outcome: Outcome
  cause: FailureCause | null
  exitCode: number | null
  timedOut: boolean
  /** How its automatic retry ended; null without one that has ended. */
  retryOutcome: Outcome | null
  /** Whether its chain failed with it in spite of retries. */
  lost: boolean
  agentId: string | null
  resourceGroup: string
  /** The UUIDs of the GPUs that it had. */
  gpus: readonly string[]
  failureGroupId: string | null
  /** What all of its kernels requested together. */
  cpus: number
  kernels: number
  /** What one kernel requested; 0 for nothing. */
  memoryBytes: number
  /** The highest of one kernel; null if unknown. */
  peakMemoryBytes: number | null
  batchTimeoutSeconds: number | null
  maxRetries: number
}

type Outcome = 'SUCCEEDED' | 'FAILED' | 'STOPPED'

export function ranSeconds({ startedMs, endedMs }: AdvisedAttempt): number {
  return startedMs === null ? 0 : Math.max(0, endedMs - startedMs) / 1_000
}

export function slotSecondsOf(attempt: AdvisedAttempt): number {
  return ranSeconds(attempt) * attempt.cpus
}

/** Causes that lie in the machines. */
const TRANSIENT: ReadonlySet<FailureCause> = new Set(['AGENT_TRANSIENT', 'SCHEDULER_TIMEOUT', 'IMAGE_PULL_FAILURE'])

export function isTransientFailure({ outcome, cause }: AdvisedAttempt): boolean {
  return outcome === 'FAILED' && cause !== null && TRANSIENT.has(cause)
}

/** The attempts of each chain, in their order. */
export function chainsOf(attempts: readonly AdvisedAttempt[]): AdvisedAttempt[][] {
  const chains = [...Map.groupBy(attempts, ({ chainId }) => chainId).values()]
  return chains.map((chain) => chain.toSorted((a, b) => a.attempt - b.attempt))
}

/** The automatic retry of the attempt, of the attempts of its chain. */
export function retryOf({ attempt }: AdvisedAttempt, chain: readonly AdvisedAttempt[]): AdvisedAttempt | undefined {
  return chain.find((each) => each.attempt === attempt + 1)
}

const OUTAGE_BUCKET_MS = 600_000
/** An outage has at least this many attempts, and more than this share of them fail. */
export const OUTAGE_ATTEMPTS = 10
export const OUTAGE_FAILED_SHARE = 0.8
/** Otherwise a program that always fails would be taken for an outage. */
const OUTAGE_NAMES = 3

/**
 * Finds the times in which almost everything failed in one place: an agent, or a resource group. Failures of such a time
 * say nothing about programs, policies and machines, and are left out of all other advice. There, at least three names
 * failed, or all failures lay in the machines. A machine on which most such times are outages is not in an outage, but
 * broken.
 * @returns whether an attempt ended in one
 */
export function findOutages(attempts: readonly AdvisedAttempt[]): (attempt: AdvisedAttempt) => boolean {
  const places = [
    outagesBy(attempts, ({ agentId }) => agentId),
    outagesBy(attempts, ({ resourceGroup }) => resourceGroup),
  ]
  return (attempt) => places.some((isIn) => isIn(attempt))
}

interface Cell {
  attempts: number
  failed: number
  transient: number
  names: Set<string>
}

function outagesBy(
  attempts: readonly AdvisedAttempt[],
  placeOf: (attempt: AdvisedAttempt) => string | null,
): (attempt: AdvisedAttempt) => boolean {
  const places = new Map<string, Map<number, Cell>>()
  for (const attempt of attempts) {
    const place = placeOf(attempt)
    if (place === null || attempt.outcome === 'STOPPED') continue
    const cells = places.get(place) ?? new Map<number, Cell>()
    places.set(place, cells)
    const bucket = bucketOf(attempt)
    const cell = cells.get(bucket) ?? { attempts: 0, failed: 0, transient: 0, names: new Set() }
    cells.set(bucket, cell)
    cell.attempts += 1
    if (attempt.outcome !== 'FAILED') continue
    cell.failed += 1
    cell.transient += isTransientFailure(attempt) ? 1 : 0
    if (cell.names.size < OUTAGE_NAMES) cell.names.add(attempt.name)
  }
  const outages = new Map([...places].map(([place, cells]) => [place, bucketsInOutage(cells)]))
  return (attempt) => outages.get(placeOf(attempt) ?? '')?.has(bucketOf(attempt)) ?? false
}

function bucketOf({ endedMs }: AdvisedAttempt): number {
  return Math.floor(endedMs / OUTAGE_BUCKET_MS)
}

function bucketsInOutage(cells: ReadonlyMap<number, Cell>): Set<number> {
  const large = [...cells].filter(([, { attempts }]) => attempts >= OUTAGE_ATTEMPTS)
  const outages = large.filter(
    ([, { attempts, failed, transient, names }]) =>
      failed > OUTAGE_FAILED_SHARE * attempts && (transient === failed || names.size >= OUTAGE_NAMES),
  )
  return new Set(outages.length > large.length / 2 && large.length > 1 ? [] : outages.map(([bucket]) => bucket))
}
