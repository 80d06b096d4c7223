import {
  CHECKPOINT_PAUSE_MS,
  CHECKPOINT_QUOTA_PAUSE_MS,
  CLAIM_BATCH_SESSIONS_MAX,
  CONCURRENCY_KEY_PAUSE_MS,
  DEPENDENCY_PAUSE_MAX_MS,
  DEPENDENCY_PAUSE_MIN_MS,
  FREED_KEYS_PER_PASS_MAX,
  GROUP_PAUSE_MS,
} from '../../domain/limits.ts'
import { explainCheckpointShortage } from '../../domain/quota.ts'
import { type CheckpointPlacement, placeByCheckpoint } from '../../domain/scheduling/checkpoint-placement.ts'
import { LIFECYCLE_HANDLERS } from '../../domain/session/lifecycle.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import { type LockedGroup, lockGroup } from '../../store/sql/scheduling/assign-kernels.sql.ts'
import {
  type ClaimedLine,
  claimPending,
  claimShortLine,
  type PendingSession,
} from '../../store/sql/scheduling/claim-pending.sql.ts'
import { groupsWithPending, type PendingGroup, requeueRested } from '../../store/sql/scheduling/pending-groups.sql.ts'
import { readCheckpointShortages } from '../../store/sql/quota.sql.ts'
import { readStoredCheckpoints } from '../../store/sql/scheduling/agent-capacity.sql.ts'
import type { Placement } from '../../domain/scheduling/place.ts'
import type { RunReport } from '../background-service.ts'
import type { CoordinatorContext } from '../coordinator.ts'
import { type HandlerResult, type LifecycleHandler, runLifecycle } from '../lifecycle.ts'
import { offerFreedKeys } from '../../store/sql/scheduling/concurrency-keys.sql.ts'
import { placePending, settlePass } from './place-pending.ts'
import { newQueueProgress, nextClaim, notePass, type QueueProgress } from './queue-progress.ts'

/**
 * Returns sessions to their queue whose pause is over or whose concurrency key has a free place, then runs one pass
 * over the queue of each resource group.
 */
export async function scheduleGroups(
  context: CoordinatorContext & { sync: SyncPoints },
  lines: Map<string, QueueProgress>,
): Promise<RunReport> {
  const { requeued, nextInMs, keyDueInMs } = await requeueRested(context.db, CLAIM_BATCH_SESSIONS_MAX)
  const freed = keyDueInMs === 0 ? await context.db.transaction((tx) => offerFreedKeys(tx)) : 0
  const reports = []
  for (const group of await groupsWithPending(context.db)) {
    const line = lines.get(group.name) ?? newQueueProgress()
    lines.set(group.name, line)
    const report = await runLifecycle(context, scheduleSessions(group, line, context))
    reports.push({ ...report, more: line.passAgain })
  }
  const pauses = [nextInMs, keyDueInMs, ...reports.map(({ againInMs }) => againInMs)].filter(
    (pause) => typeof pause === 'number',
  )
  return {
    done: reports.reduce((sum, { done }) => sum + done, 0),
    more:
      requeued === CLAIM_BATCH_SESSIONS_MAX || freed === FREED_KEYS_PER_PASS_MAX || reports.some(({ more }) => more),
    againInMs: pauses.length === 0 ? null : Math.min(...pauses),
  }
}

type Candidate = PendingSession & { kernels: [] }

/**
 * PENDING → SCHEDULED → PREPARING: assigns the sessions of one resource group to its agents, in the order of its
 * sequencer. The second step, which nothing can prevent, is written at once, and the agents are woken.
 */
function scheduleSessions(
  group: PendingGroup,
  progress: QueueProgress,
  { sync }: { sync: SyncPoints },
): LifecycleHandler<Candidate> {
  let locked: LockedGroup | undefined
  let nextClass: string | null = null
  const agents = new Map<string, string[]>()
  return {
    declaration: LIFECYCLE_HANDLERS['schedule-sessions'],
    followedBy: LIFECYCLE_HANDLERS['prepare-sessions'],
    wakes: ['promote-to-prepared'],
    agentsOf: ({ id }) => agents.get(id) ?? [],
    async claim(tx) {
      progress.passAgain = false
      locked = await lockGroup(tx, group.name)
      if (!locked) return []
      const claimed = await claimLine(tx, group, progress)
      nextClass = claimed.nextClass
      if (claimed.sessions.length === 0) notePass(progress, { left: 0, moreAtOnce: false, nextClass: null })
      return claimed.sessions.map((session) => ({ ...session, kernels: [] }))
    },
    async execute(tx, sessions) {
      const result: HandlerResult = { successes: [], failures: [], skipped: [] }
      const startable = sessions.filter((session) => mayStart(session, result))
      const checkpoints = await placeByCheckpoints(tx, startable)
      const open = unlessDrained(group, startable, result)
      const ready = (locked?.hasQuotas ? await withinCheckpointQuotas(tx, open, result) : open).flatMap((session) =>
        goesTo(session, checkpoints.get(session.id), result),
      )
      let moreAtOnce = startable.length < sessions.length && sessions.some(({ classIsLong }) => classIsLong)
      let found: Pick<Placement, 'placed' | 'forKey'> = { placed: [], forKey: new Map() }
      if (locked && ready.length > 0) {
        const placement = await placePending(tx, { ...group, ...locked }, ready, checkpoints, sync)
        found = placement
        result.successes.push(...placement.placed.map(({ sessionId }) => sessionId))
        for (const { sessionId, kernels } of placement.placed) agents.set(sessionId, agentIds(kernels))
        const { forKey } = placement
        result.skipped.push(
          ...placement.skipped.map(({ sessionId: id, reason }) => {
            return { id, reason, ...(forKey.has(id) && { pauseMs: CONCURRENCY_KEY_PAUSE_MS }) }
          }),
        )
        moreAtOnce ||= placement.ranOut || (forKey.size > 0 && ready.some(({ classIsLong }) => classIsLong))
      }
      const inLine = sessions.filter(({ rests }) => !rests)
      moreAtOnce = (await settlePass(tx, inLine, found)) || moreAtOnce
      // Sessions that wait for their keys have left the queue, too.
      notePass(progress, { left: result.successes.length + found.forKey.size, moreAtOnce, nextClass })
      return result
    },
  }
}

