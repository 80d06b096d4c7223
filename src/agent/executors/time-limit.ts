import type { KernelSpec } from '../../domain/agent/protocol.ts'
import { uptimeSeconds } from './process/proc-stat.ts'

/**
 * Decides whether a program ended within the batch timeout of its session. The agent decides this because the server,
 * which orders the stop, may be late, stopped, or unable to reach the agent. Times are machine uptimes in seconds. That
 * clock cannot be set, and it continues while the agent is suspended or not running.
 */

/**
 * Uptime and start times of processes have a resolution of 0.01 seconds, so a difference may be 0.02 seconds too large.
 */
const RESOLUTION_SECONDS = 0.02

export interface TimedKernel {
  spec: Pick<KernelSpec, 'batchTimeoutMs'>
  /** Time at which the program began; null if unknown. */
  beganAt: number | null
  /**
   * Time at which the stop was first ordered; null if there was none, or if an agent of an older version recorded it.
   */
  stopAt: number | null
  /** How long the program ran, once it has ended; null if unknown. */
  ranSeconds: number | null
}

/**
 * Returns undefined while this is undecided or cannot be known. A running program is judged only if it is being
 * stopped.
 */
export function endedInTime({ spec, beganAt, stopAt, ranSeconds }: TimedKernel, runs: boolean): boolean | undefined {
  const { batchTimeoutMs } = spec
  if (batchTimeoutMs == null) return undefined
  const limitSeconds = batchTimeoutMs / 1000 + RESOLUTION_SECONDS
  if (ranSeconds !== null) return ranSeconds <= limitSeconds
  if (!runs || beganAt === null || stopAt === null || uptimeSeconds() - beganAt <= limitSeconds) return undefined
  return false
}

/** Whether the program ended before its stop was ordered. An agent that was suspended may learn of both at once. */
export function endedBeforeStop({ stopAt }: Pick<TimedKernel, 'stopAt'>, endedAt: number | null): boolean {
  return stopAt !== null && endedAt !== null && endedAt < stopAt
}

/** Two clocks read at the same moment: the machine's uptime in seconds, and the wall clock in milliseconds. */
export interface ClockReading {
  uptime: number
  wallMs: number
}

export function readClocks(): ClockReading {
  return { uptime: uptimeSeconds(), wallMs: Date.now() }
}

/**
 * Converts a wall-clock time into an uptime. If the wall clock was set between the two readings, returns the latest
 * possible moment, so that a program is never taken to have ended too early.
 *
 * @param noticed reading taken when the end was known
 */
export function uptimeAt(wallMs: number, began: ClockReading, noticed: ClockReading): number {
  const [first, last] = [began, noticed].map((at) => at.uptime + (wallMs - at.wallMs) / 1000) as [number, number]
  return Math.min(noticed.uptime, Math.max(began.uptime, first, last))
}
