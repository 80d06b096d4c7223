/** A ring is remembered while nobody waits. An abort of one of the signals rings, too. */
export function createAlarm(signals: readonly AbortSignal[]) {
  let rung = false
  let waiting: (() => void) | undefined
  const ring = () => {
    rung = true
    waiting?.()
  }
  for (const signal of signals) signal.addEventListener('abort', ring)
  return {
    ring,
    async wait(ms: number): Promise<void> {
      if (!rung) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          waiting = resolve
          timer = setTimeout(resolve, ms)
        })
        clearTimeout(timer)
        waiting = undefined
      }
      rung = false
    },
    stop() {
      for (const signal of signals) signal.removeEventListener('abort', ring)
    },
  }
}
