import { onAbort } from './wait.ts'

/** Wakes a single waiter. A signal that is raised while there is no waiter is remembered. */
export interface WakeSignal {
  raise(): void
  /** Resets the signal. @returns whether it was raised */
  take(): boolean
  /** Waits until the signal is raised, at most `ms`, and resets it. @returns whether it was raised */
  wait(ms: number): Promise<boolean>
  /** Stops listening to `signals`. */
  stop(): void
}

/** An abort of one of `signals` also raises the signal. */
export function createWakeSignal(signals: readonly AbortSignal[] = []): WakeSignal {
  let raised = signals.some(({ aborted }) => aborted)
  let waiting: (() => void) | undefined
  const raise = () => {
    raised = true
    waiting?.()
  }
  const take = () => {
    const was = raised
    raised = false
    return was
  }
  const forgets = signals.map((signal) => onAbort(signal, raise))
  return {
    raise,
    take,
    async wait(ms) {
      if (!raised) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, ms)
        waiting = resolve
        await promise
        clearTimeout(timer)
        waiting = undefined
      }
      return take()
    },
    stop() {
      for (const forget of forgets) forget()
    },
  }
}
