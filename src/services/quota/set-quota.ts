import { z } from 'zod'
import { parseAmount } from '../../domain/amounts.ts'
import { QUOTA_SESSIONS_MAX } from '../../domain/limits.ts'
import type { QuotaLimits } from '../../domain/quota/quota.ts'
import { readQuotas, lockQuota, writeQuota, type UsedQuota } from '../../store/sql/quota/quotas.sql.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { assertMayAdminister } from '../access/authorize.ts'
import { parseInput } from '../input/parse-input.ts'
import { resolveQuotaScope } from './quota-scope.ts'
import type { ServiceContext } from '../service-context.ts'
import { slotAmounts } from '../input/slot-amounts-input.ts'
import { actorOf } from '../access/actor.ts'

const count = z.int().min(0).max(QUOTA_SESSIONS_MAX).nullish()

/** `500g`, as for the slot `mem`. */
const byteCount = z.string().transform((text, context) => {
  const bytes = Number(parseAmount('mem', text))
  if (Number.isSafeInteger(bytes)) return bytes
  context.addIssue({ code: 'custom', message: 'must be a number of bytes, such as 500g' })
  return z.NEVER
})

const schema = z.strictObject({
  scope: z.enum(['USER', 'PROJECT', 'DOMAIN']),
  name: z.string().min(1),
  slots: slotAmounts.nullish(),
  maxRunning: count,
  maxPending: count,
  maxCheckpointBytes: byteCount.nullish(),
})

/** A missing field leaves a limit unchanged, null removes it; `slots` are replaced together. */
export type SetQuotaInput = z.input<typeof schema>

/**
 * Limits what a user, a project or a domain may have at once, for administrators of the cluster. Existing objects stay,
 * even if they exceed the limit. In force on every server when this returns; retries that were held because of the
 * quota are released as places become free.
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

const UNLIMITED: QuotaLimits = { slots: {}, maxRunning: null, maxPending: null, maxCheckpointBytes: null }

function changed(
  before: QuotaLimits,
  { slots, maxRunning, maxPending, maxCheckpointBytes }: { [Field in keyof QuotaLimits]?: QuotaLimits[Field] | null },
): QuotaLimits {
  return {
    slots: slots === undefined ? before.slots : (slots ?? {}),
    maxRunning: maxRunning === undefined ? before.maxRunning : maxRunning,
    maxPending: maxPending === undefined ? before.maxPending : maxPending,
    maxCheckpointBytes: maxCheckpointBytes === undefined ? before.maxCheckpointBytes : maxCheckpointBytes,
  }
}
