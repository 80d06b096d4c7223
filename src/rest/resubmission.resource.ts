import { z } from '@hono/zod-openapi'
import { SESSION_ACTIONS } from '../domain/session/session-spec.ts'
import type { ResubmissionItemRow, ResubmissionRecord } from '../services/resubmission/resubmissions.ts'
import type { DryRun } from '../services/resubmission/try-out.ts'
import { time, toTime } from './fields.ts'
import { restMessage } from './problem.ts'
import { renamed, snakeCase } from './snake-case.ts'

export const ITEM_STATUSES = ['PENDING', 'DONE', 'REFUSED'] as const

const refusals = () =>
  z
    .array(z.object({ code: z.string(), count: z.int(), message: z.string() }))
    .openapi({ description: 'Reasons for refusals, each once, most frequent first.' })

export const BulkActionResource = z
  .object({
    id: z.uuid(),
    client_key: z.string(),
    action: z.enum(SESSION_ACTIONS),
    actor: z.string().openapi({ description: 'Name of the token that requested it.' }),
    created_at: time(),
    filter: z
      .record(z.string(), z.unknown())
      .nullable()
      .openapi({ description: 'The filter that selected the sessions; null if the request listed their ids.' }),
    overrides: z
      .record(z.string(), z.unknown())
      .openapi({ description: 'The overrides; for a termination `force` and `reason`.' }),
    state: z.enum(['RUNNING', 'COMPLETED', 'ABORTED']),
    total: z.int(),
    done: z.int(),
    refused: z.int(),
    pending: z.int().openapi({
      description: 'Number of sessions that are neither done nor refused. If it was aborted, they stay so.',
    }),
    refusals: refusals(),
    finished_at: time().nullable(),
    aborted_by: z.string().nullable(),
  })
  .openapi('BulkAction', { description: 'An action on many sessions, such as a resubmission.' })

export const DryRunResource = z
  .object({
    total: z.int().openapi({ description: 'Number of sessions that were requested by id or match the filter.' }),
    count: z.int().openapi({ description: 'Number of these sessions that would be changed.' }),
    session_ids: z.array(z.uuid()).openapi({ description: 'The first sessions that would be changed, oldest first.' }),
    refusals: refusals(),
    cancelled_dependents: z.int().openapi({
      description:
        'Number of sessions that were cancelled because these failed: `include_dependents` resubmits them, too.',
    }),
  })
  .openapi('DryRun', { description: 'The result of a dry run of an action on many sessions. Nothing was changed.' })

export const BulkActionItemResource = z
  .object({
    position: z.int(),
    session_id: z.uuid(),
    status: z.enum(ITEM_STATUSES),
    child_session_id: z
      .uuid()
      .nullable()
      .openapi({ description: 'Id of the new attempt, if the action is a resubmission.' }),
    code: z.string().nullable().openapi({ description: 'Error code, if it was refused.' }),
    message: z.string().nullable().openapi({ description: 'Reason, for people, if it was refused.' }),
  })
  .openapi('BulkActionItem', { description: 'One session of an action on many sessions.' })

export function toBulkAction(record: ResubmissionRecord): z.infer<typeof BulkActionResource> {
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
    refusals: record.refusals.map(({ code, count, message }) => ({ code, count, message: restMessage(message) })),
    finished_at: toTime(record.finishedAt),
    aborted_by: record.abortedBy,
  }
}

export function toDryRun(found: DryRun): z.infer<typeof DryRunResource> {
  const { total, count, sessionIds: session_ids, refusals: groups, cancelledDependents: cancelled_dependents } = found
  const shown = groups.map((group) => ({ ...group, message: restMessage(group.message) }))
  return { total, count, session_ids, refusals: shown, cancelled_dependents }
}

export function toItem(row: ResubmissionItemRow): z.infer<typeof BulkActionItemResource> {
  const { position, sessionId, status, childSessionId, code } = row
  const message = row.message === null ? null : restMessage(row.message)
  return { position, session_id: sessionId, status, child_session_id: childSessionId, code, message }
}
