import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { FailureCause, RetryPolicyInput, RetryRuleInput } from '../../client/node/index.ts'
import { UsageError } from '../present-error.ts'
import { choice, choices, decimal, nullForNone, oneOf, orNone, pair, seconds, wholeNumber } from './values.ts'
import { API_ENUMS } from './api-enums.generated.ts'

const NEVER_RETRIED: readonly FailureCause[] = ['USER_CANCELLED', 'VALIDATION_ERROR', 'QUOTA_EXCEEDED']

export const RETRIABLE_CAUSES: readonly FailureCause[] = API_ENUMS.FailureCause.filter(
  (cause) => !NEVER_RETRIED.includes(cause),
)

/** Options of a retry policy: the file, and the values of the options below under their names. */
export interface PolicyOptions {
  policy?: string
}

/** Returns the option of each field. `emitRetryEvents` has none: only a file can set it. */
function optionsByField(): Readonly<Record<Exclude<keyof RetryPolicyInput, 'emitRetryEvents'>, Option>> {
  return {
    maxRetries: valued('--retries <n>', 'number of retries: one less than the number of attempts', wholeNumber),
    delays: valued(
      '--delays <durations>',
      'delay of each retry, separated by commas; the last one repeats; `none`: by the options below',
      orNone(durations),
    ),
    retryDelay: valued('--retry-delay <duration>', 'delay before the first retry', seconds),
    backoff: choice('--backoff <kind>', 'how delays grow', API_ENUMS.RetryBackoff),
    backoffMultiplier: valued('--backoff-multiplier <factor>', 'factor from each delay to the next', decimal),
    maxRetryDelay: valued('--max-retry-delay <duration>', 'longest delay; `none` means 24 h', orNone(seconds)),
    jitter: choice('--jitter <kind>', 'how delays are randomized', API_ENUMS.RetryJitter),
    jitterRatio: valued('--jitter-ratio <share>', 'maximum jitter as a share of the delay, 0 to 1', decimal),
    eligibleCauses: choices('--retry-on <causes>', 'causes to retry, separated by commas', RETRIABLE_CAUSES),
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
    trustVerdicts: switchOff('--ignore-verdicts', 'requests in the verdict files of programs are not followed'),
    checkpoint: choice('--checkpoint <wish>', 'whether retries run where the checkpoint is', API_ENUMS.CheckpointWish),
    checkpointWait: valued(
      '--checkpoint-wait <duration>',
      'how long retries wait for the checkpoint if it is required',
      seconds,
    ),
    pinImage: switchOff('--follow-tag', 'retries run the image that the tag refers to at their time'),
    oomIsFailure: switchOff(
      '--ignore-oom',
      'work that exits with 0 has succeeded, even if the lack of memory killed a part of it',
    ),
    progressTimeout: valued(
      '--progress-timeout <duration>',
      'an attempt without output or progress for this long has hung; `none`: no limit',
      orNone(seconds),
    ),
    preset: choice('--preset <name>', 'predefined policy to start from', API_ENUMS.RetryPolicyPreset),
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

/** Reads the policy given by the options; undefined if there are none. @throws UsageError */
export function readPolicy(options: PolicyOptions): RetryPolicyInput | undefined {
  const values = new Map(Object.entries(options))
  const stated = Object.entries(optionsByField()).map(([field, each]) => {
    return [field, nullForNone(values.get(each.attributeName()))] as const
  })
  // Null is a given value; undefined means that the option was not given.
  const given: RetryPolicyInput = Object.fromEntries(stated.filter(([, value]) => value !== undefined))
  if (options.policy === undefined) return Object.keys(given).length === 0 ? undefined : given
  return { ...readJson<RetryPolicyInput>(options.policy, '--policy'), ...given }
}

function valued<Value>(flags: string, description: string, parse: (text: string, earlier?: Value) => Value): Option {
  return new Option(flags, description).argParser<Value>(parse)
}

/** Creates an option without a value that sets its field to false. */
function switchOff(flags: string, description: string): Option {
  return new Option(flags, description).preset(false)
}

/** Reads a JSON object from a file. @throws UsageError */
export function readJson<Value extends object>(path: string, option: string): Value {
  try {
    const value: unknown = JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Value
  } catch (error) {
    throw new UsageError(`${option} ${path}: ${(error as Error).message}`)
  }
  throw new UsageError(`${option} ${path}: not a JSON object`)
}

const RULE_SYNTAX = `A rule is one argument: an action (retry, retry-uncounted, fail), then words in any order:
  cause=oom-killed,…  exit=137,64-78  exit-not=1,2  reason='*CUDA*'  the failures; all conditions must match
  delay=5m  scale=mem:2:64g  scale-peak=mem:1.5  gpu-memory=2:80g  timeout=1.5:4h  avoid=agent  exclude=agent   changes for the retry
  A rule may also be JSON, as in \`--policy\`. Rules are tried in their order; the first that matches decides.`

/** Parses a rule in its short form or as JSON. @throws InvalidArgumentError */
export function parseRule(text: string): RetryRuleInput {
  if (text.trimStart().startsWith('{')) return parseJson(text)
  const [first, ...words] = text.split(/\s+/).filter(Boolean)
  const rule: RetryRuleInput = { action: oneOf(first ?? '', API_ENUMS.RetryRuleAction), match: {} }
  for (const word of words) {
    const [name, value] = pair(word)
    const read = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined
    if (!read) throw new InvalidArgumentError(`${name} is not one of ${Object.keys(WORDS).join(', ')}.`)
    read(rule, value)
  }
  return rule
}

const WORDS: Readonly<Record<string, (rule: RetryRuleInput, value: string) => void>> = {
  cause: ({ match }, value) => (match.causes = value.split(',').map((cause) => oneOf(cause, API_ENUMS.FailureCause))),
  exit: ({ match }, value) => (match.exitCodes = value.split(',').map(exitCodes)),
  'exit-not': ({ match }, value) => (match.exitCodesNotIn = value.split(',').map(exitCodes)),
  reason: ({ match }, value) => (match.reason = value),
  delay: (rule, value) => (rule.delay = seconds(value)),
  avoid: (rule, value) => (rule.avoid = oneOf(value, API_ENUMS.RetryAvoidance)),
  exclude: (rule, value) => (rule.exclude = oneOf(value, API_ENUMS.RetryExclusion)),
  'gpu-memory'(rule, value) {
    const [factor = '', max = null] = value.split(':')
    rule.scaleGpuMemory = { factor: decimal(factor), max }
  },
  timeout(rule, value) {
    const [factor = '', max] = value.split(':')
    rule.scaleTimeout = { factor: decimal(factor), max: max === undefined ? null : seconds(max) }
  },
  scale: (rule, value) => scale(rule, value),
  'scale-peak': (rule, value) => scale(rule, value, 'PEAK'),
}

function scale(rule: RetryRuleInput, value: string, from?: 'PEAK'): void {
  const [slot = '', factor = '', max = null] = value.split(':')
  const growth = { slot, ...(from && { from }), factor: decimal(factor), max }
  rule.scaleResources = [...(rule.scaleResources ?? []), growth]
}

/** Parses durations separated by commas. */
function durations(text: string): number[] {
  return text.split(',').map((each) => seconds(each.trim()))
}

/** Parses `137`, or a range with both ends included: `64-78`. */
function exitCodes(text: string): number | string {
  return /^\d+-\d+$/.test(text) ? text : wholeNumber(text)
}

function parseJson(text: string): RetryRuleInput {
  try {
    return JSON.parse(text) as RetryRuleInput
  } catch (error) {
    throw new InvalidArgumentError(`It is not JSON: ${(error as Error).message}.`)
  }
}
