import {
  FENCE_MARGIN_MS,
  HEARTBEAT_INTERVAL_MS,
  LEASE_CHECK_INTERVAL_MS,
  LOST_AFTER_MS,
  SERVER_OUTAGE_AFTER_MS,
  SUSPECT_AFTER_MS,
} from '../limits.ts'

/**
 * How long silence is borne, in milliseconds. The same on all servers of a database; other than LEASE only where
 * a test cannot wait that long.
 */
export interface Lease {
  /** How often an agent without news is heard. */
  heartbeatMs: number
  checkIntervalMs: number
  suspectAfterMs: number
  lostAfterMs: number
  /** Beyond a group's `fenceAfter`, until a silent agent's kernels are certain to be gone. */
  fenceMarginMs: number
  /** Without any server for this long, silence was towards nobody. */
  outageAfterMs: number
}

export const LEASE: Lease = {
  heartbeatMs: HEARTBEAT_INTERVAL_MS,
  checkIntervalMs: LEASE_CHECK_INTERVAL_MS,
  suspectAfterMs: SUSPECT_AFTER_MS,
  lostAfterMs: LOST_AFTER_MS,
  fenceMarginMs: FENCE_MARGIN_MS,
  outageAfterMs: SERVER_OUTAGE_AFTER_MS,
}
