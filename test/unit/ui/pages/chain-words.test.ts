import { describe, expect, test } from 'vitest'
import { readChainSearch } from '../../../../src/ui/pages/chain/chain-search.ts'
import { differenceWords } from '../../../../src/ui/pages/chain/spec-words.ts'
import { amountWords, roughAmount } from '../../../../src/ui/words/numbers.ts'

describe('the address of a chain', () => {
  test('is parsed', () => {
    const search = { attempt: 5, tab: 'decision', scale: true, from: 1000, to: 2000, line: 420 }
    expect(readChainSearch(search)).toEqual(search)
  })

  test.each<[string, Record<string, unknown>]>([
    ['no number', { attempt: 'x', line: Infinity }],
    ['no count', { attempt: 0, line: 1.5 }],
    ['no tab', { tab: 'wires' }],
    ['the tab that it has anyway', { tab: 'logs' }],
    ['a range that ends before it begins', { from: 2000, to: 1000 }],
    ['half a range', { from: 1000 }],
  ])('is read without %s', (_, search) => {
    expect(readChainSearch(search)).toEqual({})
  })
})

describe('what changes', () => {
  test.each([
    ['mem', '8589934592', '8g'],
    ['mem', '104857600', '100m'],
    ['mem', '1536', '1.5k'],
    ['mem', '1000', '1000'],
    ['cpu', '1.5', '1.5'],
  ])('%s of %s', (slot, amount, wanted) => {
    expect(amountWords(slot, amount)).toBe(wanted)
  })

  test.each([
    ['mem', '1073741824', '1g'],
    ['mem', '1250000000', '1.16g'],
    ['mem', '0', '0'],
    ['cpu', '0.30000001', '0.3'],
    ['cpu', '2048', '2048'],
  ])('%s of %s, roughly', (slot, amount, wanted) => {
    expect(roughAmount(slot, amount)).toBe(wanted)
  })

  test.each([
    [{ field: 'resourceSlots.mem', before: '4294967296', after: '8589934592' }, 'mem 4g to 8g'],
    [{ field: 'environ.LR', before: null, after: '0.1' }, 'LR = 0.1'],
    [{ field: 'environ.LR', before: '0.1', after: null }, 'without LR'],
    [{ field: 'priority', before: '10', after: '77' }, 'priority 10 to 77'],
  ])('%j', (difference, wanted) => {
    expect(differenceWords(difference)).toBe(wanted)
  })
})
