import { RepriseError } from '../../domain/errors.ts'
import type { Prisma } from '../../store/prisma.ts'
import { projectScope } from '../access/tenant-scope.ts'
import type { ReadContext } from '../session/read-sessions.ts'

const BESIDE = { waits: { orderBy: { number: 'asc' } } } as const satisfies Prisma.RetryDecisionInclude

export type RetryDecisionRecord = Prisma.RetryDecisionGetPayload<{ include: typeof BESIDE }>

/**
 * What was decided about a session's retry, with what it was held by; null while nothing is.
 * @throws RepriseError SESSION_NOT_FOUND
 */
export async function readRetryDecision(
  { prisma, viewer }: Pick<ReadContext, 'prisma' | 'viewer'>,
  sessionId: string,
): Promise<RetryDecisionRecord | null> {
  const where = { id: sessionId, ...projectScope(viewer) }
  const session = await prisma.session.findFirst({ where, select: { decision: { include: BESIDE } } })
  if (!session) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  return session.decision
}
