import { expect, test } from 'vitest'
import { oneAtATime } from '../../../../src/ui/api/poll.ts'

/** Work that ends on request, and counts its runs. */
function work() {
  const ends: (() => void)[] = []
  let running = 0
  let most = 0
  return {
    ends,
    most: () => most,
    run: () => {
      most = Math.max(most, ++running)
      return new Promise<void>((resolve) => ends.push(resolve)).finally(() => running--)
    },
  }
}
const settle = () => new Promise((resolve) => setTimeout(resolve))

test('calls during a run share one run that begins after it', async () => {
  const { run, ends, most } = work()
  const ask = oneAtATime(run)
  const first = ask()
  const later = [ask(), ask(), ask()]
  await settle()
  expect(ends).toHaveLength(1)
  ends[0]!()
  await settle()
  expect(ends).toHaveLength(2)
  let ended = 0
  for (const each of [first, ...later]) void each.then(() => ended++)
  await settle()
  expect(ended).toBe(0)
  ends[1]!()
  await Promise.all([first, ...later])
  expect(most()).toBe(1)
  expect(ends).toHaveLength(2)
})

test('runs again after it has ended, also after a failure', async () => {
  let runs = 0
  const ask = oneAtATime(async () => {
    runs++
    if (runs === 1) throw new Error('away')
  })
  await expect(ask()).rejects.toThrow('away')
  await ask()
  await ask()
  expect(runs).toBe(3)
})
