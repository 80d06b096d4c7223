import { RepriseError } from '../../domain/errors.ts'
import type { Prisma } from '../../store/prisma.ts'
import { projectScope } from '../access/tenant-scope.ts'
import type { ReadContext } from '../session/read-sessions.ts'

export type KernelRecord = Prisma.KernelGetPayload<object>

/** The kernels of a session, `main` first. @throws RepriseError SESSION_NOT_FOUND */
export async function readKernels(
  { prisma, viewer }: Pick<ReadContext, 'prisma' | 'viewer'>,
  sessionId: string,
): Promise<KernelRecord[]> {
  const session = await prisma.session.findFirst({
    where: { id: sessionId, ...projectScope(viewer) },
    select: { kernels: { orderBy: [{ role: 'asc' }, { index: 'asc' }] } },
  })
  if (!session) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  return session.kernels
}
