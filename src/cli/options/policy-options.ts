import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { FailureCause, RetryPolicyInput, RetryRuleInput } from '../../client/node/index.ts'
import { UsageError } from '../present-error.ts'
import { parseRule, RULE_SYNTAX } from './rule.ts'
import { choice, choices, decimal, nullForNone, orNone, seconds, wholeNumber, type None } from './values.ts'
import { BACKOFFS, CAUSES, JITTERS, PRESETS } from './api-enums.ts'

export interface PolicyOptions {
  retries?: number
  retryDelay?: number
  backoff?: RetryPolicyInput['backoff']
  backoffMultiplier?: number
  maxRetryDelay?: number | None
  jitter?: RetryPolicyInput['jitter']
  jitterRatio?: number
  retryOn?: FailureCause[]
  maxElapsed?: number | None
  uncountedPreStart?: true
  maxUncountedRetries?: number
  ignoreVerdicts?: true
  preset?: RetryPolicyInput['preset']
  rule?: RetryRuleInput[]
  policy?: string
}

export function addPolicyOptions(command: Command): Command {
  return command
    .optionsGroup('Retry policy (durations like 30, 90s, 5m, 2h):')
    .option('--retries <n>', 'number of retries; total attempts are one more', wholeNumber)
    .option('--retry-delay <duration>', 'delay before the first retry', seconds)
    .addOption(choice('--backoff <kind>', 'how delays grow', BACKOFFS))
    .option('--backoff-multiplier <factor>', 'factor from each delay to the next', decimal)
    .option('--max-retry-delay <duration>', 'longest delay; `none` means 24 h', orNone(seconds))
    .addOption(choice('--jitter <kind>', 'random part of a delay, which spreads retries', JITTERS))
    .option('--jitter-ratio <share>', 'up to this share of the delay, 0 to 1', decimal)
    .addOption(choices('--retry-on <causes>', 'causes to retry, separated by commas', CAUSES))
    .option(
      '--max-elapsed <duration>',
      'no retry starts later than this after the first attempt; `none`: no limit',
      orNone(seconds),
    )
    .option('--uncounted-pre-start', 'attempts that failed before the work started use up no retry')
    .option('--max-uncounted-retries <n>', 'limit on such uncounted retries', wholeNumber)
    .option('--ignore-verdicts', 'what programs ask for in their verdict files is not followed')
    .addOption(choice('--preset <name>', 'policy to start from', PRESETS))
    .option('--rule <rule>', 'a rule, see below; may be repeated', (text, earlier?: RetryRuleInput[]) => [
      ...(earlier ?? []),
      parseRule(text),
    ])
    .option('--policy <file>', 'policy as JSON, `-` for standard input; the options above override it')
    .addHelpText('after', `\n${RULE_SYNTAX}`)
}

/** The policy given by the options; undefined if there are none. @throws UsageError */
export function readPolicy(options: PolicyOptions): RetryPolicyInput | undefined {
  const stated: RetryPolicyInput = {
    maxRetries: options.retries,
    retryDelay: options.retryDelay,
    backoff: options.backoff,
    backoffMultiplier: options.backoffMultiplier,
    maxRetryDelay: nullForNone(options.maxRetryDelay),
    jitter: options.jitter,
    jitterRatio: options.jitterRatio,
    eligibleCauses: options.retryOn,
    maxElapsed: nullForNone(options.maxElapsed),
    countPreStartFailures: options.uncountedPreStart === undefined ? undefined : false,
    maxUncountedRetries: options.maxUncountedRetries,
    trustVerdicts: options.ignoreVerdicts === undefined ? undefined : false,
    preset: options.preset,
    rules: options.rule,
  }
  // Null was given explicitly; undefined was not given.
  const given = Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== undefined))
  if (options.policy === undefined) return Object.keys(given).length === 0 ? undefined : given
  return { ...readJson<RetryPolicyInput>(options.policy, '--policy'), ...given }
}

/** @throws UsageError */
export function readJson<Value extends object>(path: string, option: string): Value {
  try {
    const value: unknown = JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Value
  } catch (error) {
    throw new UsageError(`${option} ${path}: ${(error as Error).message}`)
  }
  throw new UsageError(`${option} ${path}: not a JSON object`)
}