function agentIds(kernels: readonly { agentId: string }[]): string[] {
  return kernels.map(({ agentId }) => agentId)
}

/** Skips all sessions of a group that is being drained. */
function unlessDrained(
  { drained }: PendingGroup,
  sessions: readonly PendingSession[],
  result: HandlerResult,
): readonly PendingSession[] {
  if (drained === null) return sessions
  result.skipped.push(...sessions.map(({ id }) => ({ id, reason: drained })))
  return []
}

/** Finds where checkpoints bind sessions to agents. Only chains with a checkpoint cost a query. */
async function placeByCheckpoints(
  tx: Queryable,
  sessions: readonly PendingSession[],
): Promise<Map<string, CheckpointPlacement>> {
  const stored = await readStoredCheckpoints(tx, sessions)
  return new Map(
    sessions.flatMap((session) => {
      const checkpoint = stored.get(session.id)
      return checkpoint === undefined ? [] : [[session.id, placeByCheckpoint(checkpoint, session)] as const]
    }),
  )
}

/** Skips sessions whose checkpoints would exceed a quota. */
async function withinCheckpointQuotas(
  tx: Queryable,
  sessions: readonly PendingSession[],
  result: HandlerResult,
): Promise<readonly PendingSession[]> {
  const shortages = await readCheckpointShortages(tx, sessions)
  for (const [id, shortage] of shortages)
    result.skipped.push({ id, reason: explainCheckpointShortage(shortage), pauseMs: CHECKPOINT_QUOTA_PAUSE_MS })
  return sessions.filter(({ id }) => !shortages.has(id))
}

/** Limits a session that requires its checkpoint to the agents that have it, or makes it wait. */
function goesTo(
  session: PendingSession,
  placement: CheckpointPlacement | undefined,
  result: HandlerResult,
): PendingSession[] {
  if (placement?.kind === 'only') return [{ ...session, allowAgents: [...placement.agents] }]
  if (placement?.kind !== 'wait') return [session]
  const { reason, leftMs } = placement
  result.skipped.push({ id: session.id, reason, pauseMs: Math.min(CHECKPOINT_PAUSE_MS, Math.ceil(leftMs)) })
  return []
}

/** The queue is usually short, and a short queue has a cheaper query plan. */
async function claimLine(tx: Queryable, group: PendingGroup, progress: QueueProgress): Promise<ClaimedLine> {
  const claim = nextClaim(group, progress)
  const short = claim.head > 0 && !progress.lineIsLong ? await claimShortLine(tx, claim) : undefined
  const claimed = short ?? (await claimPending(tx, claim))
  progress.lineIsLong = claimed.sessions.length >= claim.head
  return claimed
}

/**
 * Filters out sessions that wait for their start time or for other chains. Paused sessions are claimed only to expire.
 */
function mayStart(session: PendingSession, result: HandlerResult): boolean {
  const { id } = session
  if (session.rests) return false
  if (session.dependencyFailed !== null) {
    const message = `depends on session ${session.dependencyFailed}, whose chain has failed`
    result.failures.push({ id, error: { name: 'dependency-failed', message }, giveUpNow: true })
    return false
  }
  if (session.startsInMs !== null) {
    result.skipped.push({ id, reason: 'its start time has not been reached', pauseMs: session.startsInMs })
    return false
  }
  if (session.groupAwaited !== null) {
    result.skipped.push({ id, reason: `waits for group ${session.groupAwaited}`, pauseMs: GROUP_PAUSE_MS })
    return false
  }
  if (session.dependenciesOpen > 0) {
    const reason = `waits for ${session.dependenciesOpen} chain(s) that it depends on`
    const pauseMs = Math.min(DEPENDENCY_PAUSE_MAX_MS, Math.max(DEPENDENCY_PAUSE_MIN_MS, session.waitedMs / 10))
    result.skipped.push({ id, reason, pauseMs })
    return false
  }
  return true
}
