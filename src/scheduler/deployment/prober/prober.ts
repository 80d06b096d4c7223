import {
  HEALTH_CHECK_JITTER_PERCENT_MAX,
  HEALTH_CHECK_LEASE_MARGIN_MS,
  HEALTH_CHECKS_AT_ONCE_MAX,
} from '../../../domain/limits.ts'
import type { Wake } from '../../../domain/wake.ts'
import type { Logger } from '../../../observability/log.ts'
import type { SyncPoints } from '../../../observability/sync-points.ts'
import type { Database } from '../../../store/database.ts'
import {
  claimHealthChecks,
  nextHealthCheckInMs,
  settleHealthChecks,
  type CheckOutcome,
  type DueCheck,
} from '../../../store/sql/deployment/health-checks.sql.ts'
import type { RunReport } from '../../background-service.ts'
import type { AskHealth } from './ask-health.ts'

/**
 * The health checks in flight in this process. A due check is claimed with a lease, sent, and counted; no transaction
 * is open while a response is awaited. A crash leaves claims whose leases expire by the database's clock; other servers
 * then repeat them. Results are only counted; the handlers interpret them.
 */
export interface Prober {
  /** Claims as many due checks as there are free places for, and starts them without waiting for the responses. */
  fill(): Promise<RunReport>
  /** Abandons the checks in flight; they are repeated when their lease expires. */
  stop(): Promise<void>
}

export interface ProberContext {
  db: Database
  wake: Wake
  log: Logger
  sync: SyncPoints
  askHealth: AskHealth
  /** Called after each check. */
  observed(outcome: { well: boolean; seconds: number }): void
}

export function createProber(context: ProberContext): Prober {
  const { db, wake, log, sync, askHealth } = context
  const stopping = new AbortController()
  const underWay = new Set<Promise<void>>()
  let outcomes: CheckOutcome[] = []
  let settling: Promise<void> | null = null
  /** The last pass filled all slots, so each response may free a slot for a due check. */
  let crowded = false

  async function check(due: DueCheck): Promise<void> {
    const begunAt = performance.now()
    const fault = await askHealth(due, stopping.signal)
    context.observed({ well: fault === null, seconds: (performance.now() - begunAt) / 1000 })
    outcomes.push({ routeId: due.routeId, fault, spread: spread() })
    // An outcome that arrived just as another check's settling ended is left to this check.
    do await (settling ??= settle().finally(() => (settling = null)))
    while (outcomes.length > 0)
  }

  /** Outcomes that arrive while a statement is in flight are written together by the next one. */
  async function settle(): Promise<void> {
    while (outcomes.length > 0) {
      await sync.reached('health-check:before-settle')
      const batch = outcomes
      outcomes = []
      if (await settleHealthChecks(db, batch)) wake.wake('drive-routes')
    }
  }

  function begin(due: DueCheck): void {
    const checking = check(due)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted)
          log.warn({ err: error, routeId: due.routeId }, 'a health check could not be recorded')
      })
      .finally(() => {
        underWay.delete(checking)
        if (crowded) wake.wake('check-route-health')
      })
    underWay.add(checking)
  }

  return {
    async fill() {
      const free = HEALTH_CHECKS_AT_ONCE_MAX - underWay.size
      crowded = free === 0
      if (crowded) return { done: 0 }
      const inMs = await nextHealthCheckInMs(db)
      if (inMs === null || inMs > 0) return { done: 0, againInMs: inMs }
      const due = await claimHealthChecks(db, free, HEALTH_CHECK_LEASE_MARGIN_MS)
      due.forEach(begin)
      crowded = due.length === free
      return { done: due.length, againInMs: crowded ? null : await nextHealthCheckInMs(db) }
    },
    async stop() {
      stopping.abort()
      await Promise.all(underWay)
    },
  }
}

function spread(): number {
  return 1 + ((Math.random() * 2 - 1) * HEALTH_CHECK_JITTER_PERCENT_MAX) / 100
}
