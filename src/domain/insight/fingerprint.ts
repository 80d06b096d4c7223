import { createHash } from 'node:crypto'
import { REASON_LENGTH_MAX } from '../limits.ts'
import { globMatches } from '../retry/policy/rules.ts'
import type { FailureCause, FailureError } from '../session/failure.ts'
import { chooseFailureLines } from './failure-lines.ts'
import { MASK_VERSION, maskLine } from './mask-lines.ts'

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
  /** Whether successful runs of the same name print this masked line, too. */
  isUsual: (masked: string) => boolean
  /** Of the project; the first one that matches counts. */
  rules: readonly FailureRule[]
}

export interface Fingerprint {
  /** Equal for failures of one group. */
  fingerprint: string
  version: number
  /** A line for people. */
  title: string
  /** The lines that it was made of, as they were written. */
  lines: string[]
  masked: string[]
  /** The pattern of the rule that matched; null if none did. */
  rule: string | null
}

/** Failures that the program itself explains in its log. All others are explained by their message. */
const EXPLAINED_BY_LOG: readonly string[] = ['kernel-exited', 'gpu-memory']

/**
 * Makes the fingerprint of a failed attempt. Pure: the same facts give the same fingerprint. A program may give its own
 * in its verdict file, and that takes precedence; then the project's rules, and then what its log says.
 */
export function fingerprintOf({ cause, exitCode, error, log, isUsual, rules }: FailureFacts): Fingerprint {
  const own = error?.verdict?.fingerprint ?? null
  if (own !== null) {
    const fingerprint = digest(NAMED_VERSION, ['own', own])
    return { fingerprint, version: MASK_VERSION, title: own, lines: [own], masked: [own], rule: null }
  }
  const isOfProgram = error === null || EXPLAINED_BY_LOG.includes(error.name)
  const lines = saidLines(error, log, isUsual)
  const said = { version: MASK_VERSION, lines, masked: lines.map(maskLine) }
  const texts = [...new Set([...lines, ...said.masked])]
  const rule = rules.find(({ pattern }) => texts.some((line) => globMatches(pattern, line)))
  if (rule !== undefined) {
    const { name, pattern } = rule
    return { ...said, fingerprint: digest(NAMED_VERSION, ['rule', name]), title: name, rule: pattern }
  }
  const name = error === null || isOfProgram ? '' : error.name
  const code = isOfProgram ? exitCode : null
  const nothing = exitCode === null ? cause.toLowerCase().replaceAll('_', ' ') : `exit code ${exitCode}`
  const fingerprint = digest(MASK_VERSION, [cause, name, code, said.masked])
  return { ...said, fingerprint, title: said.lines[0] ?? nothing, rule: null }
}

/** In the digests of fingerprints that people give: masks do not change these. */
const NAMED_VERSION = 1

function saidLines(error: FailureError | null, log: string, isUsual: FailureFacts['isUsual']): string[] {
  const reason = error?.verdict?.reason ?? null
  if (reason !== null) return [reason]
  if (error === null || EXPLAINED_BY_LOG.includes(error.name)) return chooseFailureLines(log, isUsual).lines
  return [error.message.slice(0, REASON_LENGTH_MAX)]
}

function digest(version: number, parts: unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify([version, ...parts]))
    .digest('base64url')
    .slice(0, 27)
}
