import { z } from '@hono/zod-openapi'
import { isDuration } from '../domain/durations.ts'
import { amountMax, exitCodes, givenDelay, retryPolicy, type RetryPolicy, rule } from '../domain/retry/policy/policy.ts'
import { RETRY_SCOPES } from '../domain/retry/policy/resolve-policy.ts'
import { holdReasonText, readHoldingSwitch } from '../domain/retry/retry-state.ts'
import { FAILURE_CAUSES, HOLD_REASONS, RETRY_PHASES } from '../domain/session/failure.ts'
import type { RetryDecisionRecord } from '../services/retry/decide-session.ts'
import { time, toTime } from './fields.ts'
import { renamed, snakeCase, type SnakeKeys } from './snake-case.ts'

type ShownPolicy = SnakeKeys<RetryPolicy>
type ShownRule = ShownPolicy['rules'][number]

/** Descriptions of fields whose names are not clear enough alone. */
const RULE_DESCRIPTIONS: Partial<Record<keyof ShownRule, string>> = {
  delay: "Base delay in seconds, in place of the formula's.",
}
const POLICY_DESCRIPTIONS: Partial<Record<keyof ShownPolicy, string>> = {
  max_retries: 'Number of retries: one less than the number of attempts. 0 means none.',
  delays:
    'The delay of each retry in seconds, in place of the formula; the last one repeats. Null means the formula. Requests may also give text such as `20s`, `5m` or `2h`.',
  retry_delay: 'Seconds.',
  max_retry_delay: 'Longest delay in seconds. Null means the absolute ceiling, 86400.',
  max_elapsed: 'No retry starts later than this many seconds after the first attempt was created. Null means no limit.',
}

/** Schemas of input values that responses show in another form. */
const SHOWN_AS = new Map<unknown, z.ZodType>([
  [
    exitCodes,
    z.union([z.int(), z.string()]).openapi({
      description: 'An exit code, or a range of exit codes, both ends included: `"64-78"`.',
      example: '64-78',
    }),
  ],
  [amountMax, z.string().optional()],
  [givenDelay, z.number()],
  [
    rule.shape.match.shape.reason,
    z.string().optional().openapi({ description: 'A pattern with `*` and `?` that must match the whole reason.' }),
  ],
])
SHOWN_AS.set(
  retryPolicy.shape.rules.element,
  shownObject(rule, RULE_DESCRIPTIONS).openapi('RetryRule', {
    description: 'Rules in order; the first one whose `match` applies decides.',
  }),
)

export const RetryPolicyResource = shownObject(retryPolicy, POLICY_DESCRIPTIONS).openapi('RetryPolicy', {
  description: 'The retry policy of a session, as resolved when it was created.',
}) as unknown as z.ZodType<ShownPolicy>

export const PartialRetryPolicyResource = shownObject(retryPolicy, POLICY_DESCRIPTIONS)
  .partial()
  .openapi('PartialRetryPolicy', {
    description: 'The given fields of a retry policy; the others come from the defaults.',
  }) as unknown as z.ZodType<Partial<ShownPolicy>>

export function toPartialRetryPolicy(policy: Partial<RetryPolicy>): Partial<ShownPolicy> {
  return renamed(policy, snakeCase) as Partial<ShownPolicy>
}

export function toRetryPolicy(policy: RetryPolicy): ShownPolicy {
  return renamed(policy, snakeCase) as ShownPolicy
}

const holdReason = () => z.enum(HOLD_REASONS)

const holdingSwitch = () =>
  z
    .object({
      scope: z.enum(RETRY_SCOPES),
      name: z.string().nullable().openapi({ description: 'Name of the domain or project; null for the cluster.' }),
      by: z.string().nullable().openapi({ description: 'Who set it: the name of the token.' }),
      reason: z.string().nullable().openapi({ description: 'The reason that this person gave.' }),
      since: time().nullable(),
      until: time().nullable().openapi({ description: 'When it automatically returns to its earlier value.' }),
    })
    .nullable()
    .openapi({ description: 'The switch or rate limit that holds it; null if none does.' })

