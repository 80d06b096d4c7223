import { expect, test } from 'vitest'
import { dependentsInSteps } from '../../../src/domain/resubmission.ts'

const one = (id: string, ...dependsOn: string[]) => ({ id, chainId: id, dependsOn })
const steps = (...all: ReturnType<typeof one>[]) => dependentsInSteps(all).map((step) => step.map(({ id }) => id))

test('each comes after what it waits for, the oldest first; others do not count', () => {
  expect(steps()).toEqual([])
  expect(steps(one('d', 'b', 'c'), one('c', 'a'), one('b', 'a', 'x'), one('e', 'd', 'a'))).toEqual([
    ['b', 'c'],
    ['d'],
    ['e'],
  ])
})

test('a circle is an error, not an endless search', () => {
  expect(() => steps(one('a', 'b'), one('b', 'a'))).toThrow('depend on each other')
})
