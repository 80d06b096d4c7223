import { isTooLate } from '../../domain/retry/budget.ts'
import { readStoredPolicy } from '../../domain/retry/policy/stored-policy.ts'
import { readStoredChildChanges, type StoredChildChanges } from '../../domain/retry/policy/stored-child-changes.ts'
import type { Refusal } from '../../services/retry/add-children.ts'
import type { DueRetry } from '../../store/sql/retry/claim-due-retries.sql.ts'
import type { ExhaustedRetry } from '../../store/sql/retry/settle-retries.sql.ts'
import { queuedRetryEventData } from '../../domain/retry/event-data.ts'

export interface SiftedRetries {
  /** May be dispatched if nothing holds them. */
  sound: DueRetry[]
  /** Of the sound ones' children, by parent. */
  changes: Map<string, StoredChildChanges>
  /**
   * By parent: policy or decision were damaged since the decision, which would otherwise fail the statement that
   * creates all children of the batch.
   */
  unreadable: Map<string, Refusal>
  /** Waited, held or for a server, until after `maxElapsed`. */
  exhausted: { retry: DueRetry; settled: ExhaustedRetry }[]
}

export function siftDueRetries(due: readonly DueRetry[]): SiftedRetries {
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

/** By the database's clock. */
function nowOf({ dueAt, lateMs }: DueRetry): Date {
  return new Date(dueAt.getTime() + lateMs)
}

function settledExhausted(retry: DueRetry, maxElapsed: number): ExhaustedRetry {
  const reason = `retries exhausted: it would start later than ${maxElapsed} s after the first attempt`
  const eventData = queuedRetryEventData({ ...retry, delayMs: null, dueAt: null }, { reason })
  return { sessionId: retry.sessionId, explanation: reason, eventData }
}
