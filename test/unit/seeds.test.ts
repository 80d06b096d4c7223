import { inject, describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { checkProperty, forEachSeed, randomOf, seedsOf, type SeededTask } from '../support/seeds.ts'

/** The seeds of tests that make random choices. */

const FILE = 'test/unit/some.test.ts'
const task = (): SeededTask => ({ file: { filepath: `${process.cwd()}/${FILE}` }, fullTestName: 'a > b', meta: {} })
const entry = { file: FILE, test: 'a > b', seed: 7, date: '2026-11-27', found: 'it failed' }
const isLong = inject('seed') !== undefined

describe.skipIf(isLong)('in the suite', () => {
  test('a test has one seed, and those with which it has failed', () => {
    const others = [
      { ...entry, seed: 8, test: 'a > c' },
      { ...entry, seed: 9, file: 'test/unit/other.test.ts' },
    ]
    const [fixed, ...rest] = seedsOf(task(), [...others, entry, { ...entry, seed: 10 }])
    expect(rest).toEqual([7, 10])
    expect(seedsOf(task(), [])).toEqual([fixed])
  })

  test('a property is checked with each of them, the same way each time', () => {
    const drawn = () => {
      const values: number[] = []
      const property = fc.property(fc.nat(), (value) => void values.push(value))
      checkProperty(property, { numRuns: 5 })
      return values
    }
    expect(drawn()).toHaveLength(5)
    expect(drawn()).toEqual(drawn())
  })
})

test('a test that has asked is marked', () => {
  const asking = task()
  seedsOf(asking, [])
  expect(asking.meta.seeded).toBe(true)
})

test('a failure names the seed', async () => {
  const seeds: number[] = []
  const failing = forEachSeed((seed) => {
    seeds.push(seed)
    throw new Error('it failed')
  })
  await expect(failing).rejects.toThrow(/^With seed \d+: it failed$/)
  expect(seeds).toHaveLength(1)
})

test.concurrent('a concurrent test must say which it is', ({ task: own, expect: expectHere }) => {
  expectHere(() => seedsOf()).toThrow('pass its task')
  expectHere(seedsOf(own)).not.toEqual([])
})

test('the same seed gives the same sequence, another seed another', () => {
  const draw = (seed: number) => {
    const { below } = randomOf(seed)
    return Array.from({ length: 5 }, () => below(1_000_000))
  }
  expect(draw(1)).toEqual(draw(1))
  expect(draw(1)).not.toEqual(draw(2))
})
