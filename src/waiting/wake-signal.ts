/** Wakes one that waits. What is raised while nobody waits is remembered. */
export interface WakeSignal {
  raise(): void
  /** @returns whether it was raised, and forgets it */
  take(): boolean
  /** Until it is raised, or for `ms`. @returns whether it was raised, and forgets it */
  wait(ms: number): Promise<boolean>
  /** Listens to its `signals` no more. */
  stop(): void
}

/** An abort of one of `signals` raises it, too. */
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
  for (const signal of signals) signal.addEventListener('abort', raise)
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
      for (const signal of signals) signal.removeEventListener('abort', raise)
    },
  }
}
