import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { ValidationIssue } from '../../domain/errors.ts'
import {
  CLIENT_KEY_LENGTH_MAX,
  NAME_LENGTH_MAX,
  REASON_LENGTH_MAX,
  RESUBMISSION_SESSIONS_MAX,
} from '../../domain/limits.ts'
import type { ResubmissionOverrides } from '../../domain/resubmission.ts'
import type { SessionAction } from '../../domain/session/session-spec.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { canonicalJson, issuesOf, refuseUnstorable } from '../input/parse-input.ts'
import type { TerminationOptions } from '../../store/sql/resubmission/open-resubmission.sql.ts'
import {
  agentIds,
  batchTimeout,
  besideOtherFaults,
  checkGpus,
  checkSecrets,
  environ,
  foldGpuChange,
  gpus,
  secretVariables,
  priority,
  retryPolicy,
} from '../session/session-fields.ts'
import { codeSha256 } from '../code/upload-code.ts'
import { slotAmounts, text } from '../input/input-fields.ts'
import type { ChainConditions } from '../../store/sql/chain/chain-conditions.sql.ts'
import { isEmptyWhere, type SessionFilterInput, sessionWhere } from '../session/session-where.ts'

/** A selection of chains; the action applies to their newest attempts. */
export interface ChainSelectionInput {
  /** The selection as the client gave it, for the record. */
  given: object
  conditions: ChainConditions
}

/** Null counts as missing, except for `overrides.batchTimeout`, where it removes the timeout. */
export interface ResubmitSessionsInput {
  sessionIds?: string[] | null
  filter?: SessionFilterInput | null
  chainFilter?: ChainSelectionInput | null
  clientKey?: string | null
  overrides?: object | null
  /** Also resubmits sessions that succeeded, which are otherwise refused. */
  includeSucceeded?: boolean | null
  /** Also resubmits sessions that were cancelled because these failed. */
  includeDependents?: boolean | null
  /** Only counts the sessions that would be processed; nothing is done. */
  dryRun?: boolean | null
}

/** The sessions for an action other than resubmission. Null counts as missing. */
export interface BulkInput extends Pick<
  ResubmitSessionsInput,
  'sessionIds' | 'filter' | 'chainFilter' | 'clientKey' | 'dryRun'
> {
  /** Terminates without a grace period; only for a termination. */
  force?: boolean | null
  /** The reason; only for a termination. */
  reason?: string | null
}

export interface ParsedResubmission {
  /** Exactly one of these three is not null. */
  sessionIds: string[] | null
  filter: SessionFilterInput | null
  chainFilter: ChainSelectionInput | null
  clientKey: string | null
  /** The overrides, with secrets as the client gave them. */
  overrides: Omit<ResubmissionOverrides, 'secretEnviron'> & { secretEnviron?: { name: string; value: string }[] }
  includeSucceeded: boolean
  includeDependents: boolean
}

/** A request as it is stored. */
export interface BulkRequest extends Omit<ParsedResubmission, 'overrides'> {
  action: SessionAction
  /** The options of a termination; empty for a change of retries. */
  overrides: ResubmissionOverrides | TerminationOptions
}

export const overridesSchema = z
  .strictObject({
    resourceSlots: slotAmounts.optional(),
    gpus: gpus.optional(),
    batchTimeout: batchTimeout.nullable().optional(),
    environ: environ.optional(),
    secretEnviron: secretVariables.optional(),
    codeSha256: codeSha256.optional(),
    priority: priority.optional(),
    resourceGroup: text(NAME_LENGTH_MAX).optional(),
    allowAgents: agentIds.optional(),
    avoidAgents: agentIds.optional(),
    excludeAgents: agentIds.optional(),
    retryPolicy: retryPolicy.optional(),
    freshCheckpoint: z.boolean().optional(),
  })
  .superRefine(checkSecrets, { when: besideOtherFaults })
  .superRefine(checkGpus, { when: besideOtherFaults })
  .superRefine(({ allowAgents = [], ...others }, context) => {
    for (const list of ['avoidAgents', 'excludeAgents'] as const) {
      for (const [index, id] of (others[list] ?? []).entries()) {
        if (allowAgents.includes(id))
          context.addIssue({ code: 'custom', path: [list, index], message: 'is also in allowAgents' })
      }
    }
  })

const selection = {
  sessionIds: z.array(z.uuid().toLowerCase()).min(1).max(RESUBMISSION_SESSIONS_MAX).nullish(),
  clientKey: text(CLIENT_KEY_LENGTH_MAX).nullish(),
  dryRun: z.boolean().nullish(),
}

