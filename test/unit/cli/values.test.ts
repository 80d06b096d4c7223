import { InvalidArgumentError } from 'commander'
import { describe, expect, test, vi } from 'vitest'
import { parseRule } from '../../../src/cli/options/policy-options.ts'
import { future, oneOf, pair, past, seconds, wholeNumber } from '../../../src/cli/options/values.ts'

describe('durations', () => {
  test.each([
    ['90', 90],
    ['90s', 90],
    ['1.5m', 90],
    ['2h', 7_200],
    ['1d', 86_400],
    ['1w', 604_800],
    ['250ms', 0.25],
  ])('%s', (text, expected) => expect(seconds(text)).toBe(expected))

  test.each(['', '-1', '1 h', '1y', 'h', '1e3', 'Infinity'])('not %j', (text) => {
    expect(() => seconds(text)).toThrow(InvalidArgumentError)
  })
})

test('times: as they are, or so long ago or from now', () => {
  vi.useFakeTimers({ now: new Date('2026-11-21T12:00:00Z') })
  expect(past('2h')).toBe('2026-11-21T10:00:00.000Z')
  expect(future('2h')).toBe('2026-11-21T14:00:00.000Z')
  expect(past('2026-01-31T00:00:00+01:00')).toBe('2026-01-30T23:00:00.000Z')
  vi.useRealTimers()
  for (const text of ['yesterday', '12', '2026-99-01', '']) expect(() => past(text)).toThrow(InvalidArgumentError)
})

test('pairs, words, numbers', () => {
  expect(pair('A=b=c')).toEqual(['A', 'b=c'])
  expect(pair('A=')).toEqual(['A', ''])
  expect(() => pair('=b')).toThrow(InvalidArgumentError)
  expect(oneOf('oom-killed', ['OOM_KILLED', 'UNKNOWN'])).toBe('OOM_KILLED')
  expect(oneOf('OOM_KILLED', ['OOM_KILLED', 'UNKNOWN'])).toBe('OOM_KILLED')
  expect(() => oneOf('oom', ['OOM_KILLED', 'UNKNOWN'])).toThrow('Allowed values are oom-killed, unknown.')
  expect(() => wholeNumber('1.5')).toThrow(InvalidArgumentError)
})

describe('rules', () => {
  test('all words', () => {
    const text =
      'retry cause=oom-killed,unknown exit=137,64-78 exit-not=1,100-120 reason=*CUDA* delay=5m scale=mem:2:64g scale=cpu:1.5 timeout=1.5:4h avoid=agent'
    expect(parseRule(text)).toEqual({
      action: 'RETRY',
      match: {
        causes: ['OOM_KILLED', 'UNKNOWN'],
        exitCodes: [137, '64-78'],
        exitCodesNotIn: [1, '100-120'],
        reason: '*CUDA*',
      },
      delay: 300,
      scaleResources: [
        { slot: 'mem', factor: 2, max: '64g' },
        { slot: 'cpu', factor: 1.5, max: null },
      ],
      scaleTimeout: { factor: 1.5, max: 14_400 },
      avoid: 'AGENT',
    })
  })

  test('JSON, as it is', () => {
    expect(parseRule('{"action": "FAIL", "match": {}}')).toEqual({ action: 'FAIL', match: {} })
  })

  test.each([
    '',
    'again',
    'retry cause=tired',
    'retry colour=red',
    'retry exit=x',
    'retry exit=64-',
    'retry constructor=1',
    '{"action"',
  ])('not %j', (text) => {
    expect(() => parseRule(text)).toThrow(InvalidArgumentError)
  })
})
