import { HEAD_OF_LINE_SKIPS_MAX, QUEUE_POSITION_MAX } from '../limits.ts'
import { fitsUnreserved, explainShortage } from './explain-shortage.ts'
import { explainKey, type HeldKey } from './key-use.ts'
import { firstQuotaShortage, type QuotaUse } from './quota-use.ts'
import type { AgentCapacity } from './agent-capacity.ts'
import type { Sequencer } from './sequence.ts'
import { totalOf, type ResourceRequest } from './resource-request.ts'

/** The facts, at one moment, about a PENDING session and its resource group. */
export interface PendingFacts {
  group: string
  sequencer: Sequencer
  dependencies: { total: number; open: number; failed: string | null }
  /** ISO 8601; null if it has passed. */
  startsAt: string | null
  /** Why it waits for its checkpoint, in words; null if it does not. */
  checkpoint: string | null
  /** Why no new chain may start, in words; null if one may, or the session goes on with one. */
  checkpointQuota: string | null
  /** Milliseconds until it is in line again; null if it is. */
  restsForMs: number | null
  /** Why nothing new is scheduled in its group, in words; null if the group is not drained. */
  drained: string | null
  /** The last error of this session; null for none. */
  lastError: string | null
  request: ResourceRequest
  /** The agents that accept work, less what is reserved for overdue sessions before it. */
  agents: readonly AgentCapacity[]
  /** The agents of its group that accept no work: a count by status. */
  absent: Readonly<Record<string, number>>
  quotas: readonly QuotaUse[]
  /** The state of its concurrency key; null if it has none. */
  key: HeldKey | null
  /** The number of sessions before it in line, counted up to QUEUE_POSITION_MAX + 1. */
  before: number
}

export const CAPACITY_IS_RESERVED = `the capacity that it needs is reserved for a session that ${HEAD_OF_LINE_SKIPS_MAX} others were started before`

/** Why the session still waits, in words with numbers: the first applicable reason. */
export function explainPending(facts: PendingFacts): string {
  return (
    beforeLine(facts) ??
    facts.drained ??
    noCapacity(facts) ??
    overQuota(facts) ??
    (isReserved(facts) ? CAPACITY_IS_RESERVED : positionInQueue(facts))
  )
}

function beforeLine({
  dependencies,
  startsAt,
  restsForMs,
  lastError,
  drained,
  key,
  checkpoint,
  checkpointQuota,
}: PendingFacts): string | undefined {
  const { total, open, failed } = dependencies
  if (failed !== null) return `depends on session ${failed}, whose chain has failed; it is about to be cancelled`
  if (startsAt !== null) return `starts no earlier than ${startsAt}`
  if (open > 0) return `waits for ${open} of the ${total} ${total === 1 ? 'chain' : 'chains'} that it depends on`
  const forCheckpoints = checkpoint ?? checkpointQuota
  if (forCheckpoints !== null && drained === null) return forCheckpoints
  const forKey = key === null || drained !== null ? undefined : explainKey(key)
  if (forKey !== undefined || restsForMs === null) return forKey
  const rests = `rests for ${Math.ceil(restsForMs / 1000)} s`
  return lastError === null ? rests : `${rests} after a failure: ${lastError}`
}

function noCapacity({ request, agents, group, absent }: PendingFacts): string | undefined {
  const shortage = explainShortage(request, agents, group)
  if (!shortage || agents.length > 0) return shortage?.long
  const others = Object.entries(absent).map(([status, count]) => `${count} ${status}`)
  return `${shortage.long} (${others.length > 0 ? others.join(', ') : 'it has none'})`
}

function overQuota({ quotas, request }: PendingFacts): string | undefined {
  return firstQuotaShortage(quotas, totalOf(request))?.long
}

function isReserved({ request, agents }: PendingFacts): boolean {
  return !fitsUnreserved(request, agents)
}

function positionInQueue({ sequencer, before, group }: PendingFacts): string {
  const many = before > QUEUE_POSITION_MAX ? `more than ${QUEUE_POSITION_MAX}` : String(before)
  const sessions = before === 1 ? 'session' : 'sessions'
  if (sequencer === 'DRF')
    return `waits for its turn by dominant shares, with ${many} other ${sessions} of resource group ${group}`
  if (before === 0) return `is the next in the line of resource group ${group}`
  return `waits for its turn, ${many} ${sessions} before it in the line of resource group ${group}`
}