const bulkSchema = z.strictObject({
  ...selection,
  force: z.boolean().nullish(),
  reason: z.string().max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
})

const schema = z.strictObject({
  ...selection,
  overrides: overridesSchema.prefault({}),
  includeSucceeded: z.boolean().nullish(),
  includeDependents: z.boolean().nullish(),
})

/**
 * Reports all faults at once, except those that only the database can reveal.
 * @throws RepriseError if the filter is too large
 */
export function parseResubmission(
  input: ResubmitSessionsInput,
): { value: ParsedResubmission } | { issues: ValidationIssue[] } {
  const { filter = null, chainFilter = null, ...rest } = input
  const parsed = schema.safeParse({ ...rest, overrides: givenOverrides(rest.overrides ?? {}) })
  const issues = [...selectionIssues(input), ...(parsed.error ? issuesOf(parsed.error) : [])]
  if (issues.length > 0 || !parsed.data) return { issues }
  const { sessionIds = null, clientKey = null, overrides: asked } = parsed.data
  const { resourceSlots: _, gpus: __, ...others } = asked
  const given = { ...others, ...foldGpuChange(asked) }
  const { includeSucceeded, includeDependents } = parsed.data
  const chosen = { sessionIds, filter, chainFilter, clientKey }
  const included = {
    includeSucceeded: includeSucceeded ?? false,
    includeDependents: includeDependents ?? false,
  }
  return { value: { ...chosen, overrides: given, ...included } }
}

/** Parses the input of another action. */
export function parseBulk(
  action: Exclude<SessionAction, 'RESUBMIT'>,
  input: BulkInput,
): { value: BulkRequest } | { issues: ValidationIssue[] } {
  const { filter = null, chainFilter = null, ...rest } = input
  const parsed = bulkSchema.safeParse(rest)
  const issues = [...selectionIssues(input), ...(parsed.error ? issuesOf(parsed.error) : [])]
  if (issues.length > 0 || !parsed.data) return { issues }
  const { sessionIds = null, clientKey = null, force, reason } = parsed.data
  const options = { ...(force && { force }), ...(reason && { reason }) }
  const chosen = { sessionIds, filter, chainFilter, clientKey }
  return { value: { action, ...chosen, overrides: options, includeSucceeded: false, includeDependents: false } }
}

/** Fingerprint of a request: equal for the same action on the same sessions, in any order, with the same changes. */
export function requestHash(asked: BulkRequest): string {
  const { action, sessionIds, overrides: given, includeSucceeded, includeDependents } = asked
  // A secret is encrypted differently each time; its digest stays the same.
  const secrets = 'secretEnviron' in given ? given.secretEnviron : undefined
  const secretEnviron = secrets?.map(({ name, digest }) => ({ name, digest }))
  const request = {
    sessionIds: sessionIds?.toSorted() ?? null,
    filter: statedFilter(asked),
    overrides: { ...given, secretEnviron },
    // Fields that were added later are omitted if they have their default, because earlier fingerprints are stored
    // without them.
    includeSucceeded: includeSucceeded || undefined,
    includeDependents: includeDependents || undefined,
    action: action === 'RESUBMIT' ? undefined : action,
  }
  return createHash('sha256').update(canonicalJson(request)).digest('hex')
}

/** Removes missing and null conditions from a filter; that of chains is under `chains`. */
export function statedFilter({ filter, chainFilter }: Pick<BulkRequest, 'filter' | 'chainFilter'>): object | null {
  const stated = chainFilter === null ? filter : { chains: chainFilter.given }
  return stated === null
    ? null
    : (JSON.parse(JSON.stringify(stated, (_key, value: unknown) => value ?? undefined)) as object)
}

function selectionIssues({ sessionIds, filter, chainFilter }: BulkInput): ValidationIssue[] {
  if ([sessionIds, filter, chainFilter].filter((each) => each != null).length !== 1) {
    return [{ path: 'sessionIds', message: 'Give exactly one of sessionIds, filter and chainFilter' }]
  }
  if (chainFilter) refuseUnstorable(chainFilter.given, 'chainFilter')
  const message = 'An empty filter would match everything: give a condition'
  if (filter && isEmptyWhere(sessionWhere(filter))) return [{ path: 'filter', message }]
  if (chainFilter && Object.keys(chainFilter.conditions).length === 0) return [{ path: 'chainFilter', message }]
  return []
}

/** Removes nulls, except for `batchTimeout`, where null removes the timeout. */
function givenOverrides(given: object): object {
  const entries = Object.entries(given)
  return Object.fromEntries(entries.filter(([name, value]) => value !== null || name === 'batchTimeout'))
}
