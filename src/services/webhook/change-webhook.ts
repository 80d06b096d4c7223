import { validate } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { lockWebhook, type LockedWebhook } from '../../store/sql/webhook/webhooks.sql.ts'
import { assertMayChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

/**
 * Changes a webhook that the viewer may change, with an entry in the audit log, in one transaction. A token of one
 * project does not find webhooks of other projects or of all projects.
 * @throws RepriseError FORBIDDEN, WEBHOOK_NOT_FOUND
 */
export async function changeWebhook<T extends object>(
  { db, viewer }: ServiceContext,
  id: string,
  action: string,
  change: (tx: Queryable, webhook: LockedWebhook) => Promise<T>,
): Promise<T> {
  assertMayChange(viewer)
  return db.transaction(async (tx) => {
    const webhook = validate(id) ? await lockWebhook(tx, id, viewer.projectId) : undefined
    if (!webhook) throw new RepriseError('WEBHOOK_NOT_FOUND', `no webhook ${id.slice(0, 100)}`)
    const details = await change(tx, webhook)
    const { projectId } = webhook
    await recordAudit(tx, { actor: actorOf(viewer), action, projectId, details: { webhookId: id, ...details } })
    return details
  })
}

/** @throws RepriseError WEBHOOK_DISABLED */
export function assertEnabled(webhookId: string, enabled: boolean): void {
  if (!enabled) throw new RepriseError('WEBHOOK_DISABLED', `webhook ${webhookId} is disabled: enable it first`)
}
