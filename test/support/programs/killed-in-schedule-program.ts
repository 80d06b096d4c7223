import { openDatabase } from '../../../src/store/database.ts'
import { scheduleServer } from '../servers/schedule-server.ts'

/** `killed-in-schedule-program.ts <connection string>`: makes the runs that are due, and is killed before the commit. */
const [connectionString] = process.argv.slice(2) as [string]
const db = openDatabase({ connectionString, connectionsMax: 4, onError: () => {} })
const server = await scheduleServer(db, {
  async reached(name) {
    if (name === 'run-schedules:before-commit') process.kill(process.pid, 'SIGKILL')
  },
})
await server.runSchedules()
