import { bareDispatch } from './bare-dispatch.ts'
import type { Database } from '../../src/store/database.ts'
import type { BenchGround } from './ground.ts'
import type { Measurement } from './bench.ts'
import { openServer } from './bench-server.ts'
import { addFailedSessions } from './failed-sessions.ts'
import { countTo } from './waiting.ts'

/** Retries that are all due at once, dispatched by the service that does it in production. */
export async function* retries(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  ground.progress(`${size} children by bare SQL`)
  const bare = await ground.database()
  await addFailedSessions(openServer(ground, bare.db).context, size, 0)
  const ceiling = await bareDispatch(ground, bare.db, size)
  const { db } = await ground.database()
  const figure = await byServer(ground, db, size)
  const { rows } = await db.query<{ children: number; parents: number }>(CHILDREN)
  const { children, parents } = rows[0]!
  if (children !== size || parents !== size) throw new Error(`${children} children of ${parents} parents, not ${size}`)
  yield {
    what: 'children of retries due at once',
    figure,
    unit: 'children/s',
    ceiling,
    target: { atLeast: 3_000 },
    notes: { retries: size, duplicates: children - parents },
  }
}

async function byServer(ground: BenchGround, db: Database, size: number): Promise<number> {
  await using server = openServer(ground, db)
  await addFailedSessions(server.context, size, 0)
  ground.progress(`${size} children by the server`)
  const begun = performance.now()
  await server.startServices('dispatch-retries')
  await countTo(ground, db, 'dispatched', DISPATCHED, size)
  return size / ((performance.now() - begun) / 1000)
}

const DISPATCHED = `SELECT count(*) FROM retry_decisions WHERE phase = 'DISPATCHED'`
const CHILDREN = `SELECT count(*) AS children, count(DISTINCT parent_session_id) AS parents FROM sessions
  WHERE parent_session_id IS NOT NULL`
