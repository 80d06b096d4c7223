/** Waiting for a signal, for a time, for whichever comes first. */
import { describe, expect, test } from 'vitest'
import { wait, within } from '../../../src/waiting/wait.ts'
import { createWakeSignal } from '../../../src/waiting/wake-signal.ts'

/** Longer than any test may take: what waits for it hangs. */
const LONG_MS = 1_000_000

describe('a signal', () => {
  test('ends a wait, and is remembered for the next while nobody waits', async () => {
    const signal = createWakeSignal()
    const waiting = signal.wait(LONG_MS)
    signal.raise()
    expect(await waiting).toBe(true)
    signal.raise()
    signal.raise()
    expect(await signal.wait(LONG_MS)).toBe(true)
    expect(await signal.wait(1)).toBe(false)
  })

  test('that is taken is forgotten', async () => {
    const signal = createWakeSignal()
    expect(signal.take()).toBe(false)
    signal.raise()
    expect(signal.take()).toBe(true)
    expect(await signal.wait(1)).toBe(false)
  })

  test('is raised by what aborts, before it was made, while it waits, but not once it has stopped', async () => {
    const controller = new AbortController()
    const early = createWakeSignal([controller.signal, new AbortController().signal])
    const stopped = createWakeSignal([controller.signal])
    stopped.stop()
    const waiting = early.wait(LONG_MS)
    controller.abort()
    expect(await waiting).toBe(true)
    expect(stopped.take()).toBe(false)
    expect(await createWakeSignal([controller.signal]).wait(LONG_MS)).toBe(true)
  })
})

describe('a time', () => {
  test('ends as soon as its signal aborts', async () => {
    const controller = new AbortController()
    const waiting = wait(LONG_MS, { signal: controller.signal })
    controller.abort()
    await waiting
    await wait(LONG_MS, { signal: AbortSignal.abort() })
  })

  test('within which something comes, fails, or does not', async () => {
    expect(await within(LONG_MS, Promise.resolve('it'))).toBe('it')
    await expect(within(LONG_MS, Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await within(1, new Promise(() => {}))).toBeUndefined()
  })
})
