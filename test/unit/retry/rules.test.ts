import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FailureFacts, firstMatch, globMatches, ruleMatches } from '../../../src/domain/retry/policy/rules.ts'
import { anyRule } from './sessions.ts'
import { checkProperty } from '../../support/seeds.ts'

const FACTS: FailureFacts = {
  cause: 'OOM_KILLED',
  exitCode: 137,
  reasons: ['kernel main1 ran out of memory', 'oom-killed'],
}
const PULL: FailureFacts = { cause: 'IMAGE_PULL_FAILURE', exitCode: null, reasons: ['no such image'] }

describe('one rule', () => {
  it.each([
    ['nothing given', {}, FACTS, true],
    ['cause', { causes: ['OOM_KILLED', 'UNKNOWN'] }, FACTS, true],
    ['another cause', { causes: ['UNKNOWN'] }, FACTS, false],
    ['no cause at all', { causes: [] }, FACTS, false],
    ['code', { exitCodes: [1, 137] }, FACTS, true],
    ['another code', { exitCodes: [1] }, FACTS, false],
    ['code not among', { exitCodesNotIn: [1] }, FACTS, true],
    ['code among', { exitCodesNotIn: [137] }, FACTS, false],
    ['range', { exitCodes: [1, '130-137'] }, FACTS, true],
    ['range that ends before', { exitCodes: ['130-136'] }, FACTS, false],
    ['range that begins after', { exitCodes: ['138-140'] }, FACTS, false],
    ['range not among', { exitCodesNotIn: ['1-136', '138-255'] }, FACTS, true],
    ['range among', { exitCodesNotIn: ['137-140'] }, FACTS, false],
    ['range where there is none', { exitCodes: ['-9-255'] }, PULL, false],
    ['code where there is none', { exitCodes: [0] }, PULL, false],
    ['code not among where there is none', { exitCodesNotIn: [0] }, PULL, false],
    ['reason', { reason: '*out of memory*' }, FACTS, true],
    ["the error's name", { reason: 'oom-*' }, FACTS, true],
    ['a part of the reason', { reason: 'memory' }, FACTS, false],
    ['all of several', { causes: ['OOM_KILLED'], exitCodes: [137], reason: '*' }, FACTS, true],
    ['all but one of several', { causes: ['OOM_KILLED'], exitCodes: [1], reason: '*' }, FACTS, false],
  ] as const)('%s', (_, match, facts, expected) => {
    expect(ruleMatches(match as Parameters<typeof ruleMatches>[0], facts)).toBe(expected)
  })
})

it('the first match decides', () => {
  checkProperty(
    fc.property(fc.array(anyRule, { maxLength: 20 }), (rules) => {
      const index = rules.findIndex((rule) => ruleMatches(rule.match, FACTS))
      expect(firstMatch(rules, FACTS)).toEqual(index < 0 ? null : { index, rule: rules[index] })
    }),
  )
})

describe('glob', () => {
  it.each([
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['?', '', false],
    ['?', '😀', true],
    ['a*b', 'ab', true],
    ['a*b', 'a-b-b', true],
    ['a*b', 'a-b-c', false],
    ['*.*', 'a.b\nc', true],
    ['[a]', 'a', false],
    ['a.c', 'abc', false],
    ['**a', 'ba', true],
    ['a?c*', 'abcde', true],
  ])('%j on %j: %s', (pattern, text, expected) => {
    expect(globMatches(pattern, text)).toBe(expected)
  })

  it('agrees with a regular expression', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 })
    checkProperty(
      fc.property(letters, text, (pattern, given) => {
        const expression = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`)
        expect(globMatches(pattern, given)).toBe(expression.test(given))
      }),
      { numRuns: 1000 },
    )
  })

  it('stays cheap where a regular expression would go astray', () => {
    const before = process.threadCpuUsage()
    expect(globMatches(`${'a*'.repeat(250)}b`, 'a'.repeat(1000))).toBe(false)
    // In CPU time, which does not grow with what else the machine has to do.
    expect(process.threadCpuUsage(before).user).toBeLessThan(1_000_000)
  })
})
