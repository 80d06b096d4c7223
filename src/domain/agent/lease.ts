import {
  FENCE_MARGIN_MS,
  HEARTBEAT_INTERVAL_MS,
  LEASE_CHECK_INTERVAL_MS,
  LOST_AFTER_MS,
  SERVER_OUTAGE_AFTER_MS,
  SUSPECT_AFTER_MS,
} from '../limits.ts'

/**
 * How long an agent may be silent, in milliseconds. The same on all servers of a database; only tests that cannot wait
 * that long use values other than LEASE.
 */
export interface Lease {
  /** The interval between heartbeats of an agent that has nothing to report. */
  heartbeatMs: number
  checkIntervalMs: number
  suspectAfterMs: number
  lostAfterMs: number
  /** Added to a group's `fenceAfter`: after both, a silent agent's kernels are certain to be gone. */
  fenceMarginMs: number
  /** If no server was running for this long, agents' silence does not count against them. */
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
