import {
  HEALTH_CHECK_BODY_BYTES_MAX,
  HEALTH_CHECK_JITTER_PERCENT_MAX,
  HEALTH_CHECK_LEASE_MARGIN_MS,
  HEALTH_CHECKS_AT_ONCE_MAX,
} from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Database } from '../../store/database.ts'
import {
  type CheckOutcome,
  claimHealthChecks,
  type DueCheck,
  nextHealthCheckInMs,
  settleHealthChecks,
} from '../../store/sql/deployment/health-checks.sql.ts'
import type { RunReport } from '../background-service.ts'
import { type IncomingMessage, request } from 'node:http'

/**
 * Makes the health checks of this process. A due check is claimed with a lease, sent, and counted; no transaction
 * is open while a response is awaited. A crash leaves claims whose leases expire by the database's clock; other servers
 * then repeat them. Results are only counted; the handlers interpret them.
 */
interface Prober {
  /** Claims due checks for all free places, and starts them without waiting for the responses. */
  fill(): Promise<RunReport>
  /** Abandons the checks in flight; they are repeated when their lease expires. */
  stop(): Promise<void>
}

interface ProberContext {
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
    // Repeated, because this check's outcome may have arrived just after the awaited `settle` had written its last
    // batch.
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

interface HealthQuestion {
  host: string
  port: number
  /** Including the query. */
  path: string
  /** Time from the look-up of the name to the response's status. */
  timeoutMs: number
}

/**
 * Resolves with null if the route is healthy (a status from 200 to 299), otherwise with a description of the fault.
 * Redirects are not followed and count as a fault.
 */
export type AskHealth = (question: HealthQuestion, signal: AbortSignal) => Promise<string | null>

const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  ENOTFOUND: 'its host has no address',
  EAI_AGAIN: 'its host has no address just now',
}

const FAULT_LENGTH_MAX = 200

/** Sends one GET over a new connection. Rejects only when `signal` aborts. */
export const askHealth: AskHealth = ({ host, port, path, timeoutMs }, signal) =>
  new Promise((resolve, reject) => {
    const overdue = AbortSignal.timeout(timeoutMs)
    const outgoing = request({
      host,
      port,
      path,
      agent: false,
      headers: { 'user-agent': 'Reprise-Health', accept: '*/*', connection: 'close' },
      signal: AbortSignal.any([signal, overdue]),
    })
    outgoing.on('response', (answer) => {
      discard(answer)
      const { statusCode = 0 } = answer
      resolve(statusCode >= 200 && statusCode <= 299 ? null : `it answered ${statusCode}`)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(signal.reason as Error)
      else if (overdue.aborted) resolve(`it did not answer within ${timeoutMs / 1000} s`)
      else resolve(FAULTS[error.code ?? ''] ?? error.message.slice(0, FAULT_LENGTH_MAX))
    })
    outgoing.end()
  })

/** Lets a short response finish, and cuts off a long one. */
function discard(answer: IncomingMessage): void {
  let bytes = 0
  answer.on('error', () => {})
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > HEALTH_CHECK_BODY_BYTES_MAX) answer.destroy()
  })
}
