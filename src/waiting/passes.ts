import { guarded } from './guarded.ts'

/** Where the next pause could not be found. */
const FAULT_PAUSE_MS = 1_000

/** Work that is done again and again, one pass at a time. */
export interface Passes {
  /** There may be something to do, or something that is due earlier. */
  wake(): void
  close(): void
}

interface PassesOptions {
  /** Until the next pass; null while there is nothing to do, and then somebody has to wake it. */
  pauseMs(): number | null
  /** No pause is shorter: what is due by then is left as it is, and nobody is asked. */
  pauseMinMs: number
  pass(): Promise<void>
  /** The next one comes all the same. */
  failed(error: unknown): void
}

/** Timers are unref'd; a failing pass, or a pause that cannot be found, never ends the process. */
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
