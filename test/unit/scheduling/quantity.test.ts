import fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatQuantity, parseQuantity } from '../../../src/domain/scheduling/resource-request.ts'
import { checkProperty } from '../../support/seeds.ts'

it.each([
  ['0.1', 100_000_000n],
  ['4', 4_000_000_000n],
  ['2.5000000000000', 2_500_000_000n],
  ['-1.5', -1_500_000_000n],
])('%s is %s billionths', (text, quantity) => {
  expect(parseQuantity(text)).toBe(quantity)
})

it.each(['', 'x', '1.0000000001', '1e3', '.5', '1.2.3'])('%j is none', (text) => {
  expect(() => parseQuantity(text)).toThrow(RangeError)
})

it('print as they are read', () => {
  checkProperty(
    fc.property(
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
      (quantity) => parseQuantity(formatQuantity(quantity)) === quantity,
    ),
  )
})
