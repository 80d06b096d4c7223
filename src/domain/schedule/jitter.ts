import { createHash } from 'node:crypto'

/** Below 2^48: exact as a number. */
const DIGEST_BYTES = 6

/** Seconds from 0 to `jitter` by which a run is later than planned: always the same for one planned time. */
export function jitterOf(scheduleId: string, plannedAt: Date, jitter: number): number {
  if (jitter === 0) return 0
  const digest = createHash('sha256').update(`${scheduleId} ${plannedAt.getTime()}`).digest()
  return (digest.readUIntBE(0, DIGEST_BYTES) / 2 ** (8 * DIGEST_BYTES)) * jitter
}
