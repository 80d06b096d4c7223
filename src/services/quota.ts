import { RepriseError } from '../domain/errors.ts'
import {
  type Owner,
  pendingPlaces,
  type PendingPlaces,
  type Quota,
  type QuotaLimits,
  type QuotaScope,
} from '../domain/quota.ts'
import {
  countPending,
  findQuotaScopes,
  listQuotas,
  type LockedQuota,
  lockQuota,
  lockQuotas,
  type Owners,
  quotaKey,
  readLimits,
  readQuotas,
  type UsedQuota,
  writeQuota,
} from '../store/sql/quota.sql.ts'
import type { ServiceContext } from './service-context.ts'
import { mayBeName, slotAmounts } from './input/input-fields.ts'
import { QUOTA_SESSIONS_MAX, SCOPES_LISTED_MAX } from '../domain/limits.ts'
import { z } from 'zod'
import { parseAmount } from '../domain/amounts.ts'
import { recordAudit } from '../store/sql/access/audit.sql.ts'
import { actorOf, assertMayAdminister } from './access/authorize.ts'
import { parseInput } from './input/parse-input.ts'
import type { Queryable } from '../store/database.ts'

const NOT_FOUND = { USER: 'USER_NOT_FOUND', PROJECT: 'PROJECT_NOT_FOUND', DOMAIN: 'DOMAIN_NOT_FOUND' } as const

export type { UsedQuota }

