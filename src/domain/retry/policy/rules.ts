import type { FailureCause } from '../../session/causes.ts'
import { exitCodesInclude } from './exit-codes.ts'
import { globMatches } from './glob.ts'
import type { RetryRule, RuleMatch } from './policy.ts'

/** The facts that rules match on. */
export interface FailureFacts {
  /** Null if it is not known yet: a preview without a cause. */
  cause: FailureCause | null
  /**
   * Null if the failure has none, for example because the image was not found: then no condition on exit codes matches.
   */
  exitCode: number | null
  /** The session's reason and the error's name; a glob may match any of them. */
  reasons: readonly string[]
}

export interface MatchedRule {
  /** Position in `policy.rules`, from 0. */
  index: number
  rule: RetryRule
}

export function firstMatch(rules: readonly RetryRule[], facts: FailureFacts): MatchedRule | null {
  const index = rules.findIndex((rule) => ruleMatches(rule.match, facts))
  return index < 0 ? null : { index, rule: rules[index]! }
}

export function ruleMatches(match: RuleMatch, facts: FailureFacts): boolean {
  const { cause, exitCode, reasons } = facts
  const { causes, exitCodes, exitCodesNotIn, reason } = match
  if (causes && (cause === null || !causes.includes(cause))) return false
  if (exitCodes && (exitCode === null || !exitCodesInclude(exitCodes, exitCode))) return false
  if (exitCodesNotIn && (exitCode === null || exitCodesInclude(exitCodesNotIn, exitCode))) return false
  return reason === undefined || reasons.some((text) => globMatches(reason, text))
}
