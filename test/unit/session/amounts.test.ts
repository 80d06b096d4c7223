import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeAmount, parseAmount } from '../../../src/domain/amounts.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('parsing', () => {
  it.each([
    ['cpu', '2', '2'],
    ['cpu', 2, '2'],
    ['cpu', 0.5, '0.5'],
    ['cpu', '0', '0'],
    ['cpu', ' 007.50 ', '7.5'],
    ['cpu', 1e-7, '0.0000001'],
    ['cpu', 1e21, '1000000000000000000000'],
    ['mem', '1024', '1024'],
    ['mem', '2g', '2147483648'],
    ['mem', '512M', '536870912'],
    ['mem', '1.5k', '1536'],
    ['mem', '3 t', '3298534883328'],
    ['mem', '512 MiB', '536870912'],
    ['mem', '1.5GiB', '1610612736'],
    ['mem', '4Ki', '4096'],
    ['mem', '0.1g', '107374182'],
    ['cuda.mem', '1k', '1024'],
    ['x', '9'.repeat(30), '9'.repeat(30)],
  ])('%s of %s is %s', (slot, input, amount) => {
    expect(parseAmount(slot, input)).toBe(amount)
  })

  it.each([
    ['cpu', ''],
    ['cpu', '-1'],
    ['cpu', -1],
    ['cpu', -0.5],
    ['cpu', NaN],
    ['cpu', Infinity],
    ['cpu', 'NaN'],
    ['cpu', '1e3'],
    ['cpu', '1.'],
    ['cpu', '.5'],
    ['cpu', '1,5'],
    ['cpu', '0x10'],
    ['cpu', '2g'],
    ['mem', 'g'],
    ['mem', '2gb'],
    ['mem', '2ib'],
    ['mem', 'MiB'],
    ['cpu', '2Ki'],
    ['mem', '2p'],
    ['mem', '-2g'],
    ['x', '9'.repeat(31)],
    ['x', 1e31],
    ['mem', `${'9'.repeat(30)}k`],
    ['x', `0.${'1'.repeat(31)}`],
    ['x', '1'.repeat(1_000_000)],
  ])('%s of %s is no amount', (slot, input) => {
    expect(parseAmount(slot, input)).toBeUndefined()
  })

  it('gives back what it gave', () => {
    const given = fc.tuple(fc.constantFrom('cpu', 'mem'), fc.double({ min: 0, max: 1e15, noNaN: true }))
    checkProperty(
      fc.property(given, ([slot, value]) => {
        const text = parseAmount(slot, value)
        expect(text === undefined ? undefined : parseAmount(slot, text)).toBe(text)
      }),
    )
  })
})

it.each([
  ['mem', '2147483648', '2 GiB'],
  ['mem', '2791728742', '2.6 GiB'],
  ['mem', '1023', '1023 bytes'],
  ['mem', '1536', '1.5 KiB'],
  ['cpu', '0.5', '0.5'],
])('for people, %s of %s is %s', (slot, amount, words) => {
  expect(describeAmount(slot, amount)).toBe(words)
})
