import { DISPATCH_INTERVAL_MS, HELD_RELEASE_RETRIES_MAX, RATE_LIMIT_TICK_MS } from '../limits.ts'
import type { Hold } from './admit.ts'
import type { HoldReason } from './causes.ts'

export interface Waiting {
  projectId: string
  /** Of the look before; null where it is held for the first time. */
  holdReason: HoldReason | null
}

/** When the last of a project's retries that are held for this reason is looked at, counted from now. */
export type LineEnds = ReadonlyMap<string, number>

export function lineKey(projectId: string, reason: HoldReason): string {
  return `${projectId}/${reason}`
}

/**
 * When each held retry is looked at again, in ms from now. The many that one project may have held stand in a line
 * with as much distance as they may then have to each other: they come back in a ramp, each about when it can go, and
 * until then nobody looks at them.
 */
export function paceHeldRetries<Retry extends Waiting>(
  held: readonly Hold<Retry>[],
  lineEnds: LineEnds,
): { hold: Hold<Retry>; againInMs: number }[] {
  const ends = new Map(lineEnds)
  return held.map((hold) => {
    const { retry, reason, waitMs } = hold
    // A silent agent may confirm at any moment.
    if (reason === 'PARENT_ALIVE') return { hold, againInMs: Math.min(waitMs, DISPATCH_INTERVAL_MS) }
    // It has stood in line, and the next tokens are its.
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

/** As many as share a tick come forward together: one look for them all. */
function tickMs({ rateLimit }: Hold<Waiting>): number {
  if (!rateLimit) return DISPATCH_INTERVAL_MS
  return Math.min(RATE_LIMIT_TICK_MS, (rateLimit.burst / rateLimit.perSecond) * 1000)
}
