import { createHash } from 'node:crypto'
import { REASON_LENGTH_MAX } from '../limits.ts'
import { globMatches } from '../retry/policy/rules.ts'
import type { FailureCause, FailureError } from '../session/failure.ts'
import { chooseFailureLines } from './failure-lines.ts'
import { MASK_VERSIONS, type Masks, type MaskVersions } from './mask-lines.ts'

/** A rule of a project: failures that say what it looks for are one group, whatever else they say. */
export interface FailureRule {
  /** A glob with `*` and `?` over a whole line, as it was written or masked. */
  pattern: string
  /** Of the group. Several rules may give the same. */
  name: string
}

/** What a failed attempt is grouped by. */
export interface FailureFacts {
  cause: FailureCause
  exitCode: number | null
  /** The error that ended the attempt; null if none is known. */
  error: FailureError | null
  /** The end of the log of the kernel that decided. */
  log: string
  /** See `chooseFailureLines`. */
  isUsual: (line: string) => boolean
  /** Of the project; the first one that matches counts. */
  rules: readonly FailureRule[]
}

export interface Fingerprint {
  /** Equal for failures of one group. */
  fingerprint: string
  /** The same by the masks before; null without any, or if masks have no part in it. */
  former: string | null
  version: number
  /** A line for people. */
  title: string
  /** The lines that it was made of, as they were written. */
  lines: string[]
  masked: string[]
  /** The pattern of the rule that matched; null if none did. */
  rule: string | null
}

/** Names of failures that the program explains in its log. All others are explained by their message. */
const EXPLAINED_BY_LOG: readonly string[] = ['kernel-exited', 'gpu-memory']

/**
 * Makes the fingerprint of a failed attempt. Pure: the same facts give the same fingerprint. A program may give its own
 * in its verdict file, and that takes precedence; then the project's rules, and then what its log says.
 */
export function fingerprintOf(facts: FailureFacts, [masks, former]: MaskVersions = MASK_VERSIONS): Fingerprint {
  const { cause, exitCode, error, rules } = facts
  const { version, mask } = masks
  const own = error?.verdict?.fingerprint ?? null
  if (own !== null) return { ...named('own', own), version, title: own, lines: [own], masked: [own], rule: null }
  const lines = saidLines(facts)
  const said = { version, lines, masked: lines.map(mask) }
  const texts = [...new Set([...lines, ...said.masked])]
  const rule = rules.find(({ pattern }) => texts.some((line) => globMatches(pattern, line)))
  if (rule !== undefined) return { ...named('rule', rule.name), ...said, title: rule.name, rule: rule.pattern }
  const isOfProgram = isExplainedByLog(error)
  const kind = [cause, isOfProgram ? '' : error!.name, isOfProgram ? exitCode : null]
  const by = (each: Masks) => digest(each.version, [...kind, lines.map(each.mask)])
  const nothing = exitCode === null ? cause.toLowerCase().replaceAll('_', ' ') : `exit code ${exitCode}`
  return { ...said, fingerprint: by(masks), former: former ? by(former) : null, title: lines[0] ?? nothing, rule: null }
}

/** A fingerprint that people give: masks do not change it. */
function named(by: 'own' | 'rule', name: string): Pick<Fingerprint, 'fingerprint' | 'former'> {
  return { fingerprint: digest(1, [by, name]), former: null }
}

/** Whether the program itself explains the failure, in its log. */
function isExplainedByLog(error: FailureError | null): boolean {
  return error === null || EXPLAINED_BY_LOG.includes(error.name)
}

function saidLines({ error, log, isUsual }: FailureFacts): string[] {
  const reason = error?.verdict?.reason ?? null
  if (reason !== null) return [reason]
  if (isExplainedByLog(error)) return chooseFailureLines(log, isUsual).lines
  return [error!.message.slice(0, REASON_LENGTH_MAX)]
}

function digest(version: number, parts: unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify([version, ...parts]))
    .digest('base64url')
    .slice(0, 27)
}
