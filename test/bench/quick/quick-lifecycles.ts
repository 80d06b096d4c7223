import { createSession, createSessions } from '../../../src/services/session/create-sessions.ts'
import { bareLifecycles } from '../bare-lifecycles.ts'
import type { Measurement } from '../bench.ts'
import { type BenchServer, openNoopServer } from '../bench-server.ts'
import type { BenchDatabase, BenchGround } from '../ground.ts'
import { countTo, percentile } from '../waiting.ts'
import { compareSides } from './compare.ts'

const CREATE_BATCH_SESSIONS = 500
const DECIDED = 'SELECT count(*) FROM retry_decisions'

/** Sessions that end at once, beside the same rows by plain statements. */
export async function* quickLifecycles(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const bare = await ground.database()
  const served = await ground.database()
  await using server = await openNoopServer(ground, { db: served.db })
  yield await compareSides(ground, {
    what: 'whole lifecycles, noop, beside bare SQL',
    unit: 'sessions',
    rounds: 3,
    async ours(timed) {
      const before = await countOf(served)
      await timed(async () => {
        for (let done = 0; done < size; done += CREATE_BATCH_SESSIONS) await createSome(server, CREATE_BATCH_SESSIONS)
        await countTo(ground, served.db, 'decided', DECIDED, before + size)
        return size
      })
    },
    bare: (timed) =>
      timed(async () => {
        await bareLifecycles(ground, bare.db, size)
        return size
      }),
  })
}

const ALONE_SESSIONS = 15

/** One session at a time, from its creation to its decision, beside the same rows by plain statements. */
export async function* quickAlone(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const bare = await ground.database()
  const served = await ground.database()
  await using server = await openNoopServer(ground, { db: served.db })
  const [ours, alone]: [number[], number[]] = [[], []]
  for (let made = 0; made < size; made++) {
    ground.signal.throwIfAborted()
    if (made % ALONE_SESSIONS === 0) ground.progress(`session ${made} of ${size}`)
    ours.push(await oneSession(server))
    alone.push(1000 / (await bareLifecycles(ground, bare.db, 1)))
  }
  const [figure, ceiling] = [percentile(ours, 0.5), percentile(alone, 0.5)]
  yield {
    what: 'one session alone, create to decided, beside bare SQL',
    unit: 'ms',
    figure,
    ceiling,
    ratio: ceiling / figure,
  }
}

async function oneSession({ context }: BenchServer): Promise<number> {
  const begun = performance.now()
  const { sessionId } = await createSession(context, { name: 'bench', command: ['noop'] })
  for (;;) {
    const { rows } = await context.db.query('SELECT FROM retry_decisions WHERE session_id = $1', [sessionId])
    if (rows.length > 0) return performance.now() - begun
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

async function createSome(server: BenchServer, count: number): Promise<void> {
  const inputs = Array.from({ length: count }, () => ({ name: 'bench', command: ['noop'] }))
  await createSessions(server.context, inputs)
}

async function countOf({ db }: BenchDatabase): Promise<number> {
  return (await db.query<{ count: number }>(DECIDED)).rows[0]!.count
}
