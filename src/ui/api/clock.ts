import { useEffect, useReducer } from 'react'

let aheadMs = 0
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** Called for each answer that has `now`: pages use the server's clock. */
export function setServerNow(now: string): void {
  aheadMs = Date.parse(now) - Date.now()
}

/** The server's time in milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + aheadMs
}

/** The server's time, updated each second while `ticks`. All components share one timer. */
export function useServerNow(ticks = true): number {
  const [, tick] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    if (!ticks) return undefined
    listeners.add(tick)
    timer ??= setInterval(() => {
      for (const listener of listeners) listener()
    }, 1_000)
    return () => {
      listeners.delete(tick)
      if (listeners.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [ticks])
  return serverNow()
}
