import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { inBatches, servePeer } from './serve-peer.mjs'

/** `graphile-worker.mjs <connection string>`: a worker in its batched mode, as its documentation has it for many small jobs. */

const CONCURRENT_JOBS = 24
const ADD_BATCH_JOBS = 500
/** How late a retry is found; 2 s if nothing is set. */
const POLL_MS = 100
const BATCHED = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }

const [, , connectionString] = process.argv
// A job that fails is logged as an error, and each of these fails once.
const logger = new Logger(() => () => {})
const utils = await makeWorkerUtils({ connectionString, logger })
await utils.migrate()
const runner = await run({
  preset: {
    worker: { connectionString, maxPoolSize: 10, concurrentJobs: CONCURRENT_JOBS, pollInterval: POLL_MS, ...BATCHED },
  },
  logger,
  noHandleSignals: true,
  taskList: {
    async failsOnce(_payload, { job }) {
      if (job.attempts === 1) throw new Error('the first attempt fails')
    },
  },
})

servePeer({
  enqueue: (count) =>
    inBatches(count, ADD_BATCH_JOBS, (size) =>
      utils.addJobs(Array.from({ length: size }, () => ({ identifier: 'failsOnce', payload: {}, maxAttempts: 2 }))),
    ),
  async close() {
    await runner.stop()
    await utils.release()
  },
})
