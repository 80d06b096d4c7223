import { z } from '@hono/zod-openapi'
import { CHAIN_STATES } from '../../domain/chain/chain-state.ts'
import { outlook } from '../../domain/chain/outlook.ts'
import { FAILURE_CAUSES } from '../../domain/session/causes.ts'
import type { ChainRecord } from '../../services/chain/read-shown-chains.ts'
import { labels, time, toLabels, toTime } from '../resources/fields.ts'

export const ChainResource = z
  .object({
    id: z.uuid().openapi({ description: "Its first attempt's id." }),
    name: z.string(),
    labels: labels(),
    project: z.string(),
    state: z.enum(CHAIN_STATES),
    cause: z.enum(FAILURE_CAUSES).nullable().openapi({ description: 'Cause of the latest failure.' }),
    attempts: z.int().openapi({ description: 'How many there are.' }),
    newest_session_id: z.uuid().openapi({ description: 'The newest attempt.' }),
    created_at: time(),
    newest_activity_at: time(),
    ended_at: time().nullable(),
    total_seconds: z.number().openapi({ description: 'From its creation to its end, or until now.' }),
    outlook: z
      .object({ will_retry: z.boolean(), reason: z.string(), at: time().nullable() })
      .openapi({ description: 'Whether it will still retry, and when.' }),
  })
  .openapi('Chain', { description: 'All attempts at one piece of work.' })

export function toChain(record: ChainRecord): z.infer<typeof ChainResource> {
  const { willRetry, reason, at } = outlook({ ...record, attempt: record.attempts }, record.now)
  return {
    id: record.chainId,
    name: record.name,
    labels: toLabels(record.labels),
    project: record.project,
    state: record.state,
    cause: record.cause,
    attempts: record.attempts,
    newest_session_id: record.tailId,
    created_at: record.createdAt.toISOString(),
    newest_activity_at: record.newestActivityAt.toISOString(),
    ended_at: toTime(record.endedAt),
    total_seconds: record.totalSeconds,
    outlook: { will_retry: willRetry, reason, at: toTime(at) },
  }
}
