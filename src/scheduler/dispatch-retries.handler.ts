import type { Lease } from '../domain/agent/lease.ts'
import { DISPATCH_BATCH_RETRIES_MAX, DISPATCH_WINDOW_RETRIES_MAX, HELD_RELEASE_RETRIES_MAX } from '../domain/limits.ts'
import { admit, type Hold, isTooLate } from '../domain/retry/admit.ts'
import { chooseGroup, deriveChild, type GroupAgent } from '../domain/retry/child.ts'
import { describeGroupChange, queuedRetryEventData, retryCancelledBy } from '../domain/retry/explain.ts'
import {
  readStoredChildChanges,
  readStoredPolicy,
  type StoredChildChanges,
} from '../domain/retry/policy/stored-policy.ts'
import type { Wake } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { SyncPoints } from '../observability/sync-points.ts'
import type { Tracer } from '../observability/trace.ts'
import { actorNamed } from '../services/access/authorize.ts'
import { addRetries, type Refusal } from '../services/retry/decide-session.ts'
import { plannedRetry } from '../services/session/plan-attempt.ts'
import type { Database, Queryable } from '../store/database.ts'
import { readAliveAgents } from '../store/sql/agent/agents.sql.ts'
import { changePendingRetries } from '../store/sql/retry/change-retry.sql.ts'
import { lockOpenBreakers, recordProbes } from '../store/sql/retry/breakers.sql.ts'
import { claimDueRetries, type DueRetry, nextRetryInMs } from '../store/sql/retry/claim-due-retries.sql.ts'
import { lockSwitches, releaseQuotaHolds, writeTokens } from '../store/sql/retry/retry-switches.sql.ts'
import {
  type ExhaustedRetry,
  type HeldRetry,
  settleDispatched,
  settleExhausted,
  settleHeld,
  settleRefused,
} from '../store/sql/retry/settle-retries.sql.ts'
import { wakeDependents } from '../store/sql/session/creation-scope.sql.ts'
import type { NewRetry } from '../store/sql/session/session-columns.sql.ts'
import type { RunReport } from './background-service.ts'
import { countDispatched, type DispatchOutcome, logDispatched, NOTHING, traceDispatched } from './dispatch-outcome.ts'
import { lineKey, paceHeldRetries } from '../domain/retry/pace-held-retries.ts'
import { holdReasonText, readHoldingSwitch } from '../domain/retry/retry-state.ts'
import { lockPendingPlaces } from '../services/quota.ts'
import { readLineEnds } from '../store/sql/scheduling/pending-groups.sql.ts'

const BATCH = {
  limit: DISPATCH_BATCH_RETRIES_MAX,
  window: DISPATCH_WINDOW_RETRIES_MAX,
}

interface DispatchContext {
  db: Database
  wake: Wake
  log: Logger
  metrics: Metrics
  sync: SyncPoints
  trace: Tracer
  lease: Lease
}

/** Batches at once while there is a backlog: while the database works for one, this process works for the other. */
const BACKLOG_BATCHES = 2

/** Returns the pass of the service. A batch leaves out what others have claimed, on this and other servers. */
export function createDispatch(context: DispatchContext): () => Promise<RunReport> {
  let batches = 1
  return async () => {
    const passes = await Promise.allSettled(Array.from({ length: batches }, () => dispatchRetries(context)))
    batches = 1
    const reports = passes.map((pass) => {
      if (pass.status === 'rejected') throw pass.reason
      return pass.value
    })
    const more = reports.some((report) => report.more)
    if (more) batches = BACKLOG_BATCHES
    return { ...reports.at(-1)!, done: reports.reduce((sum, report) => sum + report.done, 0), more }
  }
}

/**
 * Creates the children of due retries. A child is created in the transaction that marks its decision as DISPATCHED, and
 * `sessions.parent_session_id` is unique. So a failed attempt gets exactly one child, despite crashes and with any
 * number of servers.
 */
