import { Queue, Worker } from 'bullmq'
import { inBatches, servePeer } from './serve-peer.mjs'

/** `bullmq.mjs <socket>`: a worker of BullMQ on the Redis that listens on this socket. */

const QUEUE = 'fails-once'
const ADD_BATCH_JOBS = 500
const CONCURRENT_JOBS = 100
const RETRY = { attempts: 2, backoff: { type: 'fixed', delay: 100 } }

const [, , path] = process.argv
const connection = { path, maxRetriesPerRequest: null }
const queue = new Queue(QUEUE, { connection })
const worker = new Worker(
  QUEUE,
  async (job) => {
    if (job.attemptsMade === 0) throw new Error('the first attempt fails')
  },
  { connection, concurrency: CONCURRENT_JOBS },
)
worker.on('error', (error) => console.error(error))
await worker.waitUntilReady()

servePeer({
  enqueue: (count) =>
    inBatches(count, ADD_BATCH_JOBS, (size) =>
      queue.addBulk(Array.from({ length: size }, () => ({ name: 'job', data: {}, opts: RETRY }))),
    ),
  succeeded: () => queue.getCompletedCount(),
  async close() {
    await worker.close()
    await queue.close()
  },
})
