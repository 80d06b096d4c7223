import type { Prisma } from '../../../generated/prisma/client.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/input-fields.ts'
import type { RESUBMITTED_MEMBER_STATES } from '../../../services/resubmission/resubmit-sessions.ts'
import { argumentError, withoutNulls } from '../../../services/input/parse-input.ts'
import { builder } from '../../builder.ts'
import { chainConditions, ChainFilter } from '../chain/chain.inputs.ts'
import { DateTimeFilter } from '../filters.inputs.ts'
import { RetryPolicyInput } from '../retry/retry-policy.types.ts'
import { GPUS_CHANGE, GpusInput } from '../session/gpus.types.ts'
import { SessionFilter } from '../session/session.inputs.ts'
import { SessionActionEnum } from '../session/session.types.ts'
import { EnvVarInput, ResourceSlotInput } from '../session/values.types.ts'
import { reasonField, repeatableFields } from '../mutation.ts'
import { BulkActionStateEnum } from './bulk-action.types.ts'

const ResubmissionOverrides = builder.inputType('ResubmissionOverrides', {
  description:
    'Differences between the new attempts and the failed sessions. They also apply to the automatic retries of the new epoch.',
  fields: (t) => ({
    resourceSlots: t.field({
      type: [ResourceSlotInput],
      description: 'Amounts of slots; other slots stay as they are. 0 removes a slot.',
    }),
    gpus: t.field({ type: GpusInput, description: GPUS_CHANGE }),
    batchTimeout: t.float({ description: 'Batch timeout in seconds; null removes it.' }),
    environ: t.field({ type: [EnvVarInput], description: 'Variables; other variables stay as they are.' }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description:
        'Secret variables; other variables stay as they are. A secret variable replaces a plain one of the same name, and the reverse.',
    }),
    codeSha256: t.string({
      description: 'SHA-256 of code that was uploaded for their project. Replaces their code.',
    }),
    priority: t.int({ description: 'Priority, 0 to 100; higher ones are scheduled first.' }),
    resourceGroup: t.string({ description: 'Name of the resource group to run in.' }),
    allowAgents: t.field({
      type: ['UUID'],
      description:
        'Ids of the only agents to run on; replaces the existing list. An empty list removes the restriction.',
    }),
    avoidAgents: t.field({
      type: ['UUID'],
      description:
        'Ids of agents to avoid if another fits; replaces the list, including agents that retries have added.',
    }),
    excludeAgents: t.field({
      type: ['UUID'],
      description:
        'Ids of agents that must not run it; replaces the list, including agents that retries have added. An empty list removes the restriction.',
    }),
    retryPolicy: t.field({
      type: RetryPolicyInput,
      description: 'Fields of the retry policy; missing fields keep their values.',
    }),
    freshCheckpoint: t.boolean({
      description: 'True: the new attempt begins with an empty directory, without the checkpoint of earlier attempts.',
    }),
  }),
})

const IDS = 'Ids of the sessions; at most 100000.'
const FILTER =
  'Selects the sessions that match now, at most 100000. Sessions that match later are not included. An empty filter is refused.'
const CHAIN_FILTER = 'Selects the newest sessions of the chains that match now. The rules of `filter` apply.'

const SessionSelection = builder.inputType('SessionSelection', {
  description: 'Selects the sessions of an action. Give exactly one of the fields.',
  isOneOf: true,
  fields: (t) => ({
    sessionIds: t.field({ type: ['UUID'], description: IDS }),
    filter: t.field({ type: SessionFilter, description: FILTER }),
    chainFilter: t.field({ type: ChainFilter, description: CHAIN_FILTER }),
  }),
})

const USE_SELECT = 'Use `select`, of which exactly one field is given.'
const OLD_NAMES = ['sessionIds', 'filter', 'chainFilter'] as const

interface Selected {
  select?: typeof SessionSelection.$inferInput | null
  chainFilter?: typeof ChainFilter.$inferInput | null
}

/**
 * Converts the input of an action on many sessions to that of the service.
 * @throws RepriseError VALIDATION_FAILED if it selects sessions twice
 */
export function selectionOf<Input extends Selected>(input: Input) {
  const { select, ...given } = input
  if (select && OLD_NAMES.some((name) => (given as Record<string, unknown>)[name] != null))
    throw argumentError('input.select', 'Give `select` instead of `sessionIds`, `filter` and `chainFilter`.')
  const { chainFilter, ...rest } = { ...given, ...select }
  if (!chainFilter) return rest
  const path = select ? 'input.select.chainFilter' : 'input.chainFilter'
  return { ...rest, chainFilter: { given: chainFilter, conditions: chainConditions(chainFilter, path) } }
}

