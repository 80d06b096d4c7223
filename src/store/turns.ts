import { RepriseError } from '../domain/errors.ts'

/**
 * Limits how much each party, such as a token, does at the same time: each has a number of places. Further callers wait
 * in line for a place, for a limited time.
 */
export interface Turns {
  /**
   * Waits for a place of this party. Returns a function that gives the place back, which must be called once.
   * @throws RepriseError TOO_MANY_REQUESTS if the line is too long, or no place became free in time
   */
  take(party: string): Promise<() => void>
}

interface Line {
  taken: number
  waiting: Set<() => void>
}

export function createTurns(options: { atOnce: number; waitingMax: number; withinMs: number }): Turns {
  const { atOnce, waitingMax, withinMs } = options
  const lines = new Map<string, Line>()

  function wait(line: Line): Promise<void> {
    if (line.waiting.size >= waitingMax) throw refusal(atOnce)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const called = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      line.waiting.delete(called)
      reject(refusal(atOnce))
    }, withinMs)
    line.waiting.add(called)
    return promise
  }

  function giveBack(party: string, line: Line): void {
    const [next] = line.waiting
    if (next) {
      // The place goes to the next in line.
      line.waiting.delete(next)
      next()
    } else if (--line.taken === 0) lines.delete(party)
  }

  return {
    async take(party) {
      const line = lines.get(party) ?? { taken: 0, waiting: new Set() }
      lines.set(party, line)
      if (line.taken < atOnce) line.taken++
      else await wait(line)
      return () => giveBack(party, line)
    },
  }
}

function refusal(atOnce: number): RepriseError {
  return new RepriseError(
    'TOO_MANY_REQUESTS',
    `Too many requests at once: this token has ${atOnce} in progress, and others wait. Try again in a moment.`,
  )
}
