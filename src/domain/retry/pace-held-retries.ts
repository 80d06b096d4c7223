import { DISPATCH_INTERVAL_MS, HELD_RELEASE_RETRIES_MAX, RATE_LIMIT_TICK_MS } from '../limits.ts'
import type { Hold } from './admit.ts'
import type { HoldReason } from '../session/failure.ts'

export interface Waiting {
  projectId: string
  /** The retry's previous hold reason; null if it is held for the first time. */
  holdReason: HoldReason | null
}

/**
 * The claim time, in ms from now, of the last retry in each line, by `lineKey`. A line has a project's retries that are
 * held for one reason.
 */
export type LineEnds = ReadonlyMap<string, number>

export function lineKey(projectId: string, reason: HoldReason): string {
  return `${projectId}/${reason}`
}

/**
 * Computes when each held retry is claimed again, in ms from now. The held retries of a project form a line, spaced by
 * the rate at which they may be dispatched. So they come back at the rate at which they can be dispatched, and not
 * earlier.
 */
export function paceHeldRetries<Retry extends Waiting>(
  held: readonly Hold<Retry>[],
  lineEnds: LineEnds,
): { hold: Hold<Retry>; againInMs: number }[] {
  const ends = new Map(lineEnds)
  return held.map((hold) => {
    const { retry, reason, waitMs } = hold
    // A silent agent may confirm the end of the kernels at any moment.
    if (reason === 'PARENT_ALIVE') return { hold, againInMs: Math.min(waitMs, DISPATCH_INTERVAL_MS) }
    // Its next probe does not wait for those of other breakers.
    if (reason === 'BREAKER') return { hold, againInMs: waitMs }
    // True if the retry has waited in line and gets the next token.
    const isNext = retry.holdReason === reason && waitMs <= DISPATCH_INTERVAL_MS
    if (reason === 'RATE_LIMITED' && isNext) return { hold, againInMs: waitMs }
    const key = lineKey(retry.projectId, reason)
    const placeMs = placeBehind(ends.get(key) ?? 0, hold)
    ends.set(key, placeMs)
    const tick = tickMs(hold)
    return { hold, againInMs: Math.ceil(placeMs / tick) * tick }
  })
}

const RAMP_STEP_MS = DISPATCH_INTERVAL_MS / HELD_RELEASE_RETRIES_MAX

function placeBehind(endMs: number, { waitMs, rateLimit, limitForMs }: Hold<Waiting>): number {
  if (!rateLimit) return Math.max(endMs + RAMP_STEP_MS, waitMs)
  const place = Math.max(endMs + 1000 / rateLimit.perSecond, waitMs)
  if (limitForMs === null || place <= limitForMs) return place
  return Math.max(endMs, limitForMs) + RAMP_STEP_MS
}

/** The tick to which the claim is rounded up: retries that share a tick are moved forward together, for one pass. */
function tickMs({ rateLimit }: Hold<Waiting>): number {
  if (!rateLimit) return DISPATCH_INTERVAL_MS
  return Math.min(RATE_LIMIT_TICK_MS, (rateLimit.burst / rateLimit.perSecond) * 1000)
}