async function dispatchRetries(context: DispatchContext): Promise<RunReport> {
  const begun = performance.now()
  const begunAt = new Date()
  await releaseQuotaHolds(context.db, HELD_RELEASE_RETRIES_MAX)
  const outcome = await context.db.transaction(async (tx): Promise<DispatchOutcome> => {
    const due = await claimDueRetries(tx, { ...BATCH, fenceMarginMs: context.lease.fenceMarginMs })
    if (due.length === 0) return NOTHING
    // The races: two servers find the same retry due, or a user cancels it meanwhile.
    await context.sync.reached('dispatch:after-claim')
    const cancelled = due.filter(({ cancelledBy }) => cancelledBy !== null)
    for (const [name, retries] of Map.groupBy(cancelled, (retry) => retry.cancelledBy!)) {
      const sessionIds = retries.map(({ sessionId }) => sessionId)
      await changePendingRetries(tx, 'cancel', { sessionIds, actor: actorNamed(name), message: retryCancelledBy(name) })
    }
    const { sound, changes, unreadable, exhausted } = siftDueRetries(
      due.filter(({ cancelledBy }) => cancelledBy === null),
    )
    const { go, held, probes } = await admitRetries(tx, sound)
    const children = await retryChildren(tx, go, changes)
    const refusals = new Map([...unreadable, ...(await addRetries(tx, [...children.values()]))])
    const created = go.filter((retry) => !refusals.has(retry.sessionId))
    await recordProbes(
      tx,
      [...probes].flatMap(([groupId, { sessionId }]) =>
        refusals.has(sessionId) ? [] : [{ groupId, childId: children.get(sessionId)!.id }],
      ),
    )
    await settleDispatched(
      tx,
      created.map((retry) => dispatched(retry, children.get(retry.sessionId)!)),
    )
    await settleRefused(
      tx,
      [...refusals].map(([sessionId, { code, message }]) => ({
        sessionId,
        code,
        explanation: `not retried: the child was refused: ${message}`,
      })),
    )
    await settleExhausted(
      tx,
      exhausted.map(({ settled }) => settled),
    )
    const late = exhausted.map(({ retry }) => retry)
    const ended = due.filter((retry) => refusals.has(retry.sessionId)).concat(late, cancelled)
    await wakeDependents(
      tx,
      ended.map(({ chainId }) => chainId),
    )
    await context.sync.reached('dispatch:before-commit')
    return { claimed: due, created, children, held, refusals, exhausted: late }
  })
  countDispatched(context.metrics, outcome, performance.now() - begun)
  logDispatched(context.log, outcome)
  traceDispatched(context.trace, begunAt, outcome)
  const claimed = outcome.claimed.length
  if (claimed > 0) context.wake.wake('schedule-sessions', 'events')
  if (claimed === DISPATCH_BATCH_RETRIES_MAX) return { done: claimed, more: true }
  return { done: claimed, againInMs: await nextRetryInMs(context.db) }
}

function dispatched(retry: DueRetry, child: NewRetry) {
  const label = `attempt ${child.retryCount + 1} of ${retry.maxRetries + 1}`
  const moved = child.resourceGroup === retry.resourceGroup ? '' : ` in resource group ${child.resourceGroup}`
  return {
    sessionId: retry.sessionId,
    childSessionId: child.id,
    label,
    note: describeGroupChange(retry, child),
    eventData: queuedRetryEventData(retry, { childSessionId: child.id, reason: `retried as ${label}${moved}` }),
  }
}

interface SiftedRetries {
  /** Retries that may be dispatched if nothing holds them. */
  sound: DueRetry[]
  /** Changes of the children of the sound retries, by parent. */
  changes: Map<string, StoredChildChanges>
  /**
   * Refusals by parent. Their policy or decision was damaged since the decision, which would otherwise fail the
   * statement that creates all children of the batch.
   */
  unreadable: Map<string, Refusal>
  /** Retries that waited, held or for a server, until after `maxElapsed`. */
  exhausted: { retry: DueRetry; settled: ExhaustedRetry }[]
}

function siftDueRetries(due: readonly DueRetry[]): SiftedRetries {
  const sifted: SiftedRetries = { sound: [], changes: new Map(), unreadable: new Map(), exhausted: [] }
  for (const retry of due) {
    const policy = readStoredPolicy(retry.retryPolicy)
    const changes = readStoredChildChanges(retry.details)
    if (typeof policy === 'string' || typeof changes === 'string') {
      const message = typeof policy === 'string' ? policy : (changes as string)
      sifted.unreadable.set(retry.sessionId, { code: 'VALIDATION_FAILED', message })
    } else if (isTooLate(policy.maxElapsed, retry.epochStartedAt, nowOf(retry))) {
      sifted.exhausted.push({ retry, settled: settledExhausted(retry, policy.maxElapsed!) })
    } else {
      sifted.sound.push(retry)
      sifted.changes.set(retry.sessionId, changes)
    }
  }
  return sifted
}

