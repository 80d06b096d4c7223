import type { Session } from '../generated/prisma/client.ts'
import type { ReadSessions, SessionRead } from '../services/read-selected-sessions.ts'

interface Gathering {
  values: Set<string>
  /** By the key that was asked by. */
  rows: Promise<Map<string, Session[]>>
}

/**
 * One reader for many who ask for the same at about the same time: subscribers to one event, clients that poll. What
 * comes while a read is under way waits for it and is then read together, so that each gets what was true after it
 * asked. Nothing is kept. Only what is alike in project and selection is read together: nobody gets what is not its own.
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

  return async (request) => {
    const { projectId, by, values, selectKey } = request
    const key = `${projectId} ${by} ${selectKey}`
    const gathered = gathering.get(key) ?? gather(key, request)
    for (const value of values) gathered.values.add(value)
    const rows = await gathered.rows
    // Each its own copy: what one operation does to its rows is nothing to the others.
    return [...new Set(values)].flatMap((value) => (rows.get(value) ?? []).map((row) => ({ ...row })))
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
