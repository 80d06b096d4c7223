import { Command, InvalidArgumentError } from 'commander'
import { describe, expect, test, vi } from 'vitest'
import {
  addPolicyOptions,
  parseRule,
  type PolicyOptions,
  readPolicy,
  RETRIABLE_CAUSES,
} from '../../src/cli/options/policy-options.ts'
import { addSessionOptions, sessionInput, type SessionOptions } from '../../src/cli/options/session-options.ts'
import { future, jobArray, oneOf, pair, past, seconds, wholeNumber } from '../../src/cli/options/values.ts'
import { ELIGIBLE_CAUSES } from '../../src/domain/session/failure.ts'

describe('options of the retry policy', () => {
  function policyOf(...words: string[]) {
    const command = addPolicyOptions(new Command('create')).parse(words, { from: 'user' })
    return readPolicy(command.opts<PolicyOptions>())
  }

  describe('the options of a policy', () => {
    test.each([
      ['--retries 0', { maxRetries: 0 }],
      ['--retry-delay 5m', { retryDelay: 300 }],
      ['--backoff exponential --backoff-multiplier 1.5', { backoff: 'EXPONENTIAL', backoffMultiplier: 1.5 }],
      ['--max-retry-delay none --max-elapsed 2h', { maxRetryDelay: null, maxElapsed: 7200 }],
      ['--max-retry-delay 90 --max-elapsed none', { maxRetryDelay: 90, maxElapsed: null }],
      ['--jitter full --jitter-ratio 0', { jitter: 'FULL', jitterRatio: 0 }],
      [
        '--retry-on oom-killed,unknown --retry-on agent-transient',
        { eligibleCauses: ['OOM_KILLED', 'UNKNOWN', 'AGENT_TRANSIENT'] },
      ],
      ['--uncounted-pre-start --max-uncounted-retries 3', { countPreStartFailures: false, maxUncountedRetries: 3 }],
      ['--ignore-verdicts', { trustVerdicts: false }],
      ['--follow-tag', { pinImage: false }],
      ['--delays 20s,5m,1.5h,8', { delays: [20, 300, 5400, 8] }],
      ['--delays none', { delays: null }],
      ['--ignore-oom', { oomIsFailure: false }],
      ['--checkpoint require --checkpoint-wait 2h', { checkpoint: 'REQUIRE', checkpointWait: 7200 }],
      ['--preset cms-exit-codes', { preset: 'CMS_EXIT_CODES' }],
    ])('%s', (words, policy) => {
      expect(policyOf(...words.split(' '))).toEqual(policy)
    })

    test('--retry-on offers the causes that can be retried', () => {
      expect(RETRIABLE_CAUSES).toEqual(ELIGIBLE_CAUSES)
      const refused = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
      const command = addPolicyOptions(new Command('create').exitOverride())
      expect(() => command.parse(['--retry-on', 'user-cancelled'], { from: 'user' })).toThrow(/Allowed.*oom-killed/)
      refused.mockRestore()
    })

    test('rules are taken in their order', () => {
      const rules = policyOf('--rule', 'retry exit=75', '--rule', 'fail')?.rules
      expect(rules?.map(({ action }) => action)).toEqual(['RETRY', 'FAIL'])
    })

    test('none of them is no policy', () => expect(policyOf()).toBeUndefined())
  })
})

describe('options of sessions', () => {
  test('agents are named, avoided, excluded, and selected by labels', () => {
    const command = addSessionOptions(new Command('create').argument('<program...>'))
    const agents = ['--allow-agent', 'a', '--avoid-agent', 'b', '--exclude-agent', 'c', '--exclude-agent', 'd']
    const labels = ['--agent-label', 'zone=x', '--agent-label', 'disk=ssd']
    command.parse([...agents, ...labels, '--', 'true'], { from: 'user' })
    expect(sessionInput(command.opts<SessionOptions>(), ['true'])).toMatchObject({
      allowAgents: ['a'],
      avoidAgents: ['b'],
      excludeAgents: ['c', 'd'],
      agentLabels: [
        { key: 'zone', value: 'x' },
        { key: 'disk', value: 'ssd' },
      ],
    })
  })

  test('executor options are parsed', () => {
    const command = addSessionOptions(new Command('create').argument('<program...>'))
    const options = ['--executor-option', 'qos=high', '--executor-option', 'constraint=a=b']
    command.parse([...options, '--', 'true'], { from: 'user' })
    expect(sessionInput(command.opts<SessionOptions>(), ['true']).executorOptions).toEqual([
      { key: 'qos', value: 'high' },
      { key: 'constraint', value: 'a=b' },
    ])
  })

  test('a concurrency key and its limit are parsed', () => {
    const command = addSessionOptions(new Command('create').argument('<program...>'))
    command.parse(['--concurrency-key', 'customer-7', '--concurrency-limit', '2', '--', 'true'], { from: 'user' })
    expect(sessionInput(command.opts<SessionOptions>(), ['true'])).toMatchObject({
      concurrencyKey: 'customer-7',
      concurrencyLimit: 2,
    })
  })
})

