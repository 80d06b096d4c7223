import { openDatabase } from '../../../src/store/database.ts'
import type { SyncPointName } from '../../../src/observability/sync-points.ts'
import { deploymentServer } from '../servers/deployment-server.ts'
import { pause } from '../eventually.ts'

/** `killed-in-deployment-program.ts <connection string> <sync point>`: drives deployments, and is killed at that point. */
const [connectionString, point] = process.argv.slice(2) as [string, SyncPointName]
const db = openDatabase({ connectionString, connectionsMax: 4, onError: () => {} })
const server = deploymentServer(db, {
  sync: {
    async reached(name) {
      if (name === point) process.kill(process.pid, 'SIGKILL')
    },
  },
})
await using _running = server.start()
await pause(20_000)
