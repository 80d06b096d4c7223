import { expect, test } from 'vitest'
import { attemptWindow } from '../../../src/graphql/paging.ts'
import { assemblePage, type PageArguments, serialCursor } from '../../../src/services/paging.ts'

const ATTEMPTS = 5

/** The page as a chain's `sessions` makes it, of attempts that are numbers. */
function pageOf(args: PageArguments) {
  const { after, limit, backward } = attemptWindow(args, ATTEMPTS)
  const found = Array.from({ length: limit }, (_, index) => ({ attempt: after + index + 1 }))
  const rows = backward ? found.toReversed() : found
  const page = assemblePage({ args, rows, cursorOf: (row) => serialCursor(String(row.attempt)), count: async () => 0 })
  return { attempts: page.edges.map(({ node }) => node.attempt), ...page.pageInfo }
}

/** All sizes from both ends, between all pairs of places, beyond the ends too. */
test('every page is the slice of the list that it says', () => {
  const places = [null, 1, 2, 3, 4, 5, 9]
  let pages = 0
  for (const after of places) {
    for (const before of places) {
      for (const size of [0, 1, 2, 5, 20]) {
        const cursors = {
          after: after && serialCursor(String(after)),
          before: before && serialCursor(String(before)),
        } as PageArguments
        const between = [1, 2, 3, 4, 5].filter((attempt) => attempt > (after ?? 0) && attempt < (before ?? 99))
        const forward = pageOf({ ...cursors, first: size })
        expect(forward.attempts).toEqual(between.slice(0, size))
        expect(forward.hasNextPage).toBe(between.length > size)
        const backward = pageOf({ ...cursors, last: size })
        expect(backward.attempts).toEqual(size === 0 ? [] : between.slice(-size))
        expect(backward.hasPreviousPage).toBe(between.length > size)
        pages += 2
      }
    }
  }
  expect(pages).toBe(490)
})
