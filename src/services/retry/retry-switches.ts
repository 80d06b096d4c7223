import {
  BREAKER_COUNT_MAX,
  BREAKER_COUNT_MIN,
  BREAKER_WINDOW_MAX_SECONDS,
  BREAKER_WINDOW_MIN_SECONDS,
  DISPATCH_INTERVAL_MS,
  HELD_RELEASE_RETRIES_MAX,
  RATE_LIMIT_PERIOD_MAX_SECONDS,
  RATE_LIMIT_RETRIES_MAX,
  REASON_LENGTH_MAX,
  SCOPES_LISTED_MAX,
} from '../../domain/limits.ts'
import {
  listRetrySwitches,
  lockSwitch,
  readNamedSwitches as readNamed,
  releaseHeld,
  type StoredSwitch,
  writeSwitch,
} from '../../store/sql/retry/retry-switches.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { z } from 'zod'
import type { ValidationIssue } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/retry/admit.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import type { HoldReason } from '../../domain/session/failure.ts'
import type { RetryScope } from '../../domain/retry/policy/resolve-policy.ts'
import {
  type BreakerSetting,
  change,
  currentChange,
  currentValue,
  type SwitchChange,
  type SwitchState,
} from '../../domain/retry/retry-state.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { actorOf, assertMayAdminister } from '../access/authorize.ts'
import { refuseInput, issuesOf as zodIssues } from '../input/parse-input.ts'
import { mayBeScope, type NamedScope, resolveScope, type RetryScopeInput, scopeIssues } from './retry-defaults.ts'

/** Reads all switches in effect that apply to the viewer, widest scope first. */
export async function readRetrySwitches({ db, viewer }: ServiceContext): Promise<RetrySwitchView[]> {
  const found = await listRetrySwitches(db, viewer.projectId, SCOPES_LISTED_MAX)
  return found.map(({ scope, name, state, now }) => viewOf(scope, name, state, now))
}

/** Reads the switches of these scopes that the viewer sees, also of those that were never set. */
export async function readNamedSwitches(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  scopes: readonly NamedScope[],
): Promise<RetrySwitchView[]> {
  const found = await readNamed(db, viewer.projectId, scopes.filter(mayBeScope))
  return found.map(({ scope, name, state, now }) => viewOf(scope, name, state, now))
}

export interface SetRetrySwitchInput extends RetryScopeInput {
  /** True holds every due retry. Null or missing keeps the present value. */
  disabled?: boolean | null
  /** Null removes the limit; missing keeps it. */
  rateLimit?: RateLimit | null
  /** Null removes it; missing keeps it. It does not revert by itself. */
  breaker?: BreakerSetting | null
  /** When this change reverts by itself to the permanent setting. */
  until?: Date | null
  /** The reason, for people. */
  reason?: string | null
}

export interface RetrySwitchView {
  scope: RetryScope
  /** Null for the cluster. */
  name: string | null
  disabled: boolean
  disabledUntil: Date | null
  /**
   * The change that set the present value of `disabled`; null if that value came back because a temporary one expired,
   * or was never set.
   */
  disabledChange: SwitchChange | null
  rateLimit: RateLimit | null
  rateLimitUntil: Date | null
  rateLimitChange: SwitchChange | null
  breaker: BreakerSetting | null
}

const RAMP = { perTick: HELD_RELEASE_RETRIES_MAX, tickMs: DISPATCH_INTERVAL_MS }

/**
 * Sets the kill switch and the rate limit of a scope. They are in effect on every server when this returns, because
 * servers read them in the transactions that dispatch retries. Retries held by the old setting are released gradually.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, DOMAIN_NOT_FOUND, PROJECT_NOT_FOUND
 */
