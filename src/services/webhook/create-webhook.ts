import { randomBytes } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import { NAME_LENGTH_MAX, WEBHOOKS_PER_PROJECT_MAX } from '../../domain/limits.ts'
import { formatSecret } from '../../domain/webhook/signature.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { findScopeId } from '../../store/sql/retry/retry-scope.sql.ts'
import { countWebhooks, insertWebhook } from '../../store/sql/webhook/webhooks.sql.ts'
import { assertMayAdminister, assertMayChange } from '../access/authorize.ts'
import { sealWebhookSecret } from './seal-webhook-secrets.ts'
import type { ServiceContext } from '../service-context.ts'
import { parseWebhookSettings, type WebhookSettingsInput } from './webhook-input.ts'
import { actorOf } from '../access/actor.ts'
import { mayBeName } from '../input/text-input.ts'

export interface CreateWebhookInput extends WebhookSettingsInput {
  /** Missing: the token's project, or all projects for a token without one. */
  project?: string | null
}

/** Standard Webhooks requires 24 to 64. */
const SECRET_BYTES = 32

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

/**
 * From now on the endpoint receives the selected events. The secret is returned only once.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, QUOTA_EXCEEDED
 */
export async function createWebhook(
  context: ServiceContext,
  { project, ...input }: CreateWebhookInput,
): Promise<{ webhookId: string; secret: string }> {
  const { db, viewer } = context
  assertMayChange(viewer)
  const settings = parseWebhookSettings(input)
  const projectId = await projectOf(context, project ?? null)
  const id = uuidv7()
  const secret = newSecret()
  await db.transaction(async (tx) => {
    if ((await countWebhooks(tx, projectId)) >= WEBHOOKS_PER_PROJECT_MAX) {
      throw new RepriseError(
        'QUOTA_EXCEEDED',
        `there are ${WEBHOOKS_PER_PROJECT_MAX} webhooks already, and no more may be`,
      )
    }
    await insertWebhook(tx, { id, projectId, secret: sealWebhookSecret(context.secrets, id, secret), ...settings })
    const details = { webhookId: id, ...settings }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'webhook.create', projectId, details })
  })
  return { webhookId: id, secret: formatSecret(secret) }
}

async function projectOf({ db, viewer }: ServiceContext, name: string | null): Promise<string | null> {
  if (name === null) {
    if (viewer.projectId === null) assertMayAdminister(viewer, 'CLUSTER')
    return viewer.projectId
  }
  const id = mayBeName(name) ? await findScopeId(db, 'PROJECT', name, viewer.projectId) : undefined
  if (id === undefined) throw new RepriseError('PROJECT_NOT_FOUND', `no project ${name.slice(0, NAME_LENGTH_MAX)}`)
  return id
}
