import { statfsSync } from 'node:fs'
import type { Logger } from './log.ts'

/** What has gone wrong in this process since its start, for its metrics. */
export const processFaults = {
  /** Errors that nothing has caught. */
  uncaught: 0,
  /** Writes that failed as a disk of the server or of its database is full. */
  diskFull: 0,
  /** Where the files of an embedded database are; null without one. */
  embeddedDatabase: null as string | null,
}

/** With less, PostgreSQL ends and does not start again: it makes a file of 16 MiB for its log. */
const EMBEDDED_DISK_LOW_BYTES = 16 * 1024 * 1024

/** Whether an embedded database has no space to work with: the reason why it is away, if it is. */
export function isEmbeddedDiskFull(directory = processFaults.embeddedDatabase): boolean {
  if (directory === null) return false
  try {
    const { bavail, bsize, files, ffree } = statfsSync(directory)
    return bavail * bsize < EMBEDDED_DISK_LOW_BYTES || (files > 0 && ffree === 0)
  } catch {
    return false
  }
}

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
