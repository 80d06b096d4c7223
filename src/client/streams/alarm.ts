import { pause } from '../retry/pause.ts'

/** Wakes the one waiter, and remembers a ring that comes while nobody waits. */
export function createAlarm() {
  let rung = false
  let waiting: AbortController | undefined
  return {
    ring(): void {
      rung = true
      waiting?.abort()
    },
    /** Whether it rang within that time. @throws the signal's reason */
    async wait(seconds: number, signal: AbortSignal): Promise<boolean> {
      if (!rung) {
        waiting = new AbortController()
        await pause(seconds, AbortSignal.any([waiting.signal, signal])).catch(() => {})
        waiting = undefined
      }
      signal.throwIfAborted()
      const was = rung
      rung = false
      return was
    },
  }
}
