import { SESSION_IDS_PER_READ_MAX } from '../../domain/limits.ts'
import type { PrismaClient, SessionWhere } from '../../store/prisma.ts'

/** Ids of sessions, oldest first, in bounded reads; at most `limit`. */
export async function findSessionIds(prisma: PrismaClient, where: SessionWhere, limit: number): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const take = Math.min(SESSION_IDS_PER_READ_MAX, limit - ids.length)
    const after = ids.at(-1)
    const rows = await prisma.session.findMany({
      where: after === undefined ? where : { AND: [where, { id: { gt: after } }] },
      orderBy: { id: 'asc' },
      take,
      select: { id: true },
    })
    for (const { id } of rows) ids.push(id)
    if (rows.length < take || ids.length === limit) return ids
  }
}
