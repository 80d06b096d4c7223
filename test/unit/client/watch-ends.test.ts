import { expect, test } from 'vitest'
import { InternalError, UnavailableError } from '../../../src/client/errors.ts'
import { watchEnds } from '../../../src/client/streams/watch-changes.ts'

/** Watches three things; `read` gets the keys and returns those of them that have ended. */
function watch(read: (keys: readonly string[]) => string[], events: AsyncIterableIterator<string> = silence()) {
  return watchEnds<string, string>({
    open: new Set(['a', 'b', 'c']),
    read: async (keys) => new Map(read(keys).map((key) => [key, key])),
    events,
    keyOf: (event) => event,
    endOf: async (_event, found) => found,
    requestsPerPoll: 1,
    signal: new AbortController().signal,
  })
}

/** A stream without events, which ends when it is closed. */
function silence(): AsyncIterableIterator<string> {
  let close = () => {}
  const closed = new Promise<void>((resolve) => (close = resolve))
  return {
    next: () => closed.then(() => ({ done: true, value: undefined })),
    return: async () => (close(), { done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function* eventsOf(...keys: string[]): AsyncGenerator<string, void, void> {
  yield* keys
}

async function collect(source: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const each of source) found.push(each)
  return found
}

test('reads those that events report, each once, and not the others', async () => {
  const asked: string[][] = []
  const ends = watch(
    (keys) => {
      asked.push([...keys])
      return [...keys]
    },
    eventsOf('c', 'c', 'other', 'a', 'b'),
  )
  expect(await collect(ends)).toEqual(['c', 'a', 'b'])
  expect(asked.flat().toSorted()).toEqual(['a', 'b', 'c'])
})

test('an event about something that has not ended changes nothing; polling covers for missing events', async () => {
  let reads = 0
  const ends = watch((keys) => (++reads < 3 ? [] : [...keys]), eventsOf('a'))
  expect((await collect(ends)).toSorted()).toEqual(['a', 'b', 'c'])
})

test('polling covers for a stream that breaks', async () => {
  const broken = { ...silence(), next: () => Promise.reject(new Error('the cursor has expired')) }
  const events: AsyncIterableIterator<string> = { ...broken, [Symbol.asyncIterator]: () => events }
  expect(await collect(watch((keys) => [...keys], events))).toEqual(['a', 'b', 'c'])
})

test('a server without its database is waited for; other errors are thrown', async () => {
  let reads = 0
  const ends = watch((keys) => {
    if (++reads <= 2) throw new UnavailableError('DATABASE_UNAVAILABLE', 'no database')
    return [...keys]
  }, eventsOf('b'))
  expect(await collect(ends)).toEqual(['b', 'a', 'c'])
  const fault = watch(() => {
    throw new InternalError('INTERNAL', 'a fault')
  })
  await expect(collect(fault)).rejects.toThrow('a fault')
})
