import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { ValidationIssue } from '../../domain/errors.ts'
import { CLIENT_KEY_LENGTH_MAX, NAME_LENGTH_MAX, RESUBMISSION_SESSIONS_MAX } from '../../domain/limits.ts'
import type { ResubmissionOverrides } from '../../domain/resubmission/overrides.ts'
import { canonicalJson } from '../input/canonical-json.ts'
import {
  agentIds,
  batchTimeout,
  besideOtherFaults,
  checkSecrets,
  environ,
  priority,
  retryPolicy,
} from '../session/session-fields.ts'
import { text } from '../input/text-input.ts'
import { isEmptyWhere, sessionWhere, type SessionFilterInput } from '../session/session-where.ts'
import { slotAmounts } from '../input/slot-amounts-input.ts'

/** Null counts as missing, except for `overrides.batchTimeout`, where it removes the timeout. */
export interface ResubmitSessionsInput {
  sessionIds?: string[] | null
  filter?: SessionFilterInput | null
  clientKey?: string | null
  overrides?: object | null
  /** Runs sessions again that succeeded; otherwise they are refused. */
  includeSucceeded?: boolean | null
}

export interface ParsedResubmission {
  /** One of `sessionIds` and `filter` is null. */
  sessionIds: string[] | null
  filter: SessionFilterInput | null
  clientKey: string | null
  /** With the secrets as they were given. */
  overrides: Omit<ResubmissionOverrides, 'secretEnviron'> & { secretEnviron?: { name: string; value: string }[] }
  includeSucceeded: boolean
}

export interface SealedResubmission extends Omit<ParsedResubmission, 'overrides'> {
  overrides: ResubmissionOverrides
}

const overrides = z
  .strictObject({
    resourceSlots: slotAmounts.optional(),
    batchTimeout: batchTimeout.nullable().optional(),
    environ: environ.optional(),
    secretEnviron: environ.optional(),
    priority: priority.optional(),
    resourceGroup: text(NAME_LENGTH_MAX).optional(),
    allowAgents: agentIds.optional(),
    avoidAgents: agentIds.optional(),
    excludeAgents: agentIds.optional(),
    retryPolicy: retryPolicy.optional(),
  })
  .superRefine(checkSecrets, { when: besideOtherFaults })
  .superRefine(({ allowAgents = [], ...others }, context) => {
    for (const list of ['avoidAgents', 'excludeAgents'] as const) {
      for (const [index, id] of (others[list] ?? []).entries()) {
        if (allowAgents.includes(id))
          context.addIssue({ code: 'custom', path: [list, index], message: 'stands in allowAgents, too' })
      }
    }
  })

const schema = z.strictObject({
  sessionIds: z.array(z.uuid().toLowerCase()).min(1).max(RESUBMISSION_SESSIONS_MAX).nullish(),
  clientKey: text(CLIENT_KEY_LENGTH_MAX).nullish(),
  overrides: overrides.prefault({}),
  includeSucceeded: z.boolean().nullish(),
})

/**
 * Reports all faults at once, except those that only the database can reveal.
 * @throws RepriseError if the filter is too large
 */
export function parseResubmission(
  input: ResubmitSessionsInput,
): { value: ParsedResubmission } | { issues: ValidationIssue[] } {
  const { filter = null, ...rest } = input
  const parsed = schema.safeParse({ ...rest, overrides: givenOverrides(rest.overrides ?? {}) })
  const issues = [...selectionIssues(input)]
  if (parsed.error) {
    issues.push(...parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })))
  }
  if (issues.length > 0 || !parsed.data) return { issues }
  const { sessionIds = null, clientKey = null, overrides: given, includeSucceeded } = parsed.data
  return { value: { sessionIds, filter, clientKey, overrides: given, includeSucceeded: includeSucceeded ?? false } }
}

function selectionIssues({ sessionIds, filter }: ResubmitSessionsInput): ValidationIssue[] {
  if ((sessionIds == null) === (filter == null)) {
    return [{ path: 'sessionIds', message: 'Either sessionIds or filter, and not both' }]
  }
  if (filter == null || !isEmptyWhere(sessionWhere(filter))) return []
  return [{ path: 'filter', message: 'An empty filter would resubmit everything: say which sessions' }]
}

/** Without nulls, except for `batchTimeout`, where null removes the timeout. */
function givenOverrides(given: object): object {
  const entries = Object.entries(given)
  return Object.fromEntries(entries.filter(([name, value]) => value !== null || name === 'batchTimeout'))
}

/** Fingerprint of a request: equal for the same sessions, in any order, and the same changes. */
export function requestHash({ sessionIds, filter, overrides: given, includeSucceeded }: SealedResubmission): string {
  // A secret is encrypted differently each time; its digest stays.
  const secretEnviron = given.secretEnviron?.map(({ name, digest }) => ({ name, digest }))
  const request = {
    sessionIds: sessionIds?.toSorted() ?? null,
    filter: statedFilter(filter),
    overrides: { ...given, secretEnviron },
    // Left out where it is false: releases without it have stored such fingerprints.
    includeSucceeded: includeSucceeded || undefined,
  }
  return createHash('sha256').update(canonicalJson(request)).digest('hex')
}

/** A filter without missing and null conditions. */
export function statedFilter(filter: SessionFilterInput | null): object | null {
  return filter === null
    ? null
    : (JSON.parse(JSON.stringify(filter, (_key, value: unknown) => value ?? undefined)) as object)
}
