/** A signal that comes while nobody waits is remembered. An abort of one of `signals` raises it, too. */
export function createWakeSignal(signals: readonly AbortSignal[]) {
  let raised = false
  let waiting: (() => void) | undefined
  const raise = () => {
    raised = true
    waiting?.()
  }
  for (const signal of signals) signal.addEventListener('abort', raise)
  return {
    raise,
    async wait(ms: number): Promise<void> {
      if (!raised) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          waiting = resolve
          timer = setTimeout(resolve, ms)
        })
        clearTimeout(timer)
        waiting = undefined
      }
      raised = false
    },
    stop() {
      for (const signal of signals) signal.removeEventListener('abort', raise)
    },
  }
}
