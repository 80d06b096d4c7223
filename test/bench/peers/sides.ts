import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { ALL_SERVICES } from '../../support/servers/test-server.ts'
import { openNoopServer } from '../bench-server.ts'
import type { BenchDatabase, BenchGround } from '../ground.ts'
import { startPeer } from './peer-process.ts'
import { startRedis } from './redis.ts'
import type { Side } from './side.ts'

const CREATE_BATCH_SESSIONS = 500
/** Fails at its first attempt, and succeeds at its second. */
const FAILS_ONCE = {
  name: 'bench',
  command: ['noop', 'succeed-at', '2'],
  retryPolicy: { maxRetries: 1, retryDelay: 0.1 },
}

export async function reprise(ground: BenchGround): Promise<Side> {
  const store = await ground.database()
  return {
    name: 'Reprise',
    backoffMs: 100,
    setup: 'all services and a noop agent in one process',
    store,
    async start() {
      const server = await openNoopServer(ground, { db: store.db }, ...ALL_SERVICES)
      return {
        async enqueue(count) {
          for (let done = 0; done < count; done += CREATE_BATCH_SESSIONS) {
            const size = Math.min(CREATE_BATCH_SESSIONS, count - done)
            await createSessions(
              server.context,
              Array.from({ length: size }, () => FAILS_ONCE),
            )
          }
        },
        succeeded: () => countOf(store, `SELECT count(*) FROM retry_decisions WHERE phase = 'SUCCEEDED'`),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      }
    },
  }
}

/** It deletes jobs that succeed. The first backoff is e seconds, which no option changes. */
export async function graphileWorker(ground: BenchGround): Promise<Side> {
  let added = 0
  const left = 'SELECT count(*) FROM graphile_worker.jobs'
  const side = await onPostgres(ground, 'graphile-worker.mjs', {
    name: 'graphile-worker',
    backoffMs: 2_718,
    setup: '24 jobs at once, batched, polling each 0.1 s',
    count: async (store) => added - (await countOf(store, left)),
  })
  return {
    ...side,
    async start() {
      const running = await side.start()
      return {
        ...running,
        async enqueue(count) {
          added += count
          await running.enqueue(count)
        },
      }
    },
  }
}

export function pgBoss(ground: BenchGround): Promise<Side> {
  return onPostgres(ground, 'pg-boss.mjs', {
    name: 'pg-boss',
    backoffMs: 1_000,
    setup: '2 workers, batches of 250, notified, polling each 0.5 s',
    count: (store) => countOf(store, `SELECT count(*) FROM pgboss.job WHERE state = 'completed'`),
  })
}

export function dbos(ground: BenchGround): Promise<Side> {
  return onPostgres(ground, 'dbos.mjs', {
    name: 'DBOS',
    backoffMs: 100,
    setup: 'workflows of one step, started in their process, 500 at once; retried in memory',
    count: (store) => countOf(store, `SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'`),
  })
}

/** On the distribution's Redis; null where there is none. */
export async function bullmq(ground: BenchGround): Promise<Side | null> {
  const redis = await startRedis(ground)
  return (
    redis && {
      name: 'BullMQ',
      backoffMs: 100,
      setup: `${redis.version}, which syncs its file before it answers; 100 jobs at once`,
      store: { aofDirectory: redis.aofDirectory },
      async start() {
        const peer = await startPeer('bullmq.mjs', redis.socket, ground.signal)
        return {
          enqueue: async (count) => void (await peer.ask('enqueue', count)),
          succeeded: async () => Number(await peer.ask('succeeded')),
          async [Symbol.asyncDispose]() {
            await peer[Symbol.asyncDispose]()
            await redis.stop()
          },
        }
      },
    }
  )
}

async function onPostgres(
  ground: BenchGround,
  program: string,
  side: Pick<Side, 'name' | 'backoffMs' | 'setup'> & { count(store: BenchDatabase): Promise<number> },
): Promise<Side> {
  const store = await ground.database()
  return {
    ...side,
    store,
    async start() {
      const peer = await startPeer(program, store.connectionString, ground.signal)
      return {
        enqueue: async (count) => void (await peer.ask('enqueue', count)),
        succeeded: () => side.count(store),
        [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
      }
    },
  }
}

async function countOf({ db }: BenchDatabase, statement: string): Promise<number> {
  return (await db.query<{ count: number }>(statement)).rows[0]!.count
}
