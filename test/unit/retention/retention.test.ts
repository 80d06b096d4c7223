import { expect, test } from 'vitest'
import { isBounded, parseRetention } from '../../../src/domain/retention.ts'

test.each([
  ['forever', null, null],
  ['12h', 43_200, null],
  ['90d', 7_776_000, null],
  ['2w', 1_209_600, null],
  ['1y', 31_536_000, null],
  ['100000', null, 100_000],
  ['0', null, 0],
  ['90d,1000', 7_776_000, 1_000],
  ['1000, 90d', 7_776_000, 1_000],
])('%s', (text, ageSeconds, count) => {
  expect(parseRetention(text)).toEqual({ ageSeconds, count })
})

test.each(['', '0d', '90', '90 d', '90m', '-1', '1.5d', '90d,30d', '10,20', 'forever,10', '90d,', '1e9', '999999y'])(
  '%s',
  (text) => {
    const parsed = parseRetention(text)
    expect(text === '90' ? parsed : (parsed ?? 'refused')).toEqual(
      text === '90' ? { ageSeconds: null, count: 90 } : 'refused',
    )
  },
)

test('forever bounds nothing, 0 does', () => {
  expect(isBounded(parseRetention('forever')!)).toBe(false)
  expect(isBounded(parseRetention('0')!)).toBe(true)
})
