import { builder } from '../../builder.ts'
import { chainConditions, ChainFilter } from '../chain/chain.inputs.ts'
import { RetryPolicyInput } from '../retry/retry-policy.types.ts'
import { SessionFilter } from '../session/session.inputs.ts'
import { EnvVarInput, ResourceSlotInput } from '../session/values.types.ts'

const ResubmissionOverrides = builder.inputType('ResubmissionOverrides', {
  description:
    'How the new attempts differ from the failed sessions. Overrides also apply to the automatic retries of the new epoch.',
  fields: (t) => ({
    resourceSlots: t.field({
      type: [ResourceSlotInput],
      description: 'Amounts by slot; other slots stay. 0 removes a slot.',
    }),
    batchTimeout: t.float({ description: 'Batch timeout in seconds; null removes it.' }),
    environ: t.field({ type: [EnvVarInput], description: 'Variables by name; other variables stay.' }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description:
        'Secret variables by name; other variables stay. A variable of either kind replaces one of the other.',
    }),
    codeSha256: t.string({
      description: 'SHA-256 of code that was uploaded for their project, in place of what they had.',
    }),
    priority: t.int({ description: '0 to 100; the higher goes first.' }),
    resourceGroup: t.string({ description: 'Name of the resource group to run in.' }),
    allowAgents: t.field({
      type: ['UUID'],
      description: 'The only agents to run on; replaces the existing list. An empty list removes the restriction.',
    }),
    avoidAgents: t.field({
      type: ['UUID'],
      description: 'Agents to avoid if another fits; replaces those that retries have come to avoid.',
    }),
    excludeAgents: t.field({
      type: ['UUID'],
      description:
        'Agents that must not run it; replaces those that retries have come to exclude. An empty list removes the restriction.',
    }),
    retryPolicy: t.field({
      type: RetryPolicyInput,
      description: 'Fields of the retry policy; missing fields stay as resolved.',
    }),
    freshCheckpoint: t.boolean({
      description: 'True: the new attempt begins with an empty directory, without the checkpoint of earlier ones.',
    }),
  }),
})

/** Converts the input of an action on many sessions to that of the service. */
export function selectionOf<Input extends { chainFilter?: typeof ChainFilter.$inferInput | null }>(input: Input) {
  const { chainFilter, ...rest } = input
  if (!chainFilter) return rest
  return { ...rest, chainFilter: { given: chainFilter, conditions: chainConditions(chainFilter, 'input.chainFilter') } }
}

/** Fields that select the sessions of an action. */
const selectionFields = (t: InputFields) => ({
  sessionIds: t.field({ type: ['UUID'], description: 'These sessions; at most 100000.' }),
  filter: t.field({
    type: SessionFilter,
    description:
      'The sessions that match now, at most 100000. What matches later is not among them; an empty filter is refused.',
  }),
  chainFilter: t.field({
    type: ChainFilter,
    description: 'The newest sessions of the chains that match now, under the same conditions as `filter`.',
  }),
  clientKey: t.string({
    description:
      'Idempotency key chosen by the client, unique in the project: the same key returns the first call’s resubmission.',
  }),
  dryRun: t.boolean({ description: 'True: nothing is done or recorded; the answer says to how many it would be.' }),
})

type InputFields = Parameters<NonNullable<Parameters<typeof builder.inputType>[1]['fields']>>[0]

export const TerminateSessionsInput = builder.inputType('TerminateSessionsInput', {
  description: 'Which sessions are terminated. One of `sessionIds`, `filter` and `chainFilter`.',
  fields: (t) => ({
    ...selectionFields(t),
    force: t.boolean({ description: 'Kills their kernels without a grace period.' }),
    reason: t.string({ description: 'Why, for people.' }),
  }),
})

export const CancelRetriesInput = builder.inputType('CancelRetriesInput', {
  description: 'Whose retries are cancelled. One of `sessionIds`, `filter` and `chainFilter`.',
  fields: selectionFields,
})

export const RetryNowManyInput = builder.inputType('RetryNowManyInput', {
  description: 'Whose retries are made due now. One of `sessionIds`, `filter` and `chainFilter`.',
  fields: selectionFields,
})

export const ResubmitSessionsInput = builder.inputType('ResubmitSessionsInput', {
  description: 'Which sessions get a new budget, and what is changed. One of `sessionIds`, `filter` and `chainFilter`.',
  fields: (t) => ({
    ...selectionFields(t),
    overrides: t.field({ type: ResubmissionOverrides, description: 'What is changed.' }),
    includeSucceeded: t.boolean({
      description: 'True: sessions that succeeded are run again as well. Otherwise they are refused.',
    }),
    includeDependents: t.boolean({
      description:
        'True: sessions that were cancelled because one of these chains failed, directly or through others, come back as well, without overrides. Those that also depend on a chain that has failed and is not resubmitted are refused.',
    }),
  }),
})

export const AbortResubmissionInput = builder.inputType('AbortResubmissionInput', {
  description: 'Which resubmission to end.',
  fields: (t) => ({
    resubmissionId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
  }),
})
