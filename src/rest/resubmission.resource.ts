import { z } from '@hono/zod-openapi'
import { SESSION_ACTIONS } from '../domain/session/session-spec.ts'
import type { ResubmissionItemRow, ResubmissionRecord } from '../services/resubmission/resubmissions.ts'
import type { DryRun } from '../services/resubmission/try-out.ts'
import { time, toTime } from './fields.ts'
import { renamed, snakeCase } from './snake-case.ts'

export const ITEM_STATUSES = ['PENDING', 'DONE', 'REFUSED'] as const

const refusals = () =>
  z
    .array(z.object({ code: z.string(), count: z.int(), message: z.string() }))
    .openapi({ description: 'Why sessions are refused, each reason once, the most frequent first.' })

export const ResubmissionResource = z
  .object({
    id: z.uuid(),
    client_key: z.string(),
    action: z.enum(SESSION_ACTIONS),
    actor: z.string().openapi({ description: 'The name of the token that asked for it.' }),
    created_at: time(),
    filter: z
      .record(z.string(), z.unknown())
      .nullable()
      .openapi({ description: 'What selected the sessions; null if they were named.' }),
    overrides: z
      .record(z.string(), z.unknown())
      .openapi({ description: 'What is changed; of a termination `force` and `reason`.' }),
    state: z.enum(['RUNNING', 'COMPLETED', 'ABORTED']),
    total: z.int(),
    done: z.int(),
    refused: z.int(),
    pending: z.int().openapi({ description: 'Still to be done or, if it was aborted, left undone.' }),
    refusals: refusals(),
    finished_at: time().nullable(),
    aborted_by: z.string().nullable(),
  })
  .openapi('Resubmission', { description: 'A resubmission of failed sessions, or another action on many sessions.' })

export const DryRunResource = z
  .object({
    total: z.int().openapi({ description: 'Sessions that are named, or match.' }),
    count: z.int().openapi({ description: 'Of these, those that it would be done to.' }),
    session_ids: z.array(z.uuid()).openapi({ description: 'The first of these, oldest first.' }),
    refusals: refusals(),
    cancelled_dependents: z.int().openapi({
      description: 'Sessions that were cancelled because of these: `include_dependents` resubmits them, too.',
    }),
  })
  .openapi('DryRun', { description: 'What an action on many sessions would do. Nothing is done.' })

export const ResubmissionItemResource = z
  .object({
    position: z.int(),
    session_id: z.uuid(),
    status: z.enum(ITEM_STATUSES),
    child_session_id: z.uuid().nullable().openapi({ description: 'The new attempt, of a resubmission.' }),
    code: z.string().nullable().openapi({ description: 'Why it was refused, for programs.' }),
    message: z.string().nullable().openapi({ description: 'Why it was refused, for people.' }),
  })
  .openapi('ResubmissionItem', { description: 'One session of it.' })

export function toResubmission(record: ResubmissionRecord): z.infer<typeof ResubmissionResource> {
  const { total, done, refused } = record
  return {
    id: record.id,
    client_key: record.clientKey,
    action: record.action,
    actor: record.actor,
    created_at: record.createdAt.toISOString(),
    filter: record.filter as Record<string, unknown> | null,
    overrides: renamed(record.shownOverrides, snakeCase) as Record<string, unknown>,
    state: record.state,
    total,
    done,
    refused,
    pending: total - done - refused,
    refusals: record.refusals.map(({ code, count, message }) => ({ code, count, message })),
    finished_at: toTime(record.finishedAt),
    aborted_by: record.abortedBy,
  }
}

export function toDryRun(found: DryRun): z.infer<typeof DryRunResource> {
  const { total, count, sessionIds: session_ids, refusals: groups, cancelledDependents: cancelled_dependents } = found
  return { total, count, session_ids, refusals: groups, cancelled_dependents }
}

export function toItem(row: ResubmissionItemRow): z.infer<typeof ResubmissionItemResource> {
  const { position, sessionId, status, childSessionId, code, message } = row
  return { position, session_id: sessionId, status, child_session_id: childSessionId, code, message }
}
