import { NO_SYNC_POINTS } from '../../src/observability/sync-points.ts'
import { resubmitSessions } from '../../src/services/resubmission/resubmit-sessions.ts'
import { createPrisma } from '../../src/store/prisma.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { openServer } from './bench-server.ts'
import { addFailedSessions } from './failed-sessions.ts'
import { countTo } from './waiting.ts'

/** Failed sessions resubmitted by a filter, whose retries wait: from the call to the last child, by the service that does it in production. */
export async function* resubmission(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db, connectionString } = await ground.database()
  await using server = openServer(ground, db)
  await addFailedSessions(server.context, size, 3_600_000)
  await using resources = new AsyncDisposableStack()
  const prisma = createPrisma({ connectionString, connectionsMax: 2, onError: () => {} })
  resources.defer(() => prisma.$disconnect())
  await server.startServices('resubmit-sessions')
  ground.progress(`${size} sessions by a filter`)
  const begun = performance.now()
  const filter = { retryPhase: ['SCHEDULED' as const] }
  await resubmitSessions({ ...server.context, prisma, sync: NO_SYNC_POINTS }, { filter })
  const answeredMs = Math.round(performance.now() - begun)
  await countTo(ground, db, 'resubmitted', DONE, size)
  const figure = size / ((performance.now() - begun) / 1000)
  const { rows } = await db.query<{ children: number; parents: number }>(CHILDREN)
  const { children, parents } = rows[0]!
  if (children !== size || parents !== size) throw new Error(`${children} children of ${parents} parents, not ${size}`)
  yield {
    what: 'children of a resubmission by filter',
    figure,
    unit: 'children/s',
    notes: { sessions: size, answeredMs },
  }
}

const DONE = `SELECT coalesce(sum(done), 0) AS count FROM resubmissions`
const CHILDREN = `SELECT count(*) AS children, count(DISTINCT parent_session_id) AS parents FROM sessions
  WHERE origin = 'RESUBMISSION'`
