import { z } from 'zod'
import {
  LABELS_MAX,
  NAME_LENGTH_MAX,
  REASON_LENGTH_MAX,
  WEBHOOK_SECRET_OVERLAP_SECONDS_DEFAULT,
  WEBHOOK_SECRET_OVERLAP_SECONDS_MAX,
  WEBHOOK_EVENT_TYPES_MAX,
  WEBHOOKS_PER_PROJECT_MAX,
} from '../../domain/limits.ts'
import { isPlainText, isStorableText, PLAIN_TEXT, STORABLE_TEXT, UNSTORABLE } from '../../domain/storable-text.ts'
import { endpointUrlFault, formatSecret, isEventPattern } from '../../domain/webhook.ts'
import {
  countWebhooks,
  deleteWebhookRow,
  insertWebhook,
  type LockedWebhook,
  lockWebhook,
  rotateSecret,
  updateWebhookRow,
  type WebhookSettings,
} from '../../store/sql/webhook/webhooks.sql.ts'
import { parseInput, refuseInput } from '../input/parse-input.ts'
import { randomBytes } from 'node:crypto'
import { validate } from 'uuid'
import { newId } from '../../store/new-id.ts'
import { RepriseError } from '../../domain/errors.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { findScopeId } from '../../store/sql/retry/retry-defaults.sql.ts'
import { actorOf, assertMayAdminister, assertMayChange } from '../access/authorize.ts'
import { sealWebhookSecret } from './webhook-secrets.ts'
import type { ServiceContext } from '../service-context.ts'
import { mayBeName } from '../input/input-fields.ts'
import { projectScope } from '../access/tenants.ts'
import { keysetPage, NEWEST_FIRST, type Page, type PageArguments } from '../paging.ts'
import type { Queryable } from '../../store/database.ts'
import type { Prisma, PrismaClient } from '../../store/prisma.ts'

/** Settings of a webhook as a client gives them. */
interface WebhookSettingsInput {
  url: string
  eventTypes: string[]
  description?: string | null
  chainId?: string | null
  labels?: { key: string; value: string }[] | null
  skipGroupMembers?: boolean | null
}

const label = z.string().max(NAME_LENGTH_MAX).refine(isStorableText, UNSTORABLE).refine(isPlainText, PLAIN_TEXT)

const schema = z.strictObject({
  url: z.string().superRefine((text, context) => {
    const fault = endpointUrlFault(text)
    if (fault !== undefined) context.addIssue(fault)
  }),
  eventTypes: z
    .array(z.string().refine(isEventPattern, 'must be the name of an event, or begin like one and end in *'))
    .min(1)
    .max(WEBHOOK_EVENT_TYPES_MAX)
    .transform((types) => [...new Set(types)]),
  description: z.string().max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
  chainId: z.uuid().nullish(),
  labels: z
    .array(z.strictObject({ key: label.min(1), value: label }))
    .max(LABELS_MAX)
    .refine((labels) => new Set(labels.map(({ key }) => key)).size === labels.length, 'must name each key once')
    .nullish(),
  skipGroupMembers: z.boolean().nullish(),
})

/** @throws RepriseError VALIDATION_FAILED with all faults */
function parseWebhookSettings(input: WebhookSettingsInput): WebhookSettings {
  const { url, eventTypes, description, chainId, labels, skipGroupMembers } = parseInput(schema, input)
  return {
    url,
    eventTypes,
    description: description ?? '',
    chainId: chainId ?? null,
    labels: Object.fromEntries((labels ?? []).map(({ key, value }) => [key, value])),
    skipGroupMembers: skipGroupMembers ?? false,
  }
}

export interface CreateWebhookInput extends WebhookSettingsInput {
  /** If missing, the token's project, or all projects for a token without one. */
  project?: string | null
}

/** Standard Webhooks requires 24 to 64. */
const SECRET_BYTES = 32

function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

/**
 * Creates a webhook. The endpoint receives the selected events from now on. The secret is returned only once.
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
  const id = newId()
  const secret = newSecret()
  await db.transaction(async (tx) => {
    if ((await countWebhooks(tx, projectId)) >= WEBHOOKS_PER_PROJECT_MAX) {
      throw new RepriseError(
        'QUOTA_EXCEEDED',
        `there are already ${WEBHOOKS_PER_PROJECT_MAX} webhooks, and that is the limit`,
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

interface UpdateWebhookInput extends Partial<{
  [Field in keyof WebhookSettingsInput]: WebhookSettingsInput[Field] | null
}> {
  webhookId: string
  enabled?: boolean | null
}

/**
 * Changes a webhook. Missing fields stay; null clears optional ones. Waiting deliveries go to the new address. While a
 * webhook is disabled, nothing is sent and no new deliveries are recorded; waiting ones continue when it is enabled.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, WEBHOOK_NOT_FOUND
 */
