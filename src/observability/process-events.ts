import { statfsSync } from 'node:fs'
import type { Logger } from './log.ts'

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** Ctrl-C reaches npm and what it runs, and npm forwards it: a second signal this soon belongs to the same Ctrl-C. */
const SAME_SIGNAL_WITHIN_MS = 2_000

/**
 * Calls `onStop` with the first signal to stop. A second signal later than SAME_SIGNAL_WITHIN_MS kills the process. The
 * listeners stay for that time, because a process without a listener, even for a moment, is killed by a second signal.
 * For the same reason the process exits explicitly after a signal: Node removes listeners before it ends by itself.
 *
 * @returns a function that ends the listening, unless a signal was heard
 */
export function listenForStop(onStop: (signal: string) => void): () => void {
  let heard = false
  const listeners = STOP_SIGNALS.map((name) => ({
    name,
    hear() {
      if (heard) return
      heard = true
      setTimeout(removeAll, SAME_SIGNAL_WITHIN_MS).unref()
      process.once('beforeExit', () => process.exit())
      onStop(name)
    },
  }))
  function removeAll(): void {
    for (const { name, hear } of listeners) process.off(name, hear)
  }
  for (const { name, hear } of listeners) process.on(name, hear)
  return () => {
    if (!heard) removeAll()
  }
}

/** Counts of faults in this process since its start, for its metrics. */
export const processFaults = {
  /** Uncaught errors. */
  uncaught: 0,
  /** Writes that failed because a disk of the server or of its database was full. */
  diskFull: 0,
  /** Directory of the embedded database; null without one. */
  embeddedDatabase: null as string | null,
}

/** With less space PostgreSQL ends and does not start again: it creates a file of 16 MiB for its log. */
const EMBEDDED_DISK_LOW_BYTES = 16 * 1024 * 1024

/** Whether an embedded database has no disk space: the reason for its outage, if there is one. */
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
 * Logs and counts uncaught errors instead of ending the process: a server or an agent has other work, and a restart may
 * fail for the same reason. Timers and listeners catch their own errors, which a guard test checks; this is the
 * fallback.
 */
export function outliveUncaughtFaults(log: Logger): void {
  const note = (error: unknown) => {
    processFaults.uncaught += 1
    log.error({ err: error }, 'an uncaught error: please report it')
  }
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
  // A write to standard output fails, for example, if it is a file on a full disk; that must not end the process. The
  // log handles its own errors.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
}