describe('values of options', () => {
  describe('durations', () => {
    test.each([
      ['90', 90],
      ['90s', 90],
      ['1.5m', 90],
      ['2h', 7_200],
      ['1d', 86_400],
      ['1w', 604_800],
      ['250ms', 0.25],
      ['1h30m', 5_400],
      ['1w2d3h4m5s6ms', 788_645.006],
      ['1d12h', 129_600],
      ['1.5h30s', 5_430],
      ['1.1s2ms', 1.102],
    ])('%s', (text, expected) => expect(seconds(text)).toBe(expected))

    test.each(['', '-1', '1 h', '1y', 'h', '1e3', 'Infinity', '30m1h', '1h1h', '1h30', '1h 30m', 'h30m'])(
      'not %j',
      (text) => {
        expect(() => seconds(text)).toThrow(InvalidArgumentError)
      },
    )
  })

  test('times: absolute, or relative to now', () => {
    vi.useFakeTimers({ now: new Date('2026-11-21T12:00:00Z') })
    expect(past('2h')).toBe('2026-11-21T10:00:00.000Z')
    expect(future('2h')).toBe('2026-11-21T14:00:00.000Z')
    expect(past('2026-01-31T00:00:00+01:00')).toBe('2026-01-30T23:00:00.000Z')
    vi.useRealTimers()
    for (const text of ['yesterday', '12', '2026-99-01', '']) expect(() => past(text)).toThrow(InvalidArgumentError)
  })

  describe('days and times that do not exist', () => {
    test.each(['2027-02-29', '2027-02-30', '2027-04-31T10:00:00Z', '2027-02-30T00:00+01:00', '2100-02-29 08:00'])(
      '%s is no day',
      (text) => {
        expect(() => future(text)).toThrow('no such day')
        expect(() => past(text)).toThrow('no such day')
      },
    )

    test.each(['2027-01-01T24:00', '2027-01-01T12:60Z', '2027-1-1', '2027', '2027-01-01T10:00 CET', '12:00'])(
      '%s is no time',
      (text) => expect(() => future(text)).toThrow('neither a time'),
    )

    test('a time that the clocks skip', () => {
      vi.stubEnv('TZ', 'Europe/Berlin')
      expect(() => future('2027-03-28T02:30')).toThrow('the clocks are put forward')
      expect(future('2027-03-28T03:30')).toBe('2027-03-28T01:30:00.000Z')
      expect(future('2027-03-28T02:30Z')).toBe('2027-03-28T02:30:00.000Z')
      vi.unstubAllEnvs()
    })

    test('the leap days, and days alone', () => {
      expect(future('2028-02-29')).toBe('2028-02-29T00:00:00.000Z')
      expect(future('2000-02-29T01:00+0100')).toBe('2000-02-29T00:00:00.000Z')
    })
  })

  describe('arrays', () => {
    test.each([
      ['3', [3], undefined],
      ['1..3', [1, 2, 3], undefined],
      ['1-3', [1, 2, 3], undefined],
      ['0-30:10', [0, 10, 20, 30], undefined],
      ['1-10:4', [1, 5, 9], undefined],
      ['5,1,5,2-3', [5, 1, 2, 3], undefined],
      ['1-3,20,30-40:5%50', [1, 2, 3, 20, 30, 35, 40], 50],
      [' 1, 2 % 1 ', [1, 2], 1],
    ])('%s', (text, numbers, limit) => expect(jobArray(text)).toEqual({ numbers, limit }))

    test.each(['', 'x', '3-1', '1-', '-1', '1-5:0', '1%0', '1%', '1,,2', '1:2', '1-3%2,5', '1..', '1.5'])(
      'not %j',
      (text) => expect(() => jobArray(text)).toThrow(InvalidArgumentError),
    )

    test('the size is limited before the numbers are listed', () => {
      expect(jobArray('1-100000').numbers).toHaveLength(100_000)
      expect(() => jobArray('1-999999999999999')).toThrow('at most 100000')
    })
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
        'retry cause=oom-killed,unknown exit=137,64-78 exit-not=1,100-120 reason=*CUDA* delay=5m scale=mem:2:64g scale=cpu:1.5 scale-peak=gpu:2:4 gpu-memory=2:80g timeout=1.5:4h avoid=agent'
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
          { slot: 'gpu', from: 'PEAK', factor: 2, max: '4' },
        ],
        scaleGpuMemory: { factor: 2, max: '80g' },
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
})
