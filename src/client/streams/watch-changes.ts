import { pause } from '../transport/retry-schedule.ts'

/**
 * Shortest interval of polling. Events report changes at once; polling covers changes without events, and times without
 * a subscription.
 */
const POLL_MIN_SECONDS = 0.25
const POLL_MAX_SECONDS = 5

/** Yields a state, and again after every change, until it is final. */
export async function* watchChanges<State>(options: {
  /** Reads the cursor; called before the first read, so that later changes are reported. */
  cursor: () => Promise<string>
  read: () => Promise<State>
  /** Yields the events of the watched object after the cursor. */
  events: (after: string, known: State) => AsyncIterableIterator<unknown>
  isLast: (state: State) => boolean
  signal: AbortSignal
}): AsyncGenerator<State, void, void> {
  const { read, isLast, signal } = options
  const after = await options.cursor()
  let known = await read()
  yield known
  if (isLast(known)) return
  const wakeSignal = createWakeSignal()
  const events = options.events(after, known)
  const listening = raiseForEach(events, wakeSignal.raise)
  try {
    for (let seconds = POLL_MIN_SECONDS; ; seconds = Math.min(seconds * 2, POLL_MAX_SECONDS)) {
      if (await wakeSignal.wait(seconds, signal)) seconds = POLL_MIN_SECONDS
      const now = await read()
      if (JSON.stringify(now) === JSON.stringify(known)) continue
      known = now
      seconds = POLL_MIN_SECONDS
      yield known
      if (isLast(known)) return
    }
  } finally {
    await events.return?.()
    await listening
  }
}

/** Raises the signal for each event. Errors of the event stream are ignored, because polling covers for it. */
async function raiseForEach(events: AsyncIterable<unknown>, raise: () => void): Promise<void> {
  try {
    for await (const _event of events) raise()
  } catch {
    raise()
  }
}

/** Creates a signal for one waiter. It wakes the waiter, or is remembered if there is none. */
function createWakeSignal() {
  let raised = false
  let waiting: AbortController | undefined
  return {
    raise(): void {
      raised = true
      waiting?.abort()
    },
    /** Waits for the signal; returns whether it was raised within the time. @throws the signal's reason */
    async wait(seconds: number, signal: AbortSignal): Promise<boolean> {
      if (!raised) {
        waiting = new AbortController()
        await pause(seconds, AbortSignal.any([waiting.signal, signal])).catch(() => {})
        waiting = undefined
      }
      signal.throwIfAborted()
      const was = raised
      raised = false
      return was
    },
  }
}
