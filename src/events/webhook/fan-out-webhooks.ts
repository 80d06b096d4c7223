import { WEBHOOK_FAN_OUT_EVENTS_MAX } from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Database } from '../../store/database.ts'
import { hasWaitingEvents, fanOutEvents, lockWebhookCursor } from '../../store/sql/webhook/fan-out-webhooks.sql.ts'

/**
 * Turns events into deliveries. Level-triggered: the outbox is read from a cursor that advances in the transaction that
 * adds the deliveries, by one server at a time. Transactions that write events know nothing about webhooks and do not
 * wait for them.
 */
export async function fanOutWebhooks({ db, wake }: { db: Database; wake: Wake }) {
  if (!(await hasWaitingEvents(db))) return { done: 0 }
  const { read, added } = await db.transaction(async (tx) => {
    const after = await lockWebhookCursor(tx)
    return after ? fanOutEvents(tx, after, WEBHOOK_FAN_OUT_EVENTS_MAX) : { read: 0, added: 0 }
  })
  if (added > 0) wake.wake('deliver-webhooks')
  return { done: added, more: read === WEBHOOK_FAN_OUT_EVENTS_MAX }
}
