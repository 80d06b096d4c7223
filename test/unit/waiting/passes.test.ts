import { expect, onTestFinished, test } from 'vitest'
import { createPasses, type Passes } from '../../../src/waiting/passes.ts'
import { eventually } from '../../support/eventually.ts'

const LONG_MS = 3_600_000

interface Worker {
  passes: Passes
  /** What has been passed on to `failed`. */
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

test('a pass that fails is told of, and the next ones come', async () => {
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

test('passes never overlap, whoever wakes them meanwhile', async () => {
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

test('what is due later comes earlier when it is woken, and not later', async () => {
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

test('what is due soon is not asked about again', () => {
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
