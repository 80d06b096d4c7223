import { guarded } from './wait.ts'

/** Pause if `pauseMs` fails. */
const FAULT_PAUSE_MS = 1_000

/** Repeated work, one pass at a time. */
export interface Passes {
  /** Called when there may be work, or work that is due earlier than before. */
  wake(): void
  close(): void
}

interface PassesOptions {
  /** Returns the time until the next pass; null while there is no work, and then `wake` has to be called. */
  pauseMs(): number | null
  /** Shortest pause: a wake-up does not change a pass that is due within this time. */
  pauseMinMs: number
  pass(): Promise<void>
  /** Called when a pass fails; the next pass is made nevertheless. */
  failed(error: unknown): void
}

/** Timers are unref'd. Errors of `pass` and `pauseMs` never end the process. */
export function createPasses({ pauseMs, pauseMinMs, pass, failed }: PassesOptions): Passes {
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let passing = false
  let closed = false

  function wake(): void {
    const now = performance.now()
    if (closed || passing || dueAt <= now + pauseMinMs) return
    const pause = pauseMs()
    if (pause === null || dueAt <= now + pause) return
    clearTimeout(timer)
    dueAt = now + pause
    timer = setTimeout(guarded(run, failed), pause).unref()
  }

  async function run(): Promise<void> {
    dueAt = Number.POSITIVE_INFINITY
    passing = true
    try {
      await pass()
    } catch (error) {
      failed(error)
    }
    passing = false
    try {
      wake()
    } catch (error) {
      failed(error)
      dueAt = performance.now() + FAULT_PAUSE_MS
      timer = setTimeout(guarded(run, failed), FAULT_PAUSE_MS).unref()
    }
  }

  return {
    wake,
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
