/**
 * Runs the work one at a time. Whoever asks while it runs gets another run that begins after it, shared with all who
 * ask meanwhile; what is returned ends with it.
 */
export function oneAtATime(work: () => Promise<unknown>): () => Promise<void> {
  let running: Promise<void> | null = null
  let isWanted = false
  const run = async () => {
    try {
      do {
        isWanted = false
        await work()
      } while (isWanted)
    } finally {
      running = null
    }
  }
  return () => {
    isWanted = running !== null
    return (running ??= run())
  }
}
