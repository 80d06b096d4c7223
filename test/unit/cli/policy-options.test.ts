import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { addPolicyOptions, readPolicy, type PolicyOptions } from '../../../src/cli/options/policy-options.ts'

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
    ['--checkpoint require --checkpoint-wait 2h', { checkpoint: 'REQUIRE', checkpointWait: 7200 }],
    ['--preset cms-exit-codes', { preset: 'CMS_EXIT_CODES' }],
  ])('%s', (words, policy) => {
    expect(policyOf(...words.split(' '))).toEqual(policy)
  })

  test('rules are taken in their order', () => {
    const rules = policyOf('--rule', 'retry exit=75', '--rule', 'fail')?.rules
    expect(rules?.map(({ action }) => action)).toEqual(['RETRY', 'FAIL'])
  })

  test('none of them is no policy', () => expect(policyOf()).toBeUndefined())
})
