import { InvalidArgumentError } from 'commander'
import type { RetryRuleInput } from '../../client/node/index.ts'
import { decimal, oneOf, pair, seconds, wholeNumber } from './values.ts'
import { API_ENUMS } from './api-enums.generated.ts'

export const RULE_SYNTAX = `A rule is one text: what to do (retry, retry-uncounted, fail), then words in any order:
  cause=oom-killed,…  exit=137,64-78  exit-not=1,2  reason='*CUDA*'  which failures; all conditions must hold
  delay=5m  scale=mem:2:64g  timeout=1.5:4h  avoid=agent  exclude=agent   what changes for the retry
  It may also be JSON, as in \`--policy\`. Rules are tried in their order; the first that matches decides.`

/** Parses a rule in its short form or as JSON. @throws InvalidArgumentError */
export function parseRule(text: string): RetryRuleInput {
  if (text.trimStart().startsWith('{')) return parseJson(text)
  const [first, ...words] = text.split(/\s+/).filter(Boolean)
  const rule: RetryRuleInput = { action: oneOf(first ?? '', API_ENUMS.RetryRuleAction), match: {} }
  for (const word of words) {
    const [name, value] = pair(word)
    const read = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined
    if (!read) throw new InvalidArgumentError(`${name} is none of ${Object.keys(WORDS).join(', ')}.`)
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
  timeout(rule, value) {
    const [factor = '', max] = value.split(':')
    rule.scaleTimeout = { factor: decimal(factor), max: max === undefined ? null : seconds(max) }
  },
  scale(rule, value) {
    const [slot = '', factor = '', max = null] = value.split(':')
    rule.scaleResources = [...(rule.scaleResources ?? []), { slot, factor: decimal(factor), max }]
  },
}

/** `137`, or a range with both ends: `64-78`. */
function exitCodes(text: string): number | string {
  return /^\d+-\d+$/.test(text) ? text : wholeNumber(text)
}

function parseJson(text: string): RetryRuleInput {
  try {
    return JSON.parse(text) as RetryRuleInput
  } catch (error) {
    throw new InvalidArgumentError(`It is no JSON: ${(error as Error).message}.`)
  }
}
