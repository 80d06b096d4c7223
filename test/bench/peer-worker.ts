import { consoleLogFactory, Logger, makeWorkerUtils, run } from 'graphile-worker'
import type { Database } from '../../src/store/database.ts'
import type { BenchGround } from './ground.ts'
import { countTo } from './waiting.ts'

const ADD_BATCH_JOBS = 500
/** As its documentation has it for many small jobs. */
const BATCHED = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
const CONCURRENT_JOBS = 24
/** Added, taken, completed. */
export const CHANGES_PER_JOB = 3

/**
 * A peer: graphile-worker in its batched mode, with jobs that do nothing. Adding by the hundred goes on while they are
 * worked on, as with our sessions. Answers with jobs/s from the first that is added to the last that is completed.
 */
export async function peerJobs(
  ground: BenchGround,
  database: { db: Database; connectionString: string },
  jobs: number,
): Promise<number> {
  const { db, connectionString } = database
  const logger = new Logger((scope) => {
    const log = consoleLogFactory(scope)
    // oxlint-disable-next-line typescript/no-unsafe-enum-comparison -- the enum is a const one, which is not there at run time
    return (level, message) => void (level === 'error' && log(level, message))
  })
  const utils = await makeWorkerUtils({ connectionString, logger })
  try {
    await utils.migrate()
    const preset = { worker: { connectionString, maxPoolSize: 10, concurrentJobs: CONCURRENT_JOBS, ...BATCHED } }
    const runner = await run({ preset, logger, noHandleSignals: true, taskList: { nothing: async () => {} } })
    const begun = performance.now()
    try {
      for (let done = 0; done < jobs; done += ADD_BATCH_JOBS) {
        ground.signal.throwIfAborted()
        const count = Math.min(ADD_BATCH_JOBS, jobs - done)
        await utils.addJobs(Array.from({ length: count }, () => ({ identifier: 'nothing', payload: {} })))
      }
      await countTo(ground, db, 'left', 'SELECT -count(*) AS count FROM graphile_worker.jobs', 0)
      return jobs / ((performance.now() - begun) / 1000)
    } finally {
      await runner.stop()
    }
  } finally {
    await utils.release()
  }
}
