import { pino } from 'pino'
import { migrate } from '../../../src/store/postgres/migrate.ts'

/** `migrate-program.ts <connection string>`: migrates and prints what it applied, as JSON. */
console.log(JSON.stringify(await migrate(process.argv[2]!, pino({ enabled: false }))))