export async function setRetrySwitch(context: ServiceContext, input: SetRetrySwitchInput): Promise<RetrySwitchView> {
  assertMayAdminister(context.viewer, input.scope)
  const issues = [...scopeIssues(input), ...issuesOf(input)]
  if (input.until && input.until <= (await readNow(context.db))) {
    issues.push({ path: 'until', message: 'Must lie in the future' })
  }
  if (issues.length > 0) refuseInput(issues)
  const { scope, name, id: scopeId, projectId } = await resolveScope(context, input)
  const key = { scope, scopeId }
  const view = await context.db.transaction(async (tx) => {
    const stored = await lockSwitch(tx, key)
    const { now } = stored
    const by = { at: now, by: context.viewer.name, reason: input.reason ?? null }
    const state = changed(stored.state, input, by)
    await writeSwitch(tx, key, state, tokensAfter(stored, state))
    await releaseHeld(tx, key, affectedReasons(input), RAMP)
    const [before, after] = [stored.state, state].map((each) => viewOf(scope, name, each, now))
    await recordAudit(tx, {
      actor: actorOf(context.viewer, input.reason),
      action: 'retry.set_switch',
      projectId,
      details: { before: auditOf(before!), after: auditOf(after!), ...(by.reason !== null && { reason: by.reason }) },
    })
    return after!
  })
  context.wake.wake('dispatch-retries')
  return view
}

function viewOf(scope: RetryScope, name: string | null, state: SwitchState, now: Date): RetrySwitchView {
  const untilOf = (until: Date | null) => (until !== null && until > now ? until : null)
  return {
    scope,
    name,
    disabled: currentValue(state.disabled, now),
    disabledUntil: untilOf(state.disabled.until),
    disabledChange: currentChange(state.disabled, now),
    rateLimit: currentValue(state.rateLimit, now),
    rateLimitUntil: untilOf(state.rateLimit.until),
    rateLimitChange: currentChange(state.rateLimit, now),
    breaker: state.breaker,
  }
}

function changed(
  { disabled, rateLimit, breaker }: SwitchState,
  input: SetRetrySwitchInput,
  by: SwitchChange,
): SwitchState {
  const until = input.until ?? null
  return {
    disabled: input.disabled == null ? disabled : change(disabled, { value: input.disabled, until, by }),
    rateLimit: input.rateLimit === undefined ? rateLimit : change(rateLimit, { value: input.rateLimit, until, by }),
    breaker: input.breaker === undefined ? breaker : input.breaker,
  }
}

/** The details for the audit log, which itself records actor and time. */
function auditOf({ scope, name, disabled, disabledUntil, rateLimit, rateLimitUntil, breaker }: RetrySwitchView) {
  return { scope, name, disabled, disabledUntil, rateLimit, rateLimitUntil, breaker }
}

/** Computes the tokens of the bucket: a new limit's bucket is full; an existing one keeps its tokens. */
function tokensAfter({ state, tokens, now }: StoredSwitch, after: SwitchState): number {
  const limit = currentValue(after.rateLimit, now)
  if (!limit) return 0
  return currentValue(state.rateLimit, now) ? Math.min(tokens, limit.burst) : limit.burst
}

function affectedReasons({ disabled, rateLimit }: SetRetrySwitchInput): HoldReason[] {
  return [
    ...(disabled == null ? [] : ['DISABLED' as const]),
    ...(rateLimit === undefined ? [] : ['RATE_LIMITED' as const]),
  ]
}

const rateLimitSchema = z.strictObject({
  perSecond: z
    .number()
    .min(1 / RATE_LIMIT_PERIOD_MAX_SECONDS)
    .max(RATE_LIMIT_RETRIES_MAX),
  burst: z.int().min(1).max(RATE_LIMIT_RETRIES_MAX),
})

const breakerSchema = z.strictObject({
  failures: z.int().min(BREAKER_COUNT_MIN).max(BREAKER_COUNT_MAX),
  chains: z.int().min(BREAKER_COUNT_MIN).max(BREAKER_COUNT_MAX),
  window: z.int().min(BREAKER_WINDOW_MIN_SECONDS).max(BREAKER_WINDOW_MAX_SECONDS),
})

const givenSchema = z.object({
  rateLimit: rateLimitSchema.nullish(),
  breaker: breakerSchema.nullish(),
  reason: z.string().min(1).max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
})

function issuesOf({ disabled, rateLimit, breaker, until, reason }: SetRetrySwitchInput): ValidationIssue[] {
  const isTimed = disabled != null || rateLimit !== undefined
  if (!isTimed && breaker === undefined)
    return [{ path: 'disabled', message: 'Neither disabled nor rateLimit nor breaker is given' }]
  if (until && !isTimed) return [{ path: 'until', message: 'A breaker has no end' }]
  const parsed = givenSchema.safeParse({ rateLimit, breaker, reason })
  return parsed.success ? [] : zodIssues(parsed.error)
}
