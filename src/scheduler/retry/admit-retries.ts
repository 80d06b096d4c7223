import { admit, type Hold } from '../../domain/retry/admit.ts'
import { lineKey, paceHeldRetries } from '../../domain/retry/pace-held-retries.ts'
import { HOLD_WORDS } from '../../domain/retry/retry-state.ts'
import { lockPendingPlaces } from '../../services/quota/pending-limits.ts'
import type { Queryable } from '../../store/database.ts'
import type { DueRetry } from '../../store/sql/retry/claim-due-retries.sql.ts'
import { readLineEnds } from '../../store/sql/scheduling/read-line-ends.sql.ts'
import { writeTokens, lockSwitches } from '../../store/sql/retry/retry-switches.sql.ts'
import { settleHeld, type HeldRetry } from '../../store/sql/retry/settle-retries.sql.ts'
import { queuedRetryEventData } from '../../domain/retry/event-data.ts'

/**
 * Selects the retries of a batch that may be dispatched, takes tokens for them, and records the others as held.
 * Switches and quotas are read in the transaction that dispatches, never from a cache.
 */
export async function admitRetries(
  tx: Queryable,
  due: readonly DueRetry[],
): Promise<{ go: DueRetry[]; held: readonly Hold<DueRetry>[] }> {
  const switches = await lockSwitches(tx, [...new Set(due.map(({ projectId }) => projectId))])
  const places = await lockPendingPlaces(tx, due)
  const { go, held, left } = admit(due, switches, places)
  await writeTokens(tx, left)
  const ends = await readLineEnds(tx, linesOf(held))
  const lineEnds = new Map(ends.map(({ projectId, reason, endsInMs }) => [lineKey(projectId, reason), endsInMs]))
  await settleHeld(
    tx,
    paceHeldRetries(held, lineEnds).map(({ hold, againInMs }) => heldRetry(hold, againInMs)),
  )
  return { go, held }
}

function linesOf(held: readonly Hold<DueRetry>[]) {
  const lines = held
    .filter(({ reason }) => reason !== 'PARENT_ALIVE')
    .map(({ retry: { projectId }, reason }) => [lineKey(projectId, reason), { projectId, reason }] as const)
  return [...new Map(lines).values()]
}

function heldRetry({ retry, reason, scope }: Hold<DueRetry>, againInMs: number): HeldRetry {
  const repeated = retry.holdReason === reason
  const where = scope === null ? '' : ` (${scope.toLowerCase()})`
  return {
    sessionId: retry.sessionId,
    holdReason: reason,
    scope,
    againInMs,
    eventData: repeated ? null : queuedRetryEventData(retry, { reason: `held: ${HOLD_WORDS[reason]}${where}` }),
  }
}
