import DataLoader from 'dataloader'
import type { Session } from '../../generated/prisma/client.ts'
import type { Viewer } from '../../services/service-context.ts'
import type { ReadSessions, SessionRead } from '../../services/session/read-selected-sessions.ts'

export type SessionRequest = Pick<SessionRead, 'by' | 'select' | 'selectKey'> & { value: string }

export type SessionLoader = DataLoader<SessionRequest, Session[], string>

/**
 * All edges from other objects to sessions are resolved here, so that they are checked like nodes: a session of another
 * tenant is not found. Requests with the same key and selection are read with one statement (and one per relation in
 * the selection), whether 1 or 50 rows ask, for whole chains as for single sessions.
 */
export function createSessionLoader(read: ReadSessions, { projectId }: Viewer): SessionLoader {
  const groupOf = ({ by, selectKey }: SessionRequest) => `${by} ${selectKey}`

  async function readGroup(requests: SessionRequest[]): Promise<Map<string, Session[]>> {
    const { by, select, selectKey } = requests[0]!
    const rows = await read({ projectId, by, values: requests.map(({ value }) => value), select, selectKey })
    return Map.groupBy(rows, (row) => row[by]!)
  }

  return new DataLoader(
    async (requests) => {
      const groups = [...Map.groupBy(requests, groupOf)]
      const found = new Map(
        await Promise.all(groups.map(async ([group, members]) => [group, await readGroup(members)] as const)),
      )
      return requests.map((request) => found.get(groupOf(request))?.get(request.value) ?? [])
    },
    { cacheKeyFn: (request) => `${groupOf(request)} ${request.value}` },
  )
}
