import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MIN_MS = 5
const PAUSE_MAX_MS = 100

/** The time that this process has waited in `eventually` and `pause`, in ms; overlapping waits all count. */
export const waited = { ms: 0 }

/**
 * Waits for this long. Only for tests in which the pause itself is the subject, or in which nothing can be observed
 * that says that the wait is over: for everything else there is `eventually`.
 */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const began = performance.now()
  try {
    await sleep(ms, undefined, signal ? { signal } : {})
  } finally {
    waited.ms += performance.now() - began
  }
}

/**
 * Repeats `ask` until the answer is neither null, undefined nor false, so no duration has to be guessed. Pauses grow
 * with the time waited, so that polling does not slow down what it waits for.
 */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  options: { withinMs?: number; what?: string } = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const { withinMs = 120_000, what = ask.toString() } = options
  const began = performance.now()
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== undefined && answer !== false) return answer as NonNullable<Exclude<T, false>>
    const waitedMs = performance.now() - began
    if (waitedMs > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`)
    await pause(Math.min(Math.max(waitedMs / 20, PAUSE_MIN_MS), PAUSE_MAX_MS))
  }
}
