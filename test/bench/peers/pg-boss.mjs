import { PgBoss } from 'pg-boss'
import { inBatches, servePeer } from './serve-peer.mjs'

/** `pg-boss.mjs <connection string>`: workers that take jobs in batches, are notified of new ones, and settle each by itself. */

const QUEUE = 'fails-once'
const ADD_BATCH_JOBS = 500
const WORKERS = 2
const BATCH_JOBS = 250
/** The shortest interval that it accepts; a retry that becomes due is found by polling only. */
const POLLING_SECONDS = 0.5
/** The shortest delay but none: whole seconds. */
const RETRY = { retryLimit: 1, retryDelay: 1 }

const [, , connectionString] = process.argv
const boss = new PgBoss({ connectionString, max: 10, useListenNotify: true })
boss.on('error', (error) => console.error(error))
await boss.start()
await boss.createQueue(QUEUE, { ...RETRY, notify: true })
await boss.work(
  QUEUE,
  {
    batchSize: BATCH_JOBS,
    localConcurrency: WORKERS,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: POLLING_SECONDS,
    notifyPollingIntervalSeconds: POLLING_SECONDS,
    includeMetadata: true,
    perJobResults: true,
  },
  async (jobs) =>
    jobs.map(({ id, retryCount }) =>
      retryCount === 0
        ? { id, status: 'failed', output: { message: 'the first attempt fails' } }
        : { id, status: 'completed' },
    ),
)

servePeer({
  enqueue: (count) =>
    inBatches(count, ADD_BATCH_JOBS, (size) =>
      boss.insert(
        QUEUE,
        Array.from({ length: size }, () => ({ data: {} })),
      ),
    ),
  close: () => boss.stop(),
})
