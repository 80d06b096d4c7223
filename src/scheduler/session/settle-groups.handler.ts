import { GROUP_CHANGES_BATCH_MAX, GROUP_REST_BATCH_MAX } from '../../domain/limits.ts'
import { endsRunning, judgeGroup } from '../../domain/session/session-group.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import { actorNamed } from '../../services/access/authorize.ts'
import { endAttempts } from '../../services/retry/decide-session.ts'
import type { Database } from '../../store/database.ts'
import { lockTails } from '../../store/sql/retry/change-retry.sql.ts'
import {
  addUpChanges,
  type GroupRow,
  isAlone,
  type JudgedGroup,
  readGroups,
  readGroupWork,
  readRest,
  writeGroupEnds,
  writeVerdicts,
} from '../../store/sql/session/session-groups.sql.ts'
import { releaseGroups, resolveDependents } from '../../store/sql/session/group-dependencies.sql.ts'
import type { RunReport } from '../background-service.ts'

interface GroupContext {
  db: Database
  wake: Wake
  log: Logger
  sync: SyncPoints
}

/** Groups whose rest is ended in one pass. */
const ENDING_AT_ONCE = 20
/** Groups released in one transaction; each may have very many members. */
const RELEASED_AT_ONCE = 4

/**
 * Adds the changes of members up, decides about the groups that have some, and ends the rest of those whose outcome is
 * decided. Counts, outcome and event are one transaction, which also removes the changes: a crash undoes all of it, and
 * the next pass repeats it.
 */
export async function settleGroups(context: GroupContext): Promise<RunReport> {
  let work = await readGroupWork(context.db, ENDING_AT_ONCE)
  let done = 0
  if (work.changes) {
    done += await settle(context)
    // Members that were queued must not begin once the outcome is decided.
    work = await readGroupWork(context.db, ENDING_AT_ONCE)
  }
  if (work.releases) done += await release(context)
  for (const id of work.ending) done += await endRest(context, id)
  return { done, more: done > 0 }
}

async function settle({ db, wake, log, sync }: GroupContext): Promise<number> {
  const { number, ended } = await db.transaction(async (tx) => {
    if (!(await isAlone(tx))) return { number: 0, ended: [] }
    const added = await addUpChanges(tx, GROUP_CHANGES_BATCH_MAX)
    const groups = [...(await readGroups(tx, [...added.groups.keys()], null)).values()]
    const judged = groups.map((group) => judge(group, added.groups.get(group.id)!))
    await writeVerdicts(tx, judged)
    const over = groups.filter(({ endedAt, epoch }, at) => {
      const { hasEnded, epoch: next } = judged[at]!
      return hasEnded && (endedAt === null || next > epoch)
    })
    const overIds = over.map(({ id }) => id)
    await writeGroupEnds(tx, overIds)
    await resolveDependents(tx, overIds)
    // The crash: nothing has been added up, and no event written.
    await sync.reached('settle-groups:before-commit')
    return { number: added.number, ended: over.map(({ id, name }) => ({ id, name, ...verdictOf(id, judged) })) }
  })
  for (const { id, name, outcome, reason } of ended)
    log.info({ groupId: id, outcome }, `the group ${name} has ended: ${outcome}, ${reason}`)
  if (ended.length > 0) wake.wake('events')
  return number
}

/** Lets the members of groups begin whose dependencies are met. @returns the number of groups */
async function release({ db, wake }: GroupContext): Promise<number> {
  const released = await db.transaction((tx) => releaseGroups(tx, RELEASED_AT_ONCE))
  if (released > 0) wake.wake('schedule-sessions')
  return released
}

function verdictOf(id: string, judged: readonly JudgedGroup[]) {
  return judged.find((each) => each.id === id)!.verdict!
}

/** An outcome stays, until a member of the ended group is resubmitted, which may have ended again since. */
function judge(group: GroupRow, { revived }: { revived: boolean }): JudgedGroup {
  const { id, counts, outcome, endedAt, epoch } = group
  const isLive = counts.live + counts.waiting > 0
  if (endedAt !== null && (isLive || revived)) {
    const verdict = isLive ? null : judgeGroup({ ...group, cancelledBy: null, epoch: epoch + 1 })
    return { id, verdict, hasEnded: verdict !== null, epoch: epoch + 1 }
  }
  const verdict = outcome === null ? judgeGroup(group) : { outcome, reason: group.reason! }
  return { id, verdict, hasEnded: verdict !== null && !isLive, epoch }
}

/** Ends the next members of a group whose outcome is decided. @returns how many */
async function endRest({ db, wake, log }: GroupContext, id: string): Promise<number> {
  const group = (await readGroups(db, [id], null)).get(id)
  if (group?.outcome == null || group.endedAt !== null) return 0
  const rest = await readRest(db, id, {
    running: endsRunning({ outcome: group.outcome, onFailure: group.onFailure }),
    limit: GROUP_REST_BATCH_MAX,
  })
  if (rest.length === 0) return 0
  const name = group.cancelledBy ?? `group ${group.name}`
  const ended = await db.transaction(async (tx) => {
    const tails = await lockTails(tx, rest, group.projectId)
    const options = { actor: actorNamed(name), force: false, log }
    const reason = `its group ${group.name} has ended: ${group.reason}`
    return (await endAttempts(tx, [...tails.values()], { ...options, reason, retryNote: reason })).ended.size
  })
  wake.wake('terminate-sessions', 'promote-to-terminated', 'decide-retries', 'events', 'schedule-sessions')
  return ended
}
