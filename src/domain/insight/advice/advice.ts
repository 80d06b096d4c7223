import type { FailureCause } from '../../session/failure.ts'
import type { RetryPolicy } from '../../retry/policy/policy.ts'

/** Kinds of advice. */
export const ADVICE_KINDS = [
  'NEVER_SUCCEEDS',
  'RETRIES_UNUSED',
  'MEMORY_TOO_LOW',
  'MEMORY_TOO_HIGH',
  'TIMEOUT_TOO_LOW',
  'OUTAGE_TOO_LONG',
  'MANY_FAIL_AT_ONCE',
  'BAD_AGENT',
  'BAD_GPU',
] as const
export type AdviceKind = (typeof ADVICE_KINDS)[number]

/** What people have done about a finding. */
export const ADVICE_STATES = ['OPEN', 'DISMISSED', 'APPLIED'] as const
export type AdviceState = (typeof ADVICE_STATES)[number]

/** What would be changed. */
export type AdvicePatch =
  /** Defaults of the project; rules come before those that it has. */
  | { kind: 'POLICY'; policy: Partial<RetryPolicy> }
  | { kind: 'BREAKER'; breaker: { failures: number; chains: number; window: number } }
  /** What sessions of the name request. */
  | { kind: 'REQUEST'; name: string; memoryBytes?: number; timeoutSeconds?: number }
  | { kind: 'DRAIN_AGENT'; agentId: string }
  | { kind: 'TAKE_GPU'; agentId: string; uuid: string }

/** The numbers on which a finding rests, by kind. Seconds and bytes. */
export type AdviceEvidence =
  | { kind: 'NEVER_SUCCEEDS'; cause: FailureCause; exitCode: number | null; retries: number; chains: number }
  | { kind: 'RETRIES_UNUSED'; after: number; retries: number; chains: number; maxRetries: number }
  | {
      kind: 'MEMORY_TOO_LOW'
      name: string | null
      chains: number
      /** Those that succeeded later, and the least that one of them had; retries that had no more than before. */
      succeeded: number
      leastBytes: number
      requestBytes: number
      retries: number
    }
  | { kind: 'MEMORY_TOO_HIGH'; name: string; attempts: number; requestBytes: number; highestBytes: number }
  | {
      kind: 'TIMEOUT_TOO_LOW'
      name: string | null
      chains: number
      succeeded: number
      leastSeconds: number
      timeoutSeconds: number
      retries: number
    }
  | {
      kind: 'OUTAGE_TOO_LONG'
      cause: FailureCause
      outages: number
      longer: number
      retriesSeconds: number
      chains: number
    }
  | { kind: 'MANY_FAIL_AT_ONCE'; failureGroupId: string; times: number; chains: number; retries: number }
  | { kind: 'BAD_AGENT'; agentId: string; failed: number; chains: number; elsewhereShare: number; chance: number }
  | {
      kind: 'BAD_GPU'
      agentId: string
      uuid: string
      failed: number
      chains: number
      elsewhereShare: number
      chance: number
    }

/** A finding. */
export interface Advice {
  /** What tells it from other findings of its kind. */
  subject: string
  evidence: AdviceEvidence
  patch: AdvicePatch
  /** Grows with the evidence: a dismissed finding returns when it has doubled. */
  count: number
  /** CPU seconds that it would have saved. */
  slotSeconds: number
  /** For advice about memory, GiB hours that it would have saved; otherwise 0. */
  gibHours: number
  /** The newest chains that it rests on. */
  examples: string[]
}

export const ADVICE_EXAMPLES = 3

/** The newest of these chains: ids are in the order of creation. */
export function examplesOf(chainIds: Iterable<string>): string[] {
  return [...new Set(chainIds)].toSorted((a, b) => (a < b ? 1 : -1)).slice(0, ADVICE_EXAMPLES)
}