/** Returns the input fields that select the sessions of an action. */
const selectionFields = (t: InputFields) => ({
  select: t.field({ type: SessionSelection, description: 'Which sessions.' }),
  sessionIds: t.field({ type: ['UUID'], description: IDS, deprecationReason: USE_SELECT }),
  filter: t.field({ type: SessionFilter, description: FILTER, deprecationReason: USE_SELECT }),
  chainFilter: t.field({ type: ChainFilter, description: CHAIN_FILTER, deprecationReason: USE_SELECT }),
  clientKey: t.string({
    description:
      'Idempotency key chosen by the client, unique in the project: the same key returns the record of the first call.',
  }),
  dryRun: t.boolean({
    description: 'True: nothing is done or recorded; the answer has the number of sessions that would be changed.',
  }),
})

type InputFields = Parameters<NonNullable<Parameters<typeof builder.inputType>[1]['fields']>>[0]

export const TerminateSessionsInput = builder.inputType('TerminateSessionsInput', {
  description: 'The sessions to terminate.',
  fields: (t) => ({
    ...selectionFields(t),
    force: t.boolean({ description: 'Kills their kernels without a grace period.' }),
    reason: t.string({ description: 'The reason, for people.' }),
  }),
})

export const CancelRetriesInput = builder.inputType('CancelRetriesInput', {
  description: 'The sessions whose retries are cancelled.',
  fields: (t) => ({ ...selectionFields(t), ...reasonField(t) }),
})

export const RetryNowManyInput = builder.inputType('RetryNowManyInput', {
  description: 'The sessions whose retries are made due now.',
  fields: (t) => ({ ...selectionFields(t), ...reasonField(t) }),
})

export const ResubmitSessionsInput = builder.inputType('ResubmitSessionsInput', {
  description: 'The sessions that get a new retry budget, and the changes.',
  fields: (t) => ({
    ...selectionFields(t),
    overrides: t.field({ type: ResubmissionOverrides, description: 'The changes.' }),
    includeSucceeded: t.boolean({
      description: 'True: sessions that succeeded run again as well. False: they are refused.',
    }),
    includeDependents: t.boolean({
      description:
        'True: sessions that were cancelled because one of these chains failed, directly or through others, are resubmitted as well, without overrides. Sessions that also depend on a failed chain that is not resubmitted are refused.',
    }),
    ...reasonField(t),
  }),
})

const ResubmittedMemberStateEnum = builder.enumType('ResubmittedMemberState', {
  description: 'A state in which members of a group can be resubmitted.',
  values: {
    FAILED: { description: 'Failed, with no retry left.' },
    CANCELLED: { description: 'Cancelled.' },
    SUCCEEDED: { description: 'Succeeded.' },
  } satisfies Record<(typeof RESUBMITTED_MEMBER_STATES)[number], object>,
})

export const ResubmitSessionGroupInput = builder.inputType('ResubmitSessionGroupInput', {
  description: 'The group whose members get a new retry budget, and the changes.',
  fields: (t) => ({
    groupId: t.field({ type: 'UUID', required: true, description: 'Id of the group.' }),
    states: t.field({
      type: [ResubmittedMemberStateEnum],
      description: 'Members in these states; FAILED and CANCELLED unless given.',
    }),
    overrides: t.field({ type: ResubmissionOverrides, description: 'The changes.' }),
    clientKey: t.string({
      description: 'Idempotency key: the same key with the same request returns the record of the first one.',
    }),
    ...reasonField(t),
  }),
})

export const AbortBulkActionInput = builder.inputType('AbortBulkActionInput', {
  description: 'The action on many sessions to abort.',
  fields: (t) => ({
    bulkActionId: t.field({ type: 'UUID', required: true, description: 'Id of the action.' }),
    ...repeatableFields(t),
  }),
})

export const BulkActionFilter = builder.inputType('BulkActionFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    action: t.field({ type: [SessionActionEnum], description: 'One of these actions.' }),
    state: t.field({ type: [BulkActionStateEnum], description: 'In one of these states.' }),
    idPrefix: t.string({ description: ID_PREFIX_WORDS }),
    createdAt: t.field({ type: DateTimeFilter, description: 'Filter by the time of the request.' }),
  }),
})

export function bulkActionWhere(filter: typeof BulkActionFilter.$inferInput): Prisma.ResubmissionWhereInput {
  const { action, state, idPrefix, createdAt } = filter
  return {
    ...(action && { action: { in: action } }),
    ...(state && { state: { in: state } }),
    ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'filter.idPrefix') }),
    ...(createdAt && { createdAt: withoutNulls(createdAt) }),
  }
}
