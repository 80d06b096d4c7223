import fc from 'fast-check'
import { expect, it } from 'vitest'
import { EXIT_CODE_MAX, EXIT_CODE_MIN } from '../../../src/domain/limits.ts'
import { exitCodesInclude, parseExitCodes } from '../../../src/domain/retry/policy/exit-codes.ts'
import { parseRetryPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'
import { checkProperty } from '../../support/seeds.ts'

it.each([
  [75, 75],
  ['75', 75],
  ['64-78', '64-78'],
  [' 64 - 78 ', '64-78'],
  ['075-075', 75],
  ['-5--1', '-5--1'],
  ['-5-3', '-5-3'],
  [EXIT_CODE_MIN, EXIT_CODE_MIN],
])('%j is stored as %j', (written, stored) => {
  expect(parseExitCodes(written)).toBe(stored)
})

it.each(['78-64', '64-', '-', '', '64..78', '1,2', '1.5', 1.5, EXIT_CODE_MAX + 1, '0-2147483648', null, [1], true])(
  '%j is refused, with where it stands',
  (written) => {
    const policy = { rules: [{ match: { exitCodes: [1, written] }, action: 'FAIL' }] }
    // Null counts as not given nowhere in a list.
    expect(parseRetryPolicy(policy)).toEqual({
      issues: [{ path: 'rules.0.match.exitCodes.1', message: 'Must be an exit code, or a range of them like 64-78' }],
    })
  },
)

it('a range includes what lies between its ends, and both of them', () => {
  const code = fc.oneof(fc.integer({ min: -300, max: 300 }), fc.integer({ min: EXIT_CODE_MIN, max: EXIT_CODE_MAX }))
  checkProperty(
    fc.property(code, code, code, (a, b, exitCode) => {
      const [first, last] = [Math.min(a, b), Math.max(a, b)]
      const stored = parseExitCodes(`${first}-${last}`)!
      expect(exitCodesInclude([stored], exitCode)).toBe(first <= exitCode && exitCode <= last)
      expect(exitCodesInclude([stored], first) && exitCodesInclude([stored], last)).toBe(true)
      expect(parseExitCodes(stored)).toBe(stored)
    }),
  )
})
