import {
  HEALTH_CHECK_JITTER_PERCENT_MAX,
  HEALTH_CHECK_LEASE_MARGIN_MS,
  HEALTH_CHECKS_AT_ONCE_MAX,
} from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Database } from '../../store/database.ts'
import {
  claimHealthChecks,
  nextHealthCheckInMs,
  settleHealthChecks,
  type CheckOutcome,
  type DueCheck,
} from '../../store/sql/health-checks.sql.ts'
import type { RunReport } from '../background-service.ts'
import type { AskHealth } from './ask-health.ts'

/**
 * Health checks under way in this process. Due → claimed with a lease, asked, counted; no transaction is open while
 * an answer is awaited. A crash leaves claims whose leases run out by the database's clock: others make them then.
 * What is found is counted and nothing else: what it means is for the handlers.
 */
export interface Prober {
  /** Claims what is due and there is room for, and begins; does not wait for the answers. */
  fill(): Promise<RunReport>
  /** What is under way is given up, and comes again when its lease is over. */
  stop(): Promise<void>
}

export interface ProberContext {
  db: Database
  wake: Wake
  log: Logger
  sync: SyncPoints
  askHealth: AskHealth
  /** Told of each check and how long it took. */
  observed(outcome: { well: boolean; seconds: number }): void
}

export function createProber(context: ProberContext): Prober {
  const { db, wake, log, sync, askHealth } = context
  const stopping = new AbortController()
  const underWay = new Set<Promise<void>>()
  let outcomes: CheckOutcome[] = []
  let settling: Promise<void> | null = null
  /** A look found more than there was room for: an answer makes room. */
  let crowded = false

  async function check(due: DueCheck): Promise<void> {
    const begunAt = performance.now()
    const fault = await askHealth(due, stopping.signal)
    context.observed({ well: fault === null, seconds: (performance.now() - begunAt) / 1000 })
    outcomes.push({ routeId: due.routeId, fault, spread: spread() })
    // What came as the last of them ended is left to this one.
    do await (settling ??= settle().finally(() => (settling = null)))
    while (outcomes.length > 0)
  }

  /** Those that come while one statement is under way go together with the next. */
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
        if (!stopping.signal.aborted) log.warn({ err: error, routeId: due.routeId }, 'a health check was not counted')
      })
      .finally(() => {
        underWay.delete(checking)
        if (crowded) wake.wake('check-route-health')
      })
    underWay.add(checking)
  }

  return {
    async fill() {
      const room = HEALTH_CHECKS_AT_ONCE_MAX - underWay.size
      crowded = room === 0
      if (crowded) return { done: 0 }
      const inMs = await nextHealthCheckInMs(db)
      if (inMs === null || inMs > 0) return { done: 0, againInMs: inMs }
      const due = await claimHealthChecks(db, room, HEALTH_CHECK_LEASE_MARGIN_MS)
      due.forEach(begin)
      crowded = due.length === room
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
