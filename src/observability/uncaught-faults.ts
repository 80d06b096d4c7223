import type { Logger } from './log.ts'
import { processFaults } from './process-faults.ts'

/**
 * From here on, an error that nothing has caught is logged and counted, and the process goes on: a server or an agent
 * does much else, and a restart may be refused for the same reason. Timers and listeners catch their own errors, which a
 * guard test checks; this is the net below them.
 */
export function outliveUncaughtFaults(log: Logger): void {
  const note = (error: unknown) => {
    processFaults.uncaught += 1
    log.error({ err: error }, 'a fault that nothing has caught: please report it')
  }
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
  // Of standard output to a file on a full disk; the log has its own.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
}