/** Reads all quotas that apply to what the viewer sees. */
export function allQuotas({ db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>): Promise<UsedQuota[]> {
  return listQuotas(db, viewer, SCOPES_LISTED_MAX)
}

/**
 * Reads a quota, with its usage even if nothing is limited. Null if the viewer sees no such user, project or domain.
 */
export async function readQuota(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  scope: QuotaScope,
  name: string,
): Promise<UsedQuota | null> {
  return (await readNamedQuotas(context, [{ scope, name }]))[0] ?? null
}

/** Reads the quotas with these owners that the viewer sees, in no particular order. */
export async function readNamedQuotas(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  owners: readonly { scope: QuotaScope; name: string }[],
): Promise<UsedQuota[]> {
  const named = owners.filter(({ name }) => mayBeName(name))
  return readQuotas(db, await findQuotaScopes(db, named, viewer))
}

/** Reads the quotas of several scopes, in their order. The caller has checked that the viewer may see them. */
export async function readQuotasOf(
  { db }: Pick<ServiceContext, 'db'>,
  keys: readonly Pick<Quota, 'scope' | 'scopeId'>[],
): Promise<UsedQuota[]> {
  const quotas = await readQuotas(db, keys)
  return keys.map(({ scope, scopeId }) => quotas.find((quota) => quota.scope === scope && quota.scopeId === scopeId)!)
}

const count = z.int().min(0).max(QUOTA_SESSIONS_MAX).nullish()

/** Bytes, such as `500g`, written as for the slot `mem`. */
const byteCount = z.union([z.string(), z.number()]).transform((text, context) => {
  const bytes = Number(parseAmount('mem', text))
  if (Number.isSafeInteger(bytes)) return bytes
  context.addIssue({ code: 'custom', message: 'must be a number of bytes, such as 500g' })
  return z.NEVER
})

/** The limits of a quota, as a client gives them. */
export const quotaLimits = z.strictObject({
  slots: slotAmounts.nullish(),
  maxRunning: count,
  maxPending: count,
  maxCheckpointBytes: byteCount.nullish(),
  maxOutputBytes: byteCount.nullish(),
})

const schema = quotaLimits.extend({ scope: z.enum(['USER', 'PROJECT', 'DOMAIN']), name: z.string().min(1) })

/** A missing field keeps its limit, null removes it; `slots` are replaced as a whole. */
export type SetQuotaInput = z.input<typeof schema>

/**
 * Sets the limits of a user, a project or a domain, for administrators of the cluster. Existing objects stay, even if
 * they exceed the limit. The limits are in force on every server when this returns; retries that were held because of
 * the quota are released as places become free.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, USER_NOT_FOUND, PROJECT_NOT_FOUND, DOMAIN_NOT_FOUND
 */
export async function setQuota(context: ServiceContext, input: SetQuotaInput): Promise<UsedQuota> {
  assertMayAdminister(context.viewer, 'CLUSTER')
  const { scope, name, ...change } = parseInput(schema, input)
  const scopeId = await resolveQuotaScope(context, scope, name)
  const key = { scope, scopeId }
  const quota = await context.db.transaction(async (tx) => {
    const before = (await lockQuota(tx, key)) ?? UNLIMITED
    const after = changed(before, change)
    await writeQuota(tx, key, after)
    await recordAudit(tx, {
      actor: actorOf(context.viewer),
      action: 'quota.set',
      projectId: scope === 'PROJECT' ? scopeId : null,
      details: { scope, name, before, after },
    })
    return (await readQuotas(tx, [key]))[0]!
  })
  context.wake.wake('schedule-sessions', 'dispatch-retries')
  return quota
}

const UNLIMITED: QuotaLimits = {
  slots: {},
  maxRunning: null,
  maxPending: null,
  maxCheckpointBytes: null,
  maxOutputBytes: null,
}

/**
 * Counts the free places in these owners' limits on pending sessions. The quotas are locked for the transaction, so
 * that no other transaction takes the same places; without quotas, nothing is counted.
 */
export async function lockPendingPlaces(tx: Queryable, owners: readonly Owner[]): Promise<PendingPlaces> {
  return placesLeftBy(tx, await lockQuotas(tx, scopesOf(owners), 'PENDING'))
}

/** Counts the free places for information only, without locks. */
export async function readPendingPlaces(db: Queryable, owners: readonly Owner[]): Promise<PendingPlaces> {
  return placesLeftBy(db, await readLimits(db, scopesOf(owners), 'PENDING'))
}

/**
 * Finds the id of a user, project or domain whose quota applies to the viewer.
 * @throws RepriseError USER_NOT_FOUND, PROJECT_NOT_FOUND, DOMAIN_NOT_FOUND
 */
async function resolveQuotaScope(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  scope: QuotaScope,
  name: string,
): Promise<string> {
  const [found] = mayBeName(name) ? await findQuotaScopes(db, [{ scope, name }], viewer) : []
  if (found === undefined) throw new RepriseError(NOT_FOUND[scope], `no ${scope.toLowerCase()} ${name}`)
  return found.scopeId
}

function changed(
  before: QuotaLimits,
  {
    slots,
    maxRunning,
    maxPending,
    maxCheckpointBytes,
    maxOutputBytes,
  }: { [Field in keyof QuotaLimits]?: QuotaLimits[Field] | null },
): QuotaLimits {
  return {
    slots: slots === undefined ? before.slots : (slots ?? {}),
    maxRunning: maxRunning === undefined ? before.maxRunning : maxRunning,
    maxPending: maxPending === undefined ? before.maxPending : maxPending,
    maxCheckpointBytes: maxCheckpointBytes === undefined ? before.maxCheckpointBytes : maxCheckpointBytes,
    maxOutputBytes: maxOutputBytes === undefined ? before.maxOutputBytes : maxOutputBytes,
  }
}

function scopesOf(owners: readonly Owner[]): Owners {
  return {
    projectIds: [...new Set(owners.map(({ projectId }) => projectId))],
    userIds: [...new Set(owners.flatMap(({ userId }) => userId ?? []))],
  }
}

async function placesLeftBy(db: Queryable, quotas: readonly LockedQuota[]): Promise<PendingPlaces> {
  const counts = await countPending(db, quotas)
  return pendingPlaces(
    quotas.map((quota) => ({ ...quota, maxPending: quota.maxPending!, pending: counts.get(quotaKey(quota))! })),
  )
}
