import { createRoute, z } from '@hono/zod-openapi'
import { FAILURE_CAUSES, HOLD_REASONS, RETRY_PHASES } from '../../domain/session/causes.ts'
import { holdWords } from '../../domain/retry/retry-state.ts'
import { readRetryDecision, type RetryDecisionRecord } from '../../services/retry/read-retry-decision.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { time, toTime } from '../resources/fields.ts'
import type { RestApp } from '../rest-app.ts'
import { SessionIdParameter } from '../routes/parameters.ts'

const holdReason = () => z.enum(HOLD_REASONS)

const RetryDecisionResource = z
  .object({
    session_id: z.uuid(),
    chain_id: z.uuid(),
    phase: z.enum(RETRY_PHASES),
    cause: z.enum(FAILURE_CAUSES).nullable().openapi({ description: 'Why the session failed.' }),
    matched_rule: z.int().nullable().openapi({ description: 'Index of the rule that decided, from 0.' }),
    counted: z.boolean().openapi({ description: 'Whether the retry uses up `max_retries`.' }),
    explanation: z.string().openapi({ description: 'How it was decided, in words.' }),
    base_delay_seconds: z.number().nullable(),
    jitter_seconds: z.number().nullable(),
    delay_seconds: z.number().nullable().openapi({ description: 'Base plus jitter, up to the ceiling.' }),
    due_at: time().nullable(),
    hold_reason: holdReason().nullable().openapi({ description: 'Why it is held, while it is.' }),
    holds: z
      .array(z.object({ hold_reason: holdReason(), reason: z.string(), from: time(), to: time().nullable() }))
      .openapi({ description: 'What it was held by, and how long, oldest first.' }),
    child_session_id: z.uuid().nullable(),
    decided_at: time(),
    dispatched_at: time().nullable(),
  })
  .openapi('RetryDecision', { description: 'What was decided when a session ended, and why.' })

const route = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/retry',
  operationId: 'getRetry',
  summary: 'What was decided about the retry of a session, and why',
  tags: ['sessions'],
  request: { params: SessionIdParameter },
  responses: {
    200: json(
      RetryDecisionResource.nullable(),
      'The decision; null while the session is not over or not decided about.',
    ),
    ...COMMON_PROBLEMS,
    ...problems('SESSION_NOT_FOUND'),
  },
})

export function serveGetRetry(app: RestApp): void {
  app.openapi(route, async (c) => {
    const decision = await readRetryDecision(c.get('context'), c.req.valid('param').id)
    return c.json(decision && toDecision(decision), 200)
  })
}

function toDecision(record: RetryDecisionRecord): z.infer<typeof RetryDecisionResource> {
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
    holds: record.waits.map((wait) => ({
      hold_reason: wait.reason,
      reason: holdWords(wait),
      from: wait.fromAt.toISOString(),
      to: toTime(wait.toAt),
    })),
    child_session_id: record.childSessionId,
    decided_at: record.decidedAt.toISOString(),
    dispatched_at: toTime(record.dispatchedAt),
  }
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}
