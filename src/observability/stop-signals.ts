const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** Ctrl-C reaches npm and what it runs, and npm forwards it: a second signal this soon is the same one. */
const SAME_SIGNAL_WITHIN_MS = 2_000

/**
 * Calls `onStop` with the first signal that asks this process to stop; one that comes later than
 * SAME_SIGNAL_WITHIN_MS after it kills. The listeners that hear the first stay for that long: a process that has none,
 * even for the tenth of a millisecond until others are added, is killed by the second. So is one that ends because
 * nothing is left to do, in the milliseconds in which Node takes itself apart without its listeners: after a signal the
 * process exits instead, which keeps them to the last moment.
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
