import { readFileSync } from 'node:fs'
import { Option, type Command } from 'commander'
import type { RetryPolicyInput, RetryRuleInput } from '../../client/node/index.ts'
import { UsageError } from '../present-error.ts'
import { parseRule, RULE_SYNTAX } from './rule.ts'
import { choice, choices, decimal, nullForNone, orNone, seconds, wholeNumber } from './values.ts'
import { API_ENUMS } from './api-enums.generated.ts'

/** Beside the file, the values of the options below, under their names. */
export interface PolicyOptions {
  policy?: string
}

/** Which option gives a field. Only a file can say that there are no events. */
function optionsByField(): Readonly<Record<Exclude<keyof RetryPolicyInput, 'emitRetryEvents'>, Option>> {
  return {
    maxRetries: valued('--retries <n>', 'number of retries; total attempts are one more', wholeNumber),
    retryDelay: valued('--retry-delay <duration>', 'delay before the first retry', seconds),
    backoff: choice('--backoff <kind>', 'how delays grow', API_ENUMS.RetryBackoff),
    backoffMultiplier: valued('--backoff-multiplier <factor>', 'factor from each delay to the next', decimal),
    maxRetryDelay: valued('--max-retry-delay <duration>', 'longest delay; `none` means 24 h', orNone(seconds)),
    jitter: choice('--jitter <kind>', 'random part of a delay, which spreads retries', API_ENUMS.RetryJitter),
    jitterRatio: valued('--jitter-ratio <share>', 'up to this share of the delay, 0 to 1', decimal),
    eligibleCauses: choices('--retry-on <causes>', 'causes to retry, separated by commas', API_ENUMS.FailureCause),
    maxElapsed: valued(
      '--max-elapsed <duration>',
      'no retry starts later than this after the first attempt; `none`: no limit',
      orNone(seconds),
    ),
    countPreStartFailures: switchOff(
      '--uncounted-pre-start',
      'attempts that failed before the work started use up no retry',
    ),
    maxUncountedRetries: valued('--max-uncounted-retries <n>', 'limit on such uncounted retries', wholeNumber),
    trustVerdicts: switchOff('--ignore-verdicts', 'what programs ask for in their verdict files is not followed'),
    checkpoint: choice('--checkpoint <wish>', 'whether retries go where the checkpoint is', API_ENUMS.CheckpointWish),
    checkpointWait: valued('--checkpoint-wait <duration>', 'how long they wait for it if it is required', seconds),
    pinImage: switchOff('--follow-tag', 'retries run what the tag of the image stands for by then'),
    preset: choice('--preset <name>', 'policy to start from', API_ENUMS.RetryPolicyPreset),
    rules: valued('--rule <rule>', 'a rule, see below; may be repeated', (text, earlier?: RetryRuleInput[]) => [
      ...(earlier ?? []),
      parseRule(text),
    ]),
  }
}

export function addPolicyOptions(command: Command): Command {
  command.optionsGroup('Retry policy (durations like 30, 90s, 5m, 2h):')
  for (const each of Object.values(optionsByField())) command.addOption(each)
  return command
    .option('--policy <file>', 'policy as JSON, `-` for standard input; the options above override it')
    .addHelpText('after', `\n${RULE_SYNTAX}`)
}

/** The policy given by the options; undefined if there are none. @throws UsageError */
export function readPolicy(options: PolicyOptions): RetryPolicyInput | undefined {
  const values = new Map(Object.entries(options))
  const stated = Object.entries(optionsByField()).map(([field, each]) => {
    return [field, nullForNone(values.get(each.attributeName()))] as const
  })
  // Null was given explicitly; undefined was not given.
  const given: RetryPolicyInput = Object.fromEntries(stated.filter(([, value]) => value !== undefined))
  if (options.policy === undefined) return Object.keys(given).length === 0 ? undefined : given
  return { ...readJson<RetryPolicyInput>(options.policy, '--policy'), ...given }
}

function valued<Value>(flags: string, description: string, parse: (text: string, earlier?: Value) => Value): Option {
  return new Option(flags, description).argParser<Value>(parse)
}

/** An option without a value that makes its field false. */
function switchOff(flags: string, description: string): Option {
  return new Option(flags, description).preset(false)
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
