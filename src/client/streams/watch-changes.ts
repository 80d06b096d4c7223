import { createAlarm } from './alarm.ts'

/** Events tell at once; polling finds what they do not tell, and what they cannot while they are away. */
const POLL_MIN_SECONDS = 0.25
const POLL_MAX_SECONDS = 5

/** Something as it is, and again whenever it has changed, until it is as it stays. */
export async function* watchChanges<State>(options: {
  /** Asked for before the first read: what changes later is told. */
  cursor: () => Promise<string>
  read: () => Promise<State>
  /** What happens to it behind the cursor. */
  events: (after: string, known: State) => AsyncIterableIterator<unknown>
  isLast: (state: State) => boolean
  signal: AbortSignal
}): AsyncGenerator<State, void, void> {
  const { read, isLast, signal } = options
  const after = await options.cursor()
  let known = await read()
  yield known
  if (isLast(known)) return
  const alarm = createAlarm()
  const events = options.events(after, known)
  const listening = ringForEach(events, alarm.ring)
  try {
    for (let seconds = POLL_MIN_SECONDS; ; seconds = Math.min(seconds * 2, POLL_MAX_SECONDS)) {
      if (await alarm.wait(seconds, signal)) seconds = POLL_MIN_SECONDS
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

/** Polling is the backstop, so whatever ends the events is left to it. */
async function ringForEach(events: AsyncIterable<unknown>, ring: () => void): Promise<void> {
  try {
    for await (const _event of events) ring()
  } catch {
    ring()
  }
}
