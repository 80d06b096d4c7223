import { z } from '@hono/zod-openapi'
import { ELIGIBLE_CAUSES, FAILURE_CAUSES } from '../../domain/session/causes.ts'
import {
  AVOIDANCES,
  BACKOFFS,
  EXCLUSIONS,
  JITTERS,
  RULE_ACTIONS,
  type RetryPolicy,
} from '../../domain/retry/policy/policy.ts'
import { renamed, snakeCase } from '../resources/snake-case.ts'

const FailureCause = z.enum(FAILURE_CAUSES)

const ExitCodes = z
  .union([z.int(), z.string()])
  .openapi({ description: 'An exit code, or a range of them with both ends: `"64-78"`.', example: '64-78' })

const RetryRule = z
  .object({
    match: z.object({
      causes: z.array(FailureCause).optional(),
      exit_codes: z.array(ExitCodes).optional(),
      exit_codes_not_in: z.array(ExitCodes).optional(),
      reason: z.string().optional().openapi({ description: 'A pattern with `*` and `?` for the whole reason.' }),
    }),
    action: z.enum(RULE_ACTIONS),
    delay: z.number().optional().openapi({ description: "Base delay in seconds, in place of the formula's." }),
    scale_resources: z.array(z.object({ slot: z.string(), factor: z.number(), max: z.string().optional() })).optional(),
    scale_timeout: z.object({ factor: z.number(), max: z.number().optional() }).optional(),
    avoid: z.enum(AVOIDANCES).optional(),
    exclude: z.enum(EXCLUSIONS).optional(),
  })
  .openapi('RetryRule', { description: 'The first rule whose `match` holds decides.' })

export const RetryPolicyResource = z
  .object({
    max_retries: z.int().openapi({ description: 'Number of retries; total attempts are one more. 0 means none.' }),
    retry_delay: z.number().openapi({ description: 'Seconds.' }),
    backoff: z.enum(BACKOFFS),
    backoff_multiplier: z.number(),
    max_retry_delay: z.number().nullable().openapi({ description: 'Seconds; null is 86400, which nothing exceeds.' }),
    jitter: z.enum(JITTERS),
    jitter_ratio: z.number(),
    eligible_causes: z.array(z.enum(ELIGIBLE_CAUSES)),
    emit_retry_events: z.boolean(),
    max_elapsed: z.number().nullable().openapi({ description: 'Seconds from the first attempt on; null is no bound.' }),
    count_pre_start_failures: z.boolean(),
    max_uncounted_retries: z.int(),
    trust_verdicts: z.boolean(),
    rules: z.array(RetryRule),
  })
  .openapi('RetryPolicy', { description: 'How a session is retried, as resolved when it was created.' })

export function toRetryPolicy(policy: RetryPolicy): z.infer<typeof RetryPolicyResource> {
  return renamed(policy, snakeCase) as z.infer<typeof RetryPolicyResource>
}
