import type { Lease } from '../domain/agent/lease.ts'
import {
  BATCH_TIMEOUT_CHECK_INTERVAL_MS,
  COORDINATOR_INTERVAL_MS,
  DISPATCH_INTERVAL_MS,
  ADVICE_CHECK_INTERVAL_MS,
  FAILURES_GATHERED_MS,
  FIGURES_INTERVAL_MS,
  WEEKLY_SUMMARIES_INTERVAL_MS,
  SWEEP_INTERVAL_MS,
} from '../domain/limits.ts'
import type { PromotionName } from '../domain/session/lifecycle.ts'
import type { Wake, WakeTopic } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { SyncPoints } from '../observability/sync-points.ts'
import type { Tracer } from '../observability/trace.ts'
import type { Database } from '../store/database.ts'
import type { ServerIdentity } from '../store/sql/server.sql.ts'
import { type BackgroundService, defineMeasuredService, type RunReport } from './background-service.ts'
import { decideRetries } from './decide-retries.handler.ts'
import { createDispatch } from './dispatch-retries.handler.ts'
import {
  enforceBatchTimeouts,
  prepareSessions,
  startSessions,
  terminateSessions,
} from './session/kernel-orders.handlers.ts'
import type { QueueProgress } from './scheduling/queue-progress.ts'
import { PROMOTE } from './session/promote-sessions.handler.ts'
import { resubmitSessions } from './resubmit-sessions.handler.ts'
import { scheduleGroups } from './scheduling/schedule-sessions.handler.ts'
import { findAdvice } from './session/find-advice.handler.ts'
import { rollUpDueFigures, summarizeWeeks } from './session/roll-up-figures.handler.ts'
import { groupFailures } from './session/group-failures.handler.ts'
import { settleGroups } from './session/settle-groups.handler.ts'
import { sweepLeftovers } from './session/sweep-leftovers.handler.ts'
import { watchAgents } from './watch-agents.handler.ts'
import { runLifecycle } from './lifecycle.ts'

export interface SchedulerContext {
  db: Database
  wake: Wake
  log: Logger
  metrics: Metrics
  sync: SyncPoints
  trace: Tracer
  server: ServerIdentity
  lease: Lease
  /** Whether bad agents and GPUs are taken out of service without being asked. */
  quarantines: boolean
}

type WokenName = Exclude<
  WakeTopic,
  | 'events'
  | 'deliver-webhooks'
  | 'drive-deployments'
  | 'drive-routes'
  | 'check-route-health'
  | 'sync-discovery'
  | 'run-schedules'
>
/** Services that run only at their interval. */
const UNWOKEN = ['watch-agents', 'sweep-leftovers', 'roll-up-figures', 'find-advice', 'weekly-summaries'] as const
type ServiceName = WokenName | (typeof UNWOKEN)[number]

/** Whether other services wake it; otherwise it runs only at its interval. */
export function isWoken(name: ServiceName): name is WokenName {
  return !UNWOKEN.some((each) => each === name)
}

/** The background services that drive sessions, one per handler; each finds its own work in the database. */
export function createSchedulerServices(context: SchedulerContext): Record<ServiceName, BackgroundService> {
  const { lease } = context
  const service = (
    name: ServiceName,
    intervalMs: number,
    runOnce: () => Promise<RunReport>,
    more?: { gatherMs: number },
  ) => defineMeasuredService(context, name, intervalMs, runOnce, more)
  const promotion = (name: PromotionName) => service(name, COORDINATOR_INTERVAL_MS, () => PROMOTE[name](context))
  const lines = new Map<string, QueueProgress>()
  return {
    'schedule-sessions': service('schedule-sessions', COORDINATOR_INTERVAL_MS, () => scheduleGroups(context, lines)),
    'prepare-sessions': service('prepare-sessions', COORDINATOR_INTERVAL_MS, () =>
      runLifecycle(context, prepareSessions),
    ),
    'start-sessions': service('start-sessions', COORDINATOR_INTERVAL_MS, () => runLifecycle(context, startSessions)),
    'terminate-sessions': service('terminate-sessions', COORDINATOR_INTERVAL_MS, () =>
      runLifecycle(context, terminateSessions),
    ),
    'promote-to-pulling': promotion('promote-to-pulling'),
    'promote-to-prepared': promotion('promote-to-prepared'),
    'promote-to-running': promotion('promote-to-running'),
    'detect-termination': promotion('detect-termination'),
    'promote-to-terminated': promotion('promote-to-terminated'),
    'enforce-batch-timeouts': service('enforce-batch-timeouts', BATCH_TIMEOUT_CHECK_INTERVAL_MS, () =>
      enforceBatchTimeouts(context),
    ),
    'decide-retries': service('decide-retries', COORDINATOR_INTERVAL_MS, () => decideRetries(context)),
    'dispatch-retries': service('dispatch-retries', DISPATCH_INTERVAL_MS, createDispatch(context)),
    'settle-groups': service('settle-groups', COORDINATOR_INTERVAL_MS, () => settleGroups(context)),
    'group-failures': service('group-failures', COORDINATOR_INTERVAL_MS, () => groupFailures(context), {
      gatherMs: FAILURES_GATHERED_MS,
    }),
    'roll-up-figures': service('roll-up-figures', FIGURES_INTERVAL_MS, () => rollUpDueFigures(context)),
    'find-advice': service('find-advice', ADVICE_CHECK_INTERVAL_MS, () => findAdvice(context)),
    'weekly-summaries': service('weekly-summaries', WEEKLY_SUMMARIES_INTERVAL_MS, () => summarizeWeeks(context)),
    'resubmit-sessions': service('resubmit-sessions', COORDINATOR_INTERVAL_MS, () => resubmitSessions(context)),
    'watch-agents': service('watch-agents', lease.checkIntervalMs, () => watchAgents(context)),
    'sweep-leftovers': service('sweep-leftovers', SWEEP_INTERVAL_MS, () => sweepLeftovers(context)),
  }
}
