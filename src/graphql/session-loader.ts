import DataLoader from 'dataloader'
import type { Prisma, PrismaClient, Session } from '../generated/prisma/client.ts'
import type { Viewer } from '../services/service-context.ts'
import { projectScope } from './scope.ts'

export type SessionKey = 'id' | 'parentSessionId' | 'chainId'

export interface SessionRequest {
  by: SessionKey
  value: string
  /** What the selection set needs, as Pothos made it; equal for all places of one path. */
  select: Prisma.SessionSelect
  selectKey: string
}

/** Rows carry what `select` names and the three keys; the type claims the whole row for Pothos' sake. */
export type SessionLoader = DataLoader<SessionRequest, Session[], string>

/**
 * Every way from one thing to a session leads through here, so that edges are checked like nodes: a session
 * of another tenant is not found. One statement (and one per relation in the selection) for all that ask by
 * the same key with the same selection, whether 1 or 50 rows ask, for whole chains as for single sessions.
 */
export function createSessionLoader(prisma: PrismaClient, viewer: Viewer): SessionLoader {
  const groupOf = ({ by, selectKey }: SessionRequest) => `${by} ${selectKey}`

  async function read(requests: SessionRequest[]): Promise<Map<string, Session[]>> {
    const { by, select } = requests[0]!
    const rows = (await prisma.session.findMany({
      where: { ...projectScope(viewer), [by]: { in: [...new Set(requests.map(({ value }) => value))] } },
      select: { ...select, id: true, chainId: true, parentSessionId: true, attempt: true },
      orderBy: { attempt: 'asc' },
    })) as Session[]
    return Map.groupBy(rows, (row) => row[by]!)
  }

  return new DataLoader(
    async (requests) => {
      const groups = [...Map.groupBy(requests, groupOf)]
      const found = new Map(
        await Promise.all(groups.map(async ([group, members]) => [group, await read(members)] as const)),
      )
      return requests.map((request) => found.get(groupOf(request))?.get(request.value) ?? [])
    },
    { cacheKeyFn: (request) => `${groupOf(request)} ${request.value}` },
  )
}
