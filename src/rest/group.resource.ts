import { z } from '@hono/zod-openapi'
import {
  GROUP_CONDITIONS,
  GROUP_OUTCOMES,
  GROUP_RESTS,
  GROUP_STATES,
  groupProgress,
  groupState,
} from '../domain/session/session-group.ts'
import { FAILURE_CAUSES } from '../domain/session/failure.ts'
import { type GroupRecord, MEMBER_STATE_NAMES, type MemberRow } from '../services/session/read-groups.ts'
import { time, toTime } from './fields.ts'
import { pageOf } from './route-parts.ts'

const Counts = z.object({
  queued: z.int().openapi({ description: 'In the queue.' }),
  running: z.int().openapi({ description: 'Placed on agents.' }),
  waiting: z.int().openapi({ description: 'Waiting for a retry.' }),
  succeeded: z.int(),
  failed: z.int().openapi({ description: 'Failed, with no retry left.' }),
  cancelled: z.int(),
  total: z.int(),
})

const Dependency = z.object({
  group_id: z.uuid(),
  condition: z.enum(GROUP_CONDITIONS),
  met: z.boolean().nullable().openapi({ description: 'Whether it has happened; null while it may still happen.' }),
})

export const GroupResource = z
  .object({
    id: z.uuid(),
    name: z.string(),
    key: z.string().nullable().openapi({ description: 'The idempotency key that its client chose.' }),
    project: z.string(),
    state: z.enum(GROUP_STATES),
    outcome: z.enum(GROUP_OUTCOMES).nullable().openapi({ description: 'How it ends; null while this is not decided.' }),
    reason: z.string().nullable().openapi({ description: 'Why it has this outcome, in words.' }),
    counts: Counts.openapi({ description: 'Numbers of members, which are chains.' }),
    progress: z.number().openapi({ description: 'The share of members that have ended, 0 to 1.' }),
    epoch: z.int().openapi({ description: 'How often it was reopened by a resubmission.' }),
    max_failed: z.int().nullable(),
    max_failed_percent: z.number().nullable(),
    min_succeeded: z.int().nullable(),
    max_running: z.int().nullable(),
    on_failure: z.enum(GROUP_RESTS),
    depends_on: z.array(Dependency).openapi({ description: 'Groups that it waits for, or waited for.' }),
    created_by: z.string().nullable().openapi({ description: 'Name of the token that created it.' }),
    created_at: time(),
    ended_at: time().nullable(),
  })
  .openapi('SessionGroup', { description: 'Sessions that are one piece of work. Its members are chains.' })

export const GroupPage = pageOf(GroupResource).openapi('SessionGroupPage')

export function toGroup({ group, project, running, dependsOn }: GroupRecord): z.infer<typeof GroupResource> {
  const { live, ...counts } = group.counts
  return {
    id: group.id,
    name: group.name,
    key: group.key,
    project,
    state: groupState(group),
    outcome: group.outcome,
    reason: group.reason,
    counts: { queued: live - running, running, ...counts },
    progress: groupProgress(group.counts),
    epoch: group.epoch,
    max_failed: group.maxFailed,
    max_failed_percent: group.maxFailedPercent,
    min_succeeded: group.minSucceeded,
    max_running: group.maxRunning,
    on_failure: group.onFailure,
    depends_on: dependsOn.map(({ groupId, condition, met }) => ({ group_id: groupId, condition, met })),
    created_by: group.createdBy,
    created_at: group.createdAt.toISOString(),
    ended_at: toTime(group.endedAt),
  }
}

const MemberResource = z
  .object({
    index: z.int().openapi({ description: 'Its number in the group.' }),
    chain_id: z.uuid(),
    state: z.enum(MEMBER_STATE_NAMES),
    first_session_id: z.uuid(),
    newest_session_id: z.uuid().openapi({ description: 'The newest attempt, which the following fields are about.' }),
    attempts: z.int(),
    exit_code: z.int().nullable(),
    cause: z.enum(FAILURE_CAUSES).nullable(),
    reason: z.string().nullable(),
    ended_at: time().nullable().openapi({ description: 'When its chain ended; null before that.' }),
  })
  .openapi('SessionGroupMember', { description: 'A member of a group, which is a chain.' })

export const MemberPage = z
  .object({
    members: z.array(MemberResource).openapi({ description: 'In the order of their indexes.' }),
    next: z
      .string()
      .nullable()
      .openapi({ description: 'Pass it as `cursor` to get the next page; null on the last page.' }),
  })
  .openapi('SessionGroupMemberPage')

export function toMember(row: MemberRow): z.infer<typeof MemberResource> {
  const { index, chainId, state, newestSessionId, attempts, exitCode, cause, reason, endedAt } = row
  return {
    index,
    chain_id: chainId,
    state,
    // The id of a chain is that of its first session.
    first_session_id: chainId,
    newest_session_id: newestSessionId,
    attempts,
    exit_code: exitCode,
    cause,
    reason,
    ended_at: toTime(endedAt),
  }
}
