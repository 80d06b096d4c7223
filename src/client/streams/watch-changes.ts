import { UnavailableError } from '../errors.ts'
import { pause } from '../transport/retry-schedule.ts'

/**
 * Intervals of polling. Events report changes at once; polling covers changes without events, and times without a
 * subscription.
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
  const listening = heed(events, wakeSignal.raise)
  try {
    for (let seconds = POLL_MIN_SECONDS; ; seconds = Math.min(seconds * 2, POLL_MAX_SECONDS)) {
      if (await wakeSignal.wait(seconds, signal)) seconds = POLL_MIN_SECONDS
      const now = await unlessUnavailable(read())
      if (now === undefined || JSON.stringify(now) === JSON.stringify(known)) continue
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

/** Yields one item for each thing that ends, as it ends, until all have. */
export async function* watchEnds<Event, Ended>(options: {
  /** Keys of the things that have not ended. */
  open: Set<string>
  /** Reads these things, and returns those that have ended, by key. */
  read: (keys: readonly string[]) => Promise<Map<string, Ended>>
  /** Yields the events about the ends of these things, and maybe of others, since before the first read. */
  events: AsyncIterableIterator<Event>
  keyOf: (event: Event) => string
  /** Reads how the thing ended that this event reports as ended; undefined if it has not ended. */
  endOf: (event: Event, found: Ended | undefined) => Promise<Ended | undefined>
  /** Number of requests that reading all of them takes: with more, they are polled less often. */
  requestsPerPoll: number
  signal: AbortSignal
}): AsyncGenerator<Ended, void, void> {
  const { open, read, events, keyOf, endOf, requestsPerPoll, signal } = options
  const shortest = POLL_MIN_SECONDS * requestsPerPoll
  const longest = POLL_MAX_SECONDS * requestsPerPoll
  const wakeSignal = createWakeSignal()
  const reported = new Map<string, Event>()
  const listening = heed(events, (event) => {
    if (event !== undefined) {
      if (!open.has(keyOf(event)) || reported.has(keyOf(event))) return
      reported.set(keyOf(event), event)
    }
    wakeSignal.raise()
  })
  try {
    for (let seconds = shortest; open.size > 0; seconds = Math.min(seconds * 2, longest)) {
      await wakeSignal.wait(seconds, signal)
      const asked = reported.size > 0 ? [...reported.keys()] : [...open]
      const found = await unlessUnavailable(read(asked))
      if (found === undefined) {
        seconds = Math.min(seconds, POLL_MAX_SECONDS / 2)
        continue
      }
      for (const key of asked) {
        const event = reported.get(key)
        const ended = event === undefined ? found.get(key) : await endOf(event, found.get(key))
        reported.delete(key)
        if (ended === undefined || !open.delete(key)) continue
        seconds = shortest
        yield ended
      }
    }
  } finally {
    await events.return?.()
    await listening
  }
}

/**
 * Calls `on` for each event, and without one if the stream breaks. Its error is ignored, because polling covers for it.
 */
async function heed<Event>(events: AsyncIterable<Event>, on: (event?: Event) => void): Promise<void> {
  try {
    for await (const event of events) on(event)
  } catch {
    on()
  }
}

/** Undefined while the server starts, stops or has no database: the next poll reads again. */
async function unlessUnavailable<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof UnavailableError) return undefined
    throw error
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