/** The present time by the database's clock. */
function nowOf({ dueAt, lateMs }: DueRetry): Date {
  return new Date(dueAt.getTime() + lateMs)
}

function settledExhausted(retry: DueRetry, maxElapsed: number): ExhaustedRetry {
  const reason = `retries exhausted: it would start later than ${maxElapsed} s after the first attempt`
  const eventData = queuedRetryEventData({ ...retry, delayMs: null, dueAt: null }, { reason })
  return { sessionId: retry.sessionId, explanation: reason, eventData }
}

/** Builds the children of failed sessions, by parent. */
async function retryChildren(
  tx: Queryable,
  retries: readonly DueRetry[],
  changes: ReadonlyMap<string, StoredChildChanges>,
): Promise<Map<string, NewRetry>> {
  const children = new Map(retries.map((retry) => [retry.sessionId, childOf(retry, changes.get(retry.sessionId)!)]))
  const movers = retries.filter(({ sessionId, resourceGroup }) =>
    children.get(sessionId)!.avoidGroups.includes(resourceGroup),
  )
  const agents: GroupAgent[] = movers.length > 0 ? await readAliveAgents(tx) : []
  for (const retry of movers) {
    const child = children.get(retry.sessionId)!
    child.resourceGroup = chooseGroup({ ...retry, ...child }, agents)
  }
  return children
}

function childOf(retry: DueRetry, stored: StoredChildChanges): NewRetry {
  const changes = { cause: retry.cause, counted: retry.counted, ...stored }
  const parent = { ...retry, id: retry.sessionId, chainCreationId: retry.rootCreationId }
  return plannedRetry(retry, deriveChild(parent, changes))
}

/**
 * Selects the retries of a batch that may be dispatched, takes tokens for them, and records the others as held.
 * Switches and quotas are read in the transaction that dispatches, never from a cache.
 */
async function admitRetries(
  tx: Queryable,
  due: readonly DueRetry[],
): Promise<{ go: DueRetry[]; held: readonly Hold<DueRetry>[]; probes: ReadonlyMap<string, DueRetry> }> {
  const switches = await lockSwitches(tx, [...new Set(due.map(({ projectId }) => projectId))])
  const breakers = await lockOpenBreakers(tx, [...new Set(due.map(({ breakerId }) => breakerId))])
  const places = await lockPendingPlaces(tx, due)
  const { go, held, left, probes } = admit(due, switches, places, breakers)
  await writeTokens(tx, left)
  const ends = await readLineEnds(tx, linesOf(held))
  const lineEnds = new Map(ends.map(({ projectId, reason, endsInMs }) => [lineKey(projectId, reason), endsInMs]))
  await settleHeld(
    tx,
    paceHeldRetries(held, lineEnds).map(({ hold, againInMs }) => heldRetry(hold, againInMs)),
  )
  return { go, held, probes }
}

function linesOf(held: readonly Hold<DueRetry>[]) {
  const lines = held
    .filter(({ reason }) => reason !== 'PARENT_ALIVE' && reason !== 'BREAKER')
    .map(({ retry: { projectId }, reason }) => [lineKey(projectId, reason), { projectId, reason }] as const)
  return [...new Map(lines).values()]
}

/** The event is repeated if somebody has changed the kill switch that holds the retry. */
function heldRetry({ retry, reason, scope, heldBy }: Hold<DueRetry>, againInMs: number): HeldRetry {
  const changed = reason === 'DISABLED' && readHoldingSwitch(retry.heldBy)?.since !== heldBy?.since
  const repeated = retry.holdReason === reason && !changed
  const words = `held: ${holdReasonText({ reason, scope, heldBy })}`
  const eventData = repeated ? null : queuedRetryEventData(retry, { reason: words })
  return { sessionId: retry.sessionId, holdReason: reason, scope, heldBy, againInMs, eventData }
}
