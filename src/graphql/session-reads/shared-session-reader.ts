import type { Session } from '../../generated/prisma/client.ts'
import { readShared } from '../../services/consistent-reads.ts'
import { nextTurn } from '../../services/next-turn.ts'
import type { ReadSessions, SessionRead } from '../../services/session/read-selected-sessions.ts'

interface Gathering {
  values: Set<string>
  /** By value of the key that was asked for. */
  rows: Promise<Map<string, Session[]>>
}

/**
 * Merges reads of the same kind that are requested at about the same time, by subscribers to one event or by polling
 * clients. Requests that arrive while a read is in progress wait for it and share the next one, so every caller sees a
 * state that is no older than its request. Nothing is cached. Only requests of the same project and selection are
 * merged, so nobody receives rows of another project. An operation that reads a snapshot reads it by itself.
 */
export function sharedSessionReader(read: ReadSessions): ReadSessions {
  const underWay = new Map<string, Promise<unknown>>()
  const gathering = new Map<string, Gathering>()

  function gather(key: string, request: SessionRead): Gathering {
    const values = new Set<string>()
    const turn = (underWay.get(key) ?? Promise.resolve()).then(() => nextTurn())
    const rows = turn.then(async () => {
      gathering.delete(key)
      const found = await read({ ...request, values: [...values] })
      return Map.groupBy(found, (row) => row[request.by]!)
    })
    const settled = rows.catch(() => undefined)
    underWay.set(key, settled)
    void settled.then(() => underWay.get(key) === settled && underWay.delete(key))
    const gathered = { values, rows }
    gathering.set(key, gathered)
    return gathered
  }

  const share: ReadSessions = async (request) => {
    const { projectId, by, values, selectKey } = request
    const key = `${projectId} ${by} ${selectKey}`
    const gathered = gathering.get(key) ?? gather(key, request)
    for (const value of values) gathered.values.add(value)
    const rows = await gathered.rows
    // Every caller gets its own copies, so operations do not see each other's changes to rows.
    return [...new Set(values)].flatMap((value) => (rows.get(value) ?? []).map((row) => ({ ...row })))
  }
  return (request) =>
    readShared(
      () => share(request),
      () => read(request),
    )
}
