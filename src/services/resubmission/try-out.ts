import { DRY_RUN_SESSIONS_MAX, SESSION_IDS_PER_READ_MAX } from '../../domain/limits.ts'
import { TERMINAL_STATUSES } from '../../domain/session/statuses.ts'
import type { PrismaClient, SessionWhere } from '../../store/prisma.ts'
import { projectScope } from '../access/tenant-scope.ts'
import type { ServiceContext } from '../service-context.ts'
import type { BulkRequest } from './resubmission-input.ts'

export interface DryRun {
  /** Sessions that are named or match. */
  total: number
  /** Of these, those that it would be done to as they are now. */
  count: number
  /** The first of them, oldest first. */
  sessionIds: string[]
}

/** To how many of these sessions it would be done, and to which first. Nothing is locked: it may change at once. */
export async function tryOut(
  { prisma, viewer }: Pick<ServiceContext, 'viewer'> & { prisma: PrismaClient },
  request: BulkRequest,
  selected: readonly string[],
): Promise<DryRun> {
  const ids = [...new Set(selected)].toSorted()
  const result: DryRun = { total: ids.length, count: 0, sessionIds: [] }
  for (let from = 0; from < ids.length; from += SESSION_IDS_PER_READ_MAX) {
    const part = ids.slice(from, from + SESSION_IDS_PER_READ_MAX)
    const where = { AND: [projectScope(viewer), { id: { in: part } }, possible(request)] }
    result.count += await prisma.session.count({ where })
    const take = DRY_RUN_SESSIONS_MAX - result.sessionIds.length
    const rows = await prisma.session.findMany({ where, orderBy: { id: 'asc' }, take, select: { id: true } })
    result.sessionIds.push(...rows.map(({ id }) => id))
  }
  return result
}

const WAITING: SessionWhere = { decision: { is: { phase: { in: ['SCHEDULED', 'HELD'] } } } }

/** What the rules of each action ask of a session that can be read off it. */
function possible({ action, includeSucceeded }: BulkRequest): SessionWhere {
  if (action === 'RESUBMIT') {
    return {
      sessionType: 'BATCH',
      status: { in: [...TERMINAL_STATUSES] },
      childSession: { is: null },
      ...(!includeSucceeded && { result: { not: 'SUCCESS' } }),
    }
  }
  if (action !== 'TERMINATE') return WAITING
  return {
    OR: [
      { status: { notIn: [...TERMINAL_STATUSES] } },
      WAITING,
      { retryDecided: false, result: 'FAILURE', maxRetries: { gt: 0 } },
    ],
  }
}
