import type { KernelSpec } from '../../domain/agent/protocol.ts'
import { uptimeSeconds } from './process/proc-stat.ts'

/**
 * Whether a program ended within the time that its session's batch timeout gives it. The agent decides this: the server
 * orders the stop, but may be late, away, or unable to reach the agent meanwhile. Times are uptimes of the machine, in
 * seconds, which nobody can set and which go on while the agent stands still or is not there.
 */

/** Uptime and start times of processes count hundredths of a second: a difference may be too great by two of them. */
const RESOLUTION_SECONDS = 0.02

export interface TimedKernel {
  spec: Pick<KernelSpec, 'batchTimeoutMs'>
  /** When its program began; null if nobody knows. */
  beganAt: number | null
  /** When its stop was first ordered; null if it was not, or an agent of an older version has noted it. */
  stopAt: number | null
  /** How long its program ran, once it has ended; null if nobody knows. */
  ranSeconds: number | null
}

/** Undefined while it is not decided, or cannot be known. One that runs is asked about only when it is to stop. */
export function endedInTime({ spec, beganAt, stopAt, ranSeconds }: TimedKernel, runs: boolean): boolean | undefined {
  const { batchTimeoutMs } = spec
  if (batchTimeoutMs == null) return undefined
  const limitSeconds = batchTimeoutMs / 1000 + RESOLUTION_SECONDS
  if (ranSeconds !== null) return ranSeconds <= limitSeconds
  if (!runs || beganAt === null || stopAt === null || uptimeSeconds() - beganAt <= limitSeconds) return undefined
  return false
}

/** Whether its program had ended before its stop was ordered: an agent that stood still may learn of both at once. */
export function endedBeforeStop({ stopAt }: Pick<TimedKernel, 'stopAt'>, endedAt: number | null): boolean {
  return stopAt !== null && endedAt !== null && endedAt < stopAt
}

/** What two clocks said at the same moment: the machine's uptime in seconds, and the wall clock in milliseconds. */
export interface ClockReading {
  uptime: number
  wallMs: number
}

export function readClocks(): ClockReading {
  return { uptime: uptimeSeconds(), wallMs: Date.now() }
}

/**
 * The uptime at a moment of which only the wall clock is known. Where that clock was set between the two readings, it is
 * the latest moment that can be meant: a program is not taken to have ended before it did.
 *
 * @param noticed when it was known to be over
 */
export function uptimeAt(wallMs: number, began: ClockReading, noticed: ClockReading): number {
  const [first, last] = [began, noticed].map((at) => at.uptime + (wallMs - at.wallMs) / 1000) as [number, number]
  return Math.min(noticed.uptime, Math.max(began.uptime, first, last))
}