export const RetryDecisionResource = z
  .object({
    session_id: z.uuid(),
    chain_id: z.uuid(),
    phase: z.enum(RETRY_PHASES),
    cause: z.enum(FAILURE_CAUSES).nullable().openapi({ description: 'Why the session failed.' }),
    matched_rule: z.int().nullable().openapi({ description: 'Index of the rule that decided, from 0.' }),
    counted: z.boolean().openapi({ description: 'Whether the retry uses up `max_retries`.' }),
    explanation: z.string().openapi({ description: 'Explanation of the decision, in words.' }),
    base_delay_seconds: z.number().nullable(),
    jitter_seconds: z.number().nullable(),
    delay_seconds: z.number().nullable().openapi({ description: 'Base delay plus jitter, up to the ceiling.' }),
    due_at: time().nullable(),
    hold_reason: holdReason().nullable().openapi({ description: 'Why the retry is held; null if it is not held.' }),
    held_by: holdingSwitch(),
    holds: z
      .array(
        z.object({
          hold_reason: holdReason(),
          reason: z.string(),
          held_by: holdingSwitch(),
          from: time(),
          to: time().nullable(),
        }),
      )
      .openapi({ description: 'Spans in which the retry was held, oldest first.' }),
    child_session_id: z.uuid().nullable(),
    decided_at: time(),
    dispatched_at: time().nullable(),
  })
  .openapi('RetryDecision', { description: 'The decision whether to retry a session after its end.' })

export function toDecision(record: RetryDecisionRecord): z.infer<typeof RetryDecisionResource> {
  return {
    session_id: record.sessionId,
    chain_id: record.chainId,
    phase: record.phase,
    cause: record.cause,
    matched_rule: record.matchedRule,
    counted: record.counted,
    explanation: record.explanation,
    base_delay_seconds: seconds(record.baseDelayMs),
    jitter_seconds: seconds(record.jitterMs),
    delay_seconds: seconds(record.delayMs),
    due_at: toTime(record.dueAt),
    hold_reason: record.holdReason,
    held_by: readHoldingSwitch(record.heldBy),
    holds: record.waits.map((wait) => ({
      hold_reason: wait.reason,
      reason: holdReasonText(wait),
      held_by: readHoldingSwitch(wait.heldBy),
      from: wait.fromAt.toISOString(),
      to: toTime(wait.toAt),
    })),
    child_session_id: record.childSessionId,
    decided_at: record.decidedAt.toISOString(),
    dispatched_at: toTime(record.dispatchedAt),
  }
}

/** Returns the schema of a value in responses: names in snake_case, without the limits of inputs. */
function shown(schema: z.ZodType): z.ZodType {
  const other = SHOWN_AS.get(schema)
  if (other) return other
  if (isDuration(schema)) return z.number()
  if (schema instanceof z.ZodOptional) return shown(schema.unwrap() as z.ZodType).optional()
  if (schema instanceof z.ZodNullable) return shown(schema.unwrap() as z.ZodType).nullable()
  if (schema instanceof z.ZodPipe) return shown(schema.in as z.ZodType)
  if (schema instanceof z.ZodArray) return z.array(shown(schema.element as z.ZodType))
  if (schema instanceof z.ZodObject) return shownObject(schema, {})
  if (schema instanceof z.ZodEnum) return z.enum(schema.options as string[])
  if (schema instanceof z.ZodNumber) return schema.format === 'safeint' ? z.int() : z.number()
  if (schema instanceof z.ZodString) return z.string()
  if (schema instanceof z.ZodBoolean) return z.boolean()
  throw new Error(`REST does not show ${schema.type}`)
}

function shownObject(schema: z.ZodObject, descriptions: Readonly<Record<string, string>>) {
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const snake = snakeCase(name)
    const value = shown(field as z.ZodType)
    const description = descriptions[snake]
    return [snake, description === undefined ? value : value.openapi({ description })] as const
  })
  return z.object(Object.fromEntries(fields))
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}
