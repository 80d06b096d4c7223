import { describe, expect, onTestFinished, test } from 'vitest'
import { createPasses, type Passes } from '../../src/waiting/passes.ts'
import { onAbort, wait, within } from '../../src/waiting/wait.ts'
import { createWakeSignal } from '../../src/waiting/wake-signal.ts'
import { eventually } from '../support/eventually.ts'

describe('passes', () => {
  const LONG_MS = 3_600_000

  interface Worker {
    passes: Passes
    /** The errors passed to `failed`. */
    faults: unknown[]
    begun(): number
  }

  function worker(pass: (nth: number) => Promise<void>, pauseMs: () => number | null, pauseMinMs = 5): Worker {
    const faults: unknown[] = []
    let begun = 0
    const passes = createPasses({
      pauseMs,
      pauseMinMs,
      pass: () => pass(++begun),
      failed: (error) => void faults.push(error),
    })
    onTestFinished(() => passes.close())
    return { passes, faults, begun: () => begun }
  }

  test('a failing pass is logged, and the next ones follow', async () => {
    const fault = new Error('no disk')
    const { passes, faults, begun } = worker(
      async (nth) => {
        if (nth < 3) throw fault
      },
      () => (begun() < 5 ? 5 : null),
    )
    passes.wake()
    await eventually(() => begun() === 5)
    expect(faults).toEqual([fault, fault])
  })

  test('passes never overlap, even if they are woken meanwhile', async () => {
    let [running, most] = [0, 0]
    const { passes, begun } = worker(
      async () => {
        most = Math.max(most, ++running)
        for (let n = 0; n < 5; n++) {
          await new Promise((resolve) => setImmediate(resolve))
          passes.wake()
        }
        running -= 1
      },
      () => (begun() < 5 ? 5 : null),
    )
    passes.wake()
    await eventually(() => begun() === 5 && running === 0)
    expect(most).toBe(1)
  })

  test('a later pass comes earlier when it is woken, and not later', async () => {
    let pause: number | null = LONG_MS
    const { passes, begun } = worker(
      async () => {
        pause = null
      },
      () => pause,
    )
    passes.wake()
    pause = 5
    passes.wake()
    pause = LONG_MS
    passes.wake()
    await eventually(() => begun() === 1)
  })

  test('a pass that is due soon is not scheduled again', () => {
    let asked = 0
    const { passes } = worker(
      async () => {},
      () => {
        asked += 1
        return LONG_MS
      },
      LONG_MS,
    )
    for (let n = 0; n < 3; n++) passes.wake()
    expect(asked).toBe(1)
  })

  test('nothing comes once it is closed, also of a pass that is under way', async () => {
    const held = Promise.withResolvers<void>()
    let asked = 0
    const { passes, begun } = worker(
      () => held.promise,
      () => {
        asked += 1
        return 5
      },
    )
    passes.wake()
    await eventually(() => begun() === 1)
    passes.close()
    held.resolve()
    await held.promise
    passes.wake()
    expect(asked).toBe(1)
  })
})

describe('the wake signal', () => {
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

    test('is raised by an abort before it was made or while it waits, but not once it has stopped', async () => {
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
})

describe('onAbort', () => {
  test('acts once for each that has not taken it back, and at once after the abort', () => {
    const controller = new AbortController()
    const acted: string[] = []
    const note = (name: string) => () => void acted.push(name)
    const takeBack = onAbort(controller.signal, note('taken back'))
    onAbort(controller.signal, note('first'))
    onAbort(controller.signal, note('second'))
    takeBack()
    controller.abort()
    expect(acted).toEqual(['first', 'second'])
    onAbort(controller.signal, note('late'))
    expect(acted).toEqual(['first', 'second', 'late'])
  })
})
