import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type CheckpointOffer,
  judgeCheckpoint,
  readFoundCheckpoint,
  readLeftCheckpoint,
} from '../../../src/domain/agent/checkpoint.ts'
import { checkProperty } from '../../support/seeds.ts'

const [OWN, OTHER] = ['store-1', 'store-2']

function offer(attempt: number, store: string | null): CheckpointOffer {
  return { generation: 0, newest: { attempt, store } }
}

/** What attempt 5 finds, in words. */
function finds(
  given: CheckpointOffer | null | undefined,
  how: { mark?: number; markFound?: number; isEmpty?: boolean; isFirstKernel?: boolean } = {},
): string {
  const { mark, markFound, isEmpty = false, isFirstKernel = true } = how
  const before = markFound === undefined ? null : ({ state: 'FETCHED', attempt: markFound } as const)
  const known = mark === undefined ? null : { attempt: mark, found: before }
  const place = { attempt: 5, isFirstKernel, offer: given, store: OWN, mark: known, isEmpty }
  const { found, isStale } = judgeCheckpoint(place)
  return `${found?.state ?? 'NONE'}${found?.attempt ?? ''}${isStale ? ' aside' : ''}`
}

test.each([
  ['nothing anywhere', finds(null, { isEmpty: true }), 'NONE'],
  ['of an older agent or server', finds(undefined), 'HERE'],
  ['never reported', finds(null, { mark: 3 }), 'HERE3'],
  ['on record here', finds(offer(4, OWN), { mark: 4 }), 'HERE4'],
  ['on record here, and gone on with by one that died', finds(offer(2, OWN), { mark: 4 }), 'HERE4'],
  ['on record here, unmarked', finds(offer(2, OWN)), 'HERE2'],
  ['on record here, and emptied', finds(offer(2, OWN), { isEmpty: true }), 'MISSING2'],
  ['on record here, and put back from a backup', finds(offer(4, OWN), { mark: 2 }), 'MISSING4 aside'],
  ['elsewhere', finds(offer(4, OTHER), { isEmpty: true }), 'MISSING4'],
  ['elsewhere, an old one here', finds(offer(4, OTHER), { mark: 3 }), 'MISSING4 aside'],
  ['elsewhere, one of unknown age here', finds(offer(4, OTHER)), 'MISSING4 aside'],
  ['elsewhere, a newer one here', finds(offer(3, OTHER), { mark: 4 }), 'HERE4'],
  ['elsewhere, of the same attempt', finds(offer(4, OTHER), { mark: 4 }), 'MISSING4 aside'],
  ["another kernel's own", finds(offer(4, OTHER), { mark: 4, isFirstKernel: false }), 'HERE4'],
  ['dropped', finds(offer(4, null), { isEmpty: true }), 'MISSING4'],
  ['taken by this attempt before', finds(offer(4, OTHER), { mark: 5 }), 'NONE'],
  ['taken by this attempt before, and put back', finds(offer(5, OWN), { mark: 5, markFound: 4 }), 'HERE5'],
  ['put back, and gone on with elsewhere', finds(offer(5, OTHER), { mark: 5, markFound: 4 }), 'MISSING5 aside'],
  ['put back, and gone on with elsewhere, and empty', finds(offer(5, OTHER), { isEmpty: true }), 'MISSING5'],
  ['put back, and taken again', finds(offer(5, OTHER), { mark: 5, markFound: 5 }), 'FETCHED5'],
])('%s', (_, found, expected) => expect(found).toBe(expected))

test('what is older than the record is never taken for it, and nothing newer is moved aside', () => {
  const attempts = fc.integer({ min: 1, max: 6 })
  const place = fc.record({
    attempt: fc.constant(7),
    isFirstKernel: fc.boolean(),
    offer: fc.record({ attempt: attempts, store: fc.constantFrom(OWN, OTHER, null) }).map((newest) => ({
      generation: 0,
      newest,
    })),
    store: fc.constant(OWN),
    mark: fc.option(attempts.map((attempt) => ({ attempt, found: null }))),
    isEmpty: fc.boolean(),
  })
  checkProperty(
    fc.property(place, (given) => {
      const { found, isStale } = judgeCheckpoint(given)
      const { newest } = given.offer
      expect(found).not.toBeNull()
      if (found!.state === 'HERE') {
        expect(given.isEmpty).toBe(false)
        expect(found!.attempt).toBeGreaterThanOrEqual(newest.attempt)
      } else expect(found).toEqual({ state: 'MISSING', attempt: newest.attempt })
      if (isStale) expect(given.mark?.attempt ?? 0).toBeLessThanOrEqual(newest.attempt)
    }),
  )
})

test.each([undefined, null, 'here', [], { state: 'NONE' }, { files: 3 }])('%j tells nothing', (value) => {
  expect([readFoundCheckpoint(value), readLeftCheckpoint(value)]).toEqual([null, null])
})

test('figures that are none count as unknown', () => {
  expect(readFoundCheckpoint({ state: 'HERE', attempt: 1e300 })).toEqual({ state: 'HERE', attempt: null })
  const left = { generation: 1, files: -1, bytes: Number.NaN, newestAt: '+275760-09-13T00:00:00.000Z' }
  expect(readLeftCheckpoint(left)).toEqual({ generation: 1, files: null, bytes: null, newestAt: null })
})
