import { useEffect, useReducer } from 'react'

let aheadMs = 0
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** With each answer that has `now`: what counts is the server's clock. */
export function setServerNow(now: string): void {
  aheadMs = Date.parse(now) - Date.now()
}

/** Milliseconds since 1970, by the server's clock. */
export function serverNow(): number {
  return Date.now() + aheadMs
}

/** The server's time, each second while `ticks`: one timer for all that show it. */
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
