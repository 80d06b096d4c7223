/** So many pieces of work at a time, in the order in which they came. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>

export function createTurns(atOnce: number): Turns {
  const waiting: (() => void)[] = []
  let running = 0

  return async (work) => {
    if (running === atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