export async function updateWebhook(
  context: ServiceContext,
  input: UpdateWebhookInput,
): Promise<{ webhookId: string }> {
  const { webhookId, enabled } = input
  await changeWebhook(context, webhookId, 'webhook.update', async (tx, before) => {
    const settings = parseWebhookSettings(merged(before, input))
    const after = { ...settings, enabled: enabled ?? before.enabled }
    await updateWebhookRow(tx, webhookId, settings, after.enabled)
    const { id: _id, projectId: _projectId, ...shown } = before
    return { before: shown, after }
  })
  context.wake.wake('deliver-webhooks')
  return { webhookId }
}

function merged(before: LockedWebhook, input: UpdateWebhookInput) {
  const { url, eventTypes, description, chainId, labels, skipGroupMembers } = input
  const labelsBefore = Object.entries(before.labels).map(([key, value]) => ({ key, value }))
  return {
    url: url ?? before.url,
    eventTypes: eventTypes ?? before.eventTypes,
    description: description === undefined ? before.description : description,
    chainId: chainId === undefined ? before.chainId : chainId,
    labels: labels === undefined ? labelsBefore : labels,
    skipGroupMembers: skipGroupMembers ?? before.skipGroupMembers,
  }
}

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

/**
 * Deletes a webhook together with its deliveries. An attempt in progress is completed.
 * @throws RepriseError FORBIDDEN, WEBHOOK_NOT_FOUND
 */
export async function deleteWebhook(
  context: ServiceContext,
  { webhookId }: { webhookId: string },
): Promise<{ webhookId: string }> {
  await changeWebhook(context, webhookId, 'webhook.delete', async (tx, { url }) => {
    await deleteWebhookRow(tx, webhookId)
    return { url }
  })
  return { webhookId }
}

/**
 * Rotates the secret and returns the new one, only this once. During the overlap, requests are also signed with the
 * previous one.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, WEBHOOK_NOT_FOUND
 */
export async function rotateWebhookSecret(
  context: ServiceContext,
  input: { webhookId: string; overlapSeconds?: number | null },
): Promise<{ webhookId: string; secret: string }> {
  const { webhookId, overlapSeconds: given } = input
  const overlapSeconds = given ?? WEBHOOK_SECRET_OVERLAP_SECONDS_DEFAULT
  if (!(overlapSeconds >= 0 && overlapSeconds <= WEBHOOK_SECRET_OVERLAP_SECONDS_MAX)) {
    refuseInput([{ path: 'overlapSeconds', message: `must be 0 to ${WEBHOOK_SECRET_OVERLAP_SECONDS_MAX}` }])
  }
  const secret = newSecret()
  await changeWebhook(context, webhookId, 'webhook.rotate_secret', async (tx) => {
    await rotateSecret(tx, webhookId, sealWebhookSecret(context.secrets, webhookId, secret), overlapSeconds)
    return { overlapSeconds }
  })
  return { webhookId, secret: formatSecret(secret) }
}

const SHOWN = {
  id: true,
  url: true,
  description: true,
  eventTypes: true,
  chainId: true,
  labels: true,
  skipGroupMembers: true,
  enabled: true,
  disabledReason: true,
  disabledAt: true,
  failingSince: true,
  lastDeliveredAt: true,
  restingUntil: true,
  previousSecretExpiresAt: true,
  createdAt: true,
  project: { select: { name: true } },
} as const satisfies Prisma.WebhookSelect

/** A webhook as it is shown, without its secrets. */
export type WebhookRecord = Prisma.WebhookGetPayload<{ select: typeof SHOWN }>

type WebhookReader = Pick<ServiceContext, 'viewer'> & { prisma: PrismaClient }

/** Reads webhooks, newest first. @throws RepriseError VALIDATION_FAILED */
export function readWebhooks(
  { prisma, viewer }: WebhookReader,
  { project, enabled, page }: { project?: string; enabled?: boolean; page: PageArguments },
): Promise<Page<WebhookRecord>> {
  const wanted: Prisma.WebhookWhereInput = {
    ...projectScope(viewer),
    ...(project !== undefined && { project: { name: project } }),
    ...(enabled !== undefined && { enabled }),
  }
  return keysetPage({
    args: page,
    order: NEWEST_FIRST,
    find: ({ where, ...rest }) => prisma.webhook.findMany({ ...rest, where: { AND: [wanted, where] }, select: SHOWN }),
    count: () => prisma.webhook.count({ where: wanted }),
  })
}

/** @throws RepriseError WEBHOOK_NOT_FOUND */
export async function readWebhook({ prisma, viewer }: WebhookReader, id: string): Promise<WebhookRecord> {
  const webhook = await prisma.webhook.findFirst({ where: { id, ...projectScope(viewer) }, select: SHOWN })
  if (webhook === null) throw new RepriseError('WEBHOOK_NOT_FOUND', `no webhook ${id}`)
  return webhook
}
