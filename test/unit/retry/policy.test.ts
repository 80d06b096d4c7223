import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type RetryPolicy, SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import { overlayPolicy, PRESETS, resolvePolicy } from '../../../src/domain/retry/policy/resolve-policy.ts'
import { type FailureFacts, firstMatch, globMatches, ruleMatches } from '../../../src/domain/retry/policy/rules.ts'
import { parseRetryPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'
import { checkProperty } from '../../support/seeds.ts'
import { anyPolicy, anyRule } from './sessions.ts'

describe('policies', () => {
  describe('parsing', () => {
    it.each([
      [{}, {}],
      [
        { maxRetries: 0, rules: [], emitRetryEvents: false },
        { maxRetries: 0, rules: [], emitRetryEvents: false },
      ],
      [{ maxRetries: null, jitter: undefined, rules: null }, {}],
      [
        { maxRetryDelay: null, maxElapsed: null },
        { maxRetryDelay: null, maxElapsed: null },
      ],
      [{ eligibleCauses: ['UNKNOWN', 'OOM_KILLED', 'UNKNOWN'] }, { eligibleCauses: ['OOM_KILLED', 'UNKNOWN'] }],
      [{ eligibleCauses: [] }, { eligibleCauses: [] }],
      [
        { rules: [{ match: { causes: null, exitCodes: [1] }, action: 'FAIL', delay: null, avoid: null }] },
        { rules: [{ match: { exitCodes: [1] }, action: 'FAIL' }] },
      ],
      [
        {
          rules: [{ match: {}, action: 'RETRY', delay: 0, scaleResources: [{ slot: 'mem', factor: 1.3, max: '2g' }] }],
        },
        {
          rules: [
            { match: {}, action: 'RETRY', delay: 0, scaleResources: [{ slot: 'mem', factor: 1.3, max: '2147483648' }] },
          ],
        },
      ],
      [
        { rules: [{ match: {}, action: 'RETRY', scaleGpuMemory: { factor: 2, max: '80g' } }] },
        { rules: [{ match: {}, action: 'RETRY', scaleGpuMemory: { factor: 2, max: '85899345920' } }] },
      ],
      [
        { rules: [{ match: {}, action: 'RETRY', scaleResources: [{ slot: 'mem', from: 'PEAK', factor: 2 }] }] },
        { rules: [{ match: {}, action: 'RETRY', scaleResources: [{ slot: 'mem', from: 'PEAK', factor: 2 }] }] },
      ],
      [{ delays: ['20s', '1.5m', ' 2 h ', '1d', '8', 0, 0.5] }, { delays: [20, 90, 7200, 86_400, 8, 0, 0.5] }],
      [{ delays: null }, { delays: null }],
    ])('%j', (input, policy) => {
      expect(parseRetryPolicy(input)).toEqual({ policy })
    })

    it.each([
      [null, ['']],
      [[], ['']],
      [{ maxRetries: -1 }, ['maxRetries']],
      [{ maxRetries: 101 }, ['maxRetries']],
      [{ maxRetries: 1.5 }, ['maxRetries']],
      [{ maxRetries: '3' }, ['maxRetries']],
      [{ retryDelay: 0 }, ['retryDelay']],
      [{ retryDelay: Infinity }, ['retryDelay']],
      [{ backoffMultiplier: NaN }, ['backoffMultiplier']],
      [{ maxRetryDelay: 0 }, ['maxRetryDelay']],
      [{ maxElapsed: -1 }, ['maxElapsed']],
      [{ delays: [] }, ['delays']],
      [{ delays: Array.from({ length: 101 }, () => 1) }, ['delays']],
      [{ delays: '20s' }, ['delays']],
      [
        { delays: ['20s', '20 parsecs', -1, 86_401, '25h', null, NaN, ''] },
        [1, 2, 3, 4, 5, 6, 7].map((at) => `delays.${at}`),
      ],
      [
        { rules: [{ match: {}, action: 'RETRY', scaleResources: [{ slot: 'mem', from: 'MEAN', factor: 2 }] }] },
        ['rules.0.scaleResources.0.from'],
      ],
      [{ jitterRatio: 1.01 }, ['jitterRatio']],
      [{ jitter: 'SOME', backoff: 'LINEAR' }, ['backoff', 'jitter']],
      [{ eligibleCauses: ['USER_CANCELLED'] }, ['eligibleCauses.0']],
      [{ eligibleCauses: [null] }, ['eligibleCauses.0']],
      [{ max_retries: 3, retries: 1 }, ['max_retries', 'retries']],
      [{ maxUncountedRetries: 101 }, ['maxUncountedRetries']],
      [{ rules: Array.from({ length: 21 }, () => ({ match: {}, action: 'RETRY' })) }, ['rules']],
      [{ rules: [{ action: 'RETRY' }, { match: {} }] }, ['rules.0.match', 'rules.1.action']],
      [{ rules: [{ action: 'FAIL', delay: 1 }] }, ['rules.0.delay', 'rules.0.match']],
      [{ rules: [{ match: { exitCode: 1 }, action: 'RETRY' }] }, ['rules.0.match.exitCode']],
      [
        { rules: [{ match: {}, action: 'FAIL', delay: -1, avoid: 'AGENT' }] },
        ['rules.0.avoid', 'rules.0.delay', 'rules.0.delay'],
      ],
      [{ rules: [{ match: {}, action: 'RETRY', scaleTimeout: { factor: 0 } }] }, ['rules.0.scaleTimeout.factor']],
      [
        { rules: [{ match: {}, action: 'RETRY', scaleGpuMemory: { factor: 0, max: '80 GB' } }] },
        ['rules.0.scaleGpuMemory.factor'],
      ],
      [
        { rules: [{ match: {}, action: 'RETRY', scaleGpuMemory: { factor: 2, max: '80 GB' } }] },
        ['rules.0.scaleGpuMemory.max'],
      ],
      [{ rules: [{ match: {}, action: 'FAIL', scaleGpuMemory: { factor: 2 } }] }, ['rules.0.scaleGpuMemory']],
      [
        { rules: [{ match: {}, action: 'RETRY', scaleResources: [{ slot: 'cpu', factor: 2, max: '2g' }] }] },
        ['rules.0.scaleResources.0.max'],
      ],
      [
        {
          rules: [
            {
              match: {},
              action: 'RETRY',
              scaleResources: [
                { slot: 'cpu', factor: 2 },
                { slot: 'cpu', factor: 3 },
              ],
            },
          ],
        },
        ['rules.0.scaleResources'],
      ],
      [
        { maxRetries: -1, retryDelay: -1, rules: [{ match: {}, action: 'NO' }] },
        ['maxRetries', 'retryDelay', 'rules.0.action'],
      ],
    ])('reports every fault of %j', (input, paths) => {
      const parsed = parseRetryPolicy(input)
      expect('issues' in parsed && parsed.issues.map((issue) => issue.path).toSorted()).toEqual(paths)
    })

    it('its output is valid input', () => {
      checkProperty(
        fc.property(anyPolicy, (policy) => {
          const parsed = parseRetryPolicy(policy)
          expect(parsed).toHaveProperty('policy')
          expect(parseRetryPolicy(JSON.parse(JSON.stringify('policy' in parsed && parsed.policy)))).toEqual(parsed)
        }),
      )
    })

    it('has an answer to everything', () => {
      const anything = fc.anything({ withNullPrototype: true })
      const fields = Object.fromEntries(['preset', ...Object.keys(SHIPPED_POLICY)].map((field) => [field, anything]))
      const rule = fc.record({ match: anything, action: anything, scaleResources: anything })
      const input = fc.oneof(anything, fc.record({ ...fields, rules: fc.array(rule) }, { requiredKeys: [] }))
      checkProperty(
        fc.property(input, (given) => {
          const parsed = parseRetryPolicy(given)
          expect('policy' in parsed || parsed.issues.length > 0).toBe(true)
        }),
      )
    })
  })

  describe('a preset', () => {
    const preset = 'CMS_EXIT_CODES'
    const fields = PRESETS[preset]

    it('gives its fields, and not its name', () => {
      expect(parseRetryPolicy({ preset })).toEqual({ policy: fields })
      expect(parseRetryPolicy({ preset: null })).toEqual({ policy: {} })
    })

    it('yields to explicit fields; rules are taken as a whole', () => {
      const given = { maxRetries: 0, jitter: 'RANDOM', maxElapsed: null, rules: [] }
      expect(parseRetryPolicy({ preset, ...given })).toEqual({ policy: { ...fields, ...given } })
      expect(parseRetryPolicy({ preset, maxRetries: null })).toEqual({ policy: fields })
    })

    it('belongs to its own layer', () => {
      const parsed = parseRetryPolicy({ preset })
      const policy = 'policy' in parsed ? parsed.policy : null
      const project = { source: 'PROJECT' as const, policy: { maxRetries: 2, backoffMultiplier: 3 } }
      const overProject = resolvePolicy([project, { source: 'SESSION', policy }])
      expect(overProject.policy).toMatchObject({ maxRetries: 9, backoffMultiplier: 3 })
      expect(overProject.sources).toMatchObject({
        maxRetries: 'SESSION',
        rules: 'SESSION',
        backoffMultiplier: 'PROJECT',
      })
      const underProject = resolvePolicy([project, { source: 'CLUSTER', policy }])
      expect(underProject.policy).toMatchObject({ maxRetries: 2, rules: fields.rules })
    })

    it('is known', () => {
      expect(parseRetryPolicy({ preset: 'cms', maxRetries: -1 })).toMatchObject({
        issues: [{ path: 'preset' }, { path: 'maxRetries' }],
      })
      expect(parseRetryPolicy({ preset: 'toString' })).toMatchObject({ issues: [{ path: 'preset' }] })
    })

    it.each(Object.entries(PRESETS))('%s is a policy', (_name, policy) => {
      expect(parseRetryPolicy(policy)).toEqual({ policy })
    })
  })

  describe('resolving', () => {
    it('ships no retries', () => {
      const { policy, sources } = resolvePolicy([])
      expect(policy).toEqual(SHIPPED_POLICY)
      expect(new Set(Object.values(sources))).toEqual(new Set(['SHIPPED']))
    })

    it('retries programs that hang if their time without progress is limited, unless somebody lists the causes', () => {
      const causesOf = (layers: Parameters<typeof resolvePolicy>[0]) => resolvePolicy(layers).policy.eligibleCauses
      const limited = { source: 'PROJECT', policy: { progressTimeout: 600 } } as const
      expect(causesOf([])).not.toContain('HUNG')
      expect(causesOf([limited])).toEqual([...SHIPPED_POLICY.eligibleCauses, 'HUNG'])
      expect(causesOf([limited, { source: 'SESSION', policy: { progressTimeout: null } }])).not.toContain('HUNG')
      expect(causesOf([limited, { source: 'DOMAIN', policy: { eligibleCauses: ['UNKNOWN'] } }])).toEqual(['UNKNOWN'])
      const later = overlayPolicy(resolvePolicy([]), { progressTimeout: 60 })
      expect(later.policy.eligibleCauses).toContain('HUNG')
      expect(overlayPolicy(later, { progressTimeout: null }).policy.eligibleCauses).not.toContain('HUNG')
    })

    it('takes each field from the strongest layer that gives it', () => {
      const { policy, sources } = resolvePolicy([
        { source: 'CLUSTER', policy: { maxRetries: 5, retryDelay: 1, jitter: 'NONE', maxElapsed: 9 } },
        { source: 'SESSION', policy: { maxRetries: 0, maxElapsed: null, eligibleCauses: [], emitRetryEvents: false } },
        { source: 'DOMAIN', policy: { retryDelay: 3, emitRetryEvents: true, backoff: undefined } },
        { source: 'PROJECT', policy: null },
      ])
      expect(policy).toEqual({
        ...SHIPPED_POLICY,
        maxRetries: 0,
        maxElapsed: null,
        eligibleCauses: [],
        emitRetryEvents: false,
        retryDelay: 3,
        jitter: 'NONE',
      })
      expect(sources).toMatchObject({
        maxRetries: 'SESSION',
        maxElapsed: 'SESSION',
        retryDelay: 'DOMAIN',
        jitter: 'CLUSTER',
      })
      expect(sources.backoff).toBe('SHIPPED')
    })

    describe('a table of delays', () => {
      const of = (session: Partial<RetryPolicy>, project: Partial<RetryPolicy> = {}) => {
        const { policy, sources } = resolvePolicy([
          { source: 'SESSION', policy: session },
          { source: 'PROJECT', policy: project },
        ])
        return [policy.maxRetries, sources.maxRetries, policy.jitter, sources.jitter]
      }

      it.each<[string, Partial<RetryPolicy>, Partial<RetryPolicy>, unknown[]]>([
        ['is the budget, and exact', { delays: [1, 2, 3] }, {}, [3, 'SESSION', 'NONE', 'SESSION']],
        [
          'goes before the budget and the jitter of a weaker layer',
          { delays: [1, 2, 3] },
          { maxRetries: 9, jitter: 'FULL' },
          [3, 'SESSION', 'NONE', 'SESSION'],
        ],
        [
          'yields to the budget and the jitter that are given with it',
          { delays: [1, 2, 3], maxRetries: 0, jitter: 'RANDOM' },
          {},
          [0, 'SESSION', 'RANDOM', 'SESSION'],
        ],
        ['yields to a stronger layer', { maxRetries: 1 }, { delays: [1, 2] }, [1, 'SESSION', 'NONE', 'PROJECT']],
        [
          'is replaced by the formula if it is null',
          { delays: null },
          { delays: [1, 2] },
          [2, 'PROJECT', 'NONE', 'PROJECT'],
        ],
      ])('%s', (_, session, project, expected) => {
        expect(of(session, project)).toEqual(expected)
      })
    })

    it('takes rules as a whole', () => {
      const project = [{ match: {}, action: 'FAIL' as const }]
      const resolve = (rules: [] | undefined) =>
        resolvePolicy([
          { source: 'SESSION', policy: { rules } },
          { source: 'PROJECT', policy: { rules: project } },
        ])
      expect(resolve([]).policy.rules).toEqual([])
      expect(resolve(undefined)).toMatchObject({ policy: { rules: project }, sources: { rules: 'PROJECT' } })
    })
  })
})

describe('rules', () => {
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
})
