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
import { future, oneOf, pair, past, seconds, wholeNumber } from '../../src/cli/options/values.ts'
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
    ])('%s', (text, expected) => expect(seconds(text)).toBe(expected))

    test.each(['', '-1', '1 h', '1y', 'h', '1e3', 'Infinity'])('not %j', (text) => {
      expect(() => seconds(text)).toThrow(InvalidArgumentError)
    })
  })

  test('times: absolute, or relative to now', () => {
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
})
