import { expect, test } from 'vitest'
import { readSlots, slotWords } from '../../../src/ui/words/numbers.ts'

test.each([
  ['cpu', '8', '8'],
  ['cpu', '0.5', '0.5'],
  ['mem', '68719476736', '64g'],
  ['mem', '1536', '1536'],
  ['mem', '0', '0'],
  ['mem', '1099511627776', '1t'],
])('%s %s is typed as %s', (slot, amount, words) => {
  expect(slotWords(slot, amount)).toBe(words)
})

test('pairs are read in any notation; one without an amount is kept, for the server to refuse', () => {
  expect(readSlots('cpu 8, mem=64g\ncuda.device: 2,,lots')).toEqual([
    { slot: 'cpu', amount: '8' },
    { slot: 'mem', amount: '64g' },
    { slot: 'cuda.device', amount: '2' },
    { slot: 'lots', amount: '' },
  ])
})
