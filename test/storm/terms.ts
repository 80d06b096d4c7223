import type { Lease } from '../../src/domain/agent/lease.ts'

/**
 * How long everything takes in a storm. The judge reads it from the storm's records. Times are of the clock that servers,
 * agents and kernels have, which is moved in a storm that goes fast.
 */
export interface Terms {
  lease: Lease
  fenceAfterMs: number
  stopGraceMs: number
  /** Of the resource group: how long a kernel may be prepared or created, and how long it may take to end. */
  prepareTimeoutMs: number
  terminateTimeoutMs: number
  /** By how much time moves at once; 0: it passes by itself. */
  stepSeconds: number
  /** What kernels count in: how long they run, and their limits. */
  turnSeconds: number
  /** Before a retry; one of them. */
  delaysSeconds: readonly number[]
  delayMaxSeconds: number
  /** Clients try again for so long. */
  clientPatienceSeconds: number
  /** Real time, in which all has to end after a storm. */
  settledWithinMs: number
  /** Hours after which chains and events are removed; null: never. */
  keepHours: number | null
  /**
   * How much longer than it may a thing lives, in seconds: what an agent that is halted or cut off does not stop, its
   * keeper does, on a machine that is busy.
   */
  overtimeSeconds: number
  /** What may pass between two things that happen at once: an agent counts from before a program's first line. */
  blurSeconds: number
}

/** Silence is borne for seconds, so that a minute has many leases; the margin is as much longer than the fence's grace. */
export const REAL_TIME: Terms = {
  lease: {
    heartbeatMs: 1_000,
    checkIntervalMs: 250,
    suspectAfterMs: 4_000,
    lostAfterMs: 8_000,
    fenceMarginMs: 12_000,
    outageAfterMs: 2_000,
  },
  fenceAfterMs: 6_000,
  stopGraceMs: 1_000,
  prepareTimeoutMs: 30_000,
  terminateTimeoutMs: 120_000,
  stepSeconds: 0,
  turnSeconds: 0.1,
  delaysSeconds: [0.1, 0.5, 1, 3],
  delayMaxSeconds: 8,
  clientPatienceSeconds: 10,
  settledWithinMs: 240_000,
  keepHours: null,
  overtimeSeconds: 40,
  blurSeconds: 3,
}

const STEP_SECONDS = 600
const steps = (count: number) => count * STEP_SECONDS * 1000

/**
 * A live agent is heard after each step, so a lease has several of them; whatever takes real time, as the start of a
 * kernel, may take a few. A program takes less than its limit by three steps: one may come between its beginning and
 * its first line, one as it ends, and one before its end is noted.
 */
export const MOVED_TIME: Terms = {
  lease: {
    heartbeatMs: steps(1),
    checkIntervalMs: 2_000,
    suspectAfterMs: steps(3),
    lostAfterMs: steps(5),
    fenceMarginMs: steps(4),
    outageAfterMs: steps(3),
  },
  fenceAfterMs: steps(5),
  stopGraceMs: 1_000,
  prepareTimeoutMs: steps(24),
  terminateTimeoutMs: steps(8),
  stepSeconds: STEP_SECONDS,
  turnSeconds: 125,
  delaysSeconds: [60, 600, 1_800, 7_200],
  delayMaxSeconds: 10_800,
  clientPatienceSeconds: 6 * STEP_SECONDS,
  // The longest chain has some two days.
  settledWithinMs: 900_000,
  keepHours: 8,
  overtimeSeconds: 4 * STEP_SECONDS,
  blurSeconds: STEP_SECONDS + 3,
}
