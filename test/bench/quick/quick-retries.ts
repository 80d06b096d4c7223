import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import { createPrisma } from '../../../src/store/prisma.ts'
import { bareDispatch } from '../bare-dispatch.ts'
import type { Measurement } from '../bench.ts'
import { type BenchServer, openServer } from '../bench-server.ts'
import { addFailedSessions } from '../failed-sessions.ts'
import type { BenchDatabase, BenchGround } from '../ground.ts'
import { countTo } from '../waiting.ts'
import { compareSides, type Side } from './compare.ts'

const DISPATCHED = `SELECT count(*) FROM retry_decisions WHERE phase = 'DISPATCHED'`
const DONE = `SELECT coalesce(sum(done), 0)::int AS count FROM resubmissions`
const IN_AN_HOUR_MS = 3_600_000

/** Retries that are all due at once, beside their children by plain statements. */
export async function* quickRetries(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const served = await ground.database()
  yield await compareSides(ground, {
    what: 'children of retries due at once, beside bare SQL',
    unit: 'children',
    rounds: 3,
    bare: await bareSide(ground, size),
    async ours(timed) {
      await using server = openServer(ground, served.db)
      await onlyFailedSessions(server, size, 0)
      const before = await countOf(served, DISPATCHED)
      await timed(async () => {
        await server.startServices('dispatch-retries')
        await countTo(ground, served.db, 'dispatched', DISPATCHED, before + size)
        return size
      })
    },
  })
}

/** Failed sessions resubmitted by a filter, beside the same children by plain statements. */
export async function* quickResubmission(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const served = await ground.database()
  await using resources = new AsyncDisposableStack()
  const prisma = createPrisma({ connectionString: served.connectionString, connectionsMax: 2, onError: () => {} })
  resources.defer(() => prisma.$disconnect())
  yield await compareSides(ground, {
    what: 'children of a resubmission by filter, beside bare SQL',
    unit: 'children',
    rounds: 3,
    bare: await bareSide(ground, size),
    async ours(timed) {
      await using server = openServer(ground, served.db)
      await onlyFailedSessions(server, size, IN_AN_HOUR_MS)
      await server.startServices('resubmit-sessions')
      const before = await countOf(served, DONE)
      await timed(async () => {
        const filter = { retryPhase: ['SCHEDULED' as const] }
        await resubmitSessions({ ...server.context, prisma, sync: NO_SYNC_POINTS }, { filter })
        await countTo(ground, served.db, 'resubmitted', DONE, before + size)
        return size
      })
    },
  })
}

async function bareSide(ground: BenchGround, size: number): Promise<Side> {
  const { db } = await ground.database()
  return async (timed) => {
    await onlyFailedSessions(openServer(ground, db), size, 0)
    await timed(async () => {
      await bareDispatch(ground, db, size)
      return size
    })
  }
}

/** Without the children of earlier rounds. */
async function onlyFailedSessions({ context }: BenchServer, size: number, dueInMs: number): Promise<void> {
  await context.db.query('TRUNCATE sessions CASCADE')
  await addFailedSessions(context, size, dueInMs)
}

async function countOf({ db }: BenchDatabase, statement: string): Promise<number> {
  return (await db.query<{ count: number }>(statement)).rows[0]!.count
}
