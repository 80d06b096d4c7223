import { DBOS } from '@dbos-inc/dbos-sdk'
import { inBatches, servePeer } from './serve-peer.mjs'

/** `dbos.mjs <connection string>`: workflows of one step, started in this process; DBOS repeats the step. */

const STARTED_AT_ONCE = 500
const CONNECTIONS = 10

const [, , systemDatabaseUrl] = process.argv
const failedOnce = new Set()

const failsOnce = DBOS.registerWorkflow(
  async () => {
    const id = DBOS.workflowID
    await DBOS.runStep(
      async () => {
        if (failedOnce.delete(id)) return
        failedOnce.add(id)
        throw new Error('the first attempt fails')
      },
      { name: 'failsOnce', retriesAllowed: true, intervalSeconds: 0.1, maxAttempts: 2 },
    )
  },
  { name: 'failsOnce' },
)
const logger = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, () => {}]))
DBOS.setConfig({ name: 'bench', systemDatabaseUrl, systemDatabasePoolSize: CONNECTIONS, logger })
await DBOS.launch()

servePeer({
  enqueue: (count) =>
    inBatches(count, STARTED_AT_ONCE, (size) =>
      Promise.all(Array.from({ length: size }, () => DBOS.startWorkflow(failsOnce)())),
    ),
  close: () => DBOS.shutdown(),
})
