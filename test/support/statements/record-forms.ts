import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Database, Queryable } from '../../../src/store/database.ts'
import { ROOT } from '../../guard/source-files.ts'

/** Each statement that a call sends, by the place of the call: `path:line:column`. */
export type Forms = Map<string, Set<string>>

/**
 * Runs each of these on a database that only notes what it is asked and who asks, and answers that there is nothing.
 * What fails for want of an answer has asked by then.
 */
export async function recordForms(runs: readonly ((db: Database) => Promise<unknown>)[]): Promise<Forms> {
  const forms: Forms = new Map()
  const note = (text: string) => {
    const place = callerOf(new Error('here'))
    forms.set(place, (forms.get(place) ?? new Set()).add(text))
    return Promise.resolve({ rows: [], rowCount: 0 })
  }
  const asked: Queryable = { query: note }
  const db: Database = {
    ...asked,
    queryWithin: (_timeoutMs, text) => note(text),
    transaction: (work) => work(asked),
    opened: () => 0,
    close: () => Promise.resolve(),
  }
  for (const run of runs) await run(db).catch(() => {})
  return forms
}

const SOURCES = pathToFileURL(`${ROOT}/src/`).href

/** The frame below `query`: `    at readRoutes (file:///…/src/store/sql/deployment/routes.sql.ts:47:20)`. */
function callerOf({ stack = '' }: Error): string {
  const frame = stack.split('\n').find((line) => line.includes(SOURCES))
  const [, url, place] = /(file:\/\/.*?):(\d+:\d+)\)?$/.exec(frame ?? '') ?? []
  if (!url || !place) throw new Error(`no caller in ${stack}`)
  const path = fileURLToPath(url)
  return `${path.slice(ROOT.length + 1).replaceAll('\\', '/')}:${place}`
}
