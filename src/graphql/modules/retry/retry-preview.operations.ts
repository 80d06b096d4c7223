import { GraphQLError } from 'graphql'
import type { AirflowExplanation, AirflowRelease, AirflowRetry } from '../../../domain/retry/airflow.ts'
import { COUNTED_ROWS_MAX, TRIED_SESSIONS_LISTED_MAX, TRIED_SESSIONS_MAX } from '../../../domain/limits.ts'
import type { PlannedRetry, TriedCount } from '../../../domain/retry/preview.ts'
import {
  type AirflowPolicyPreview,
  type PolicyTrial,
  previewAirflowPolicy,
  previewRetries,
  type RetryPolicyPreview as Preview,
  tryPolicy,
  type TryPolicyInput,
} from '../../../services/retry/preview-retries.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import { builder } from '../../builder.ts'
import { ResourceSlot, slotsOf } from '../session/values.types.ts'
import { listSources, PolicySourceType, RetryPolicyInput, RetryPolicyType, shownPolicy } from './retry-policy.types.ts'
import { SessionFilter } from '../session/session.inputs.ts'
import { FailureCauseEnum, RetryPhaseEnum } from './retry.enums.ts'

const PlannedRetryType = builder.objectRef<PlannedRetry>('PlannedRetry').implement({
  description: 'A retry that would follow if every attempt failed in the same way.',
  fields: (t) => ({
    retry: t.exposeInt('retry', { description: '1-based within the budget.' }),
    delaySeconds: t.exposeFloat('delaySeconds', {
      description:
        'Its delay, without jitter if the jitter is not known yet. By these delays, retries that would start after `maxElapsed` are left out.',
    }),
    earliestSeconds: t.exposeFloat('earliestSeconds', { description: 'Its minimum delay.' }),
    latestSeconds: t.exposeFloat('latestSeconds', { description: 'Its maximum delay.' }),
    elapsedSeconds: t.exposeFloat('elapsedSeconds', { description: 'Sum of all delays up to this one.' }),
    resourceSlots: t.field({
      type: [ResourceSlot],
      description: 'Resources of each of its kernels.',
      resolve: ({ resourceSlots }) => slotsOf(resourceSlots),
    }),
    batchTimeout: t.exposeFloat('batchTimeout', {
      nullable: true,
      description: 'Its batch timeout, in seconds; null if there is none, or if no session is given.',
    }),
    gpuMemoryBytes: t.expose('gpuMemoryBytes', {
      type: 'Bytes',
      nullable: true,
      description: 'Memory that each of its GPUs must have, in bytes; null for any, or if no session is given.',
    }),
  }),
})

const TriedSessionType = builder.objectRef<PolicyTrial['decisions'][number]>('TriedSession').implement({
  description: 'What a policy would have decided about a finished session.',
  fields: (t) => ({
    sessionId: t.expose('id', { type: 'UUID', description: 'Id of the session.' }),
    chainId: t.expose('chainId', { type: 'UUID', description: 'Id of its chain.' }),
    name: t.exposeString('name', { description: 'Its name.' }),
    project: t.exposeString('projectName', { description: 'Name of its project.' }),
    attempt: t.exposeInt('attempt', { description: 'Its position in its chain, from 1.' }),
    endedAt: t.expose('terminatedAt', { type: 'DateTime', description: 'When it ended.' }),
    cause: t.expose('cause', { type: FailureCauseEnum, nullable: true, description: 'Why it failed.' }),
    phase: t.expose('phase', { type: RetryPhaseEnum, description: 'The decision: SCHEDULED means a retry.' }),
    matchedRule: t.exposeInt('matchedRule', {
      nullable: true,
      description: 'Index of the rule that would have decided, from 0.',
    }),
    counted: t.exposeBoolean('counted', { description: 'Whether the retry would have used up `maxRetries`.' }),
    reason: t.exposeString('explanation', { description: 'The reason, in words.' }),
    delaySeconds: t.exposeFloat('delaySeconds', {
      nullable: true,
      description: 'The delay of the retry; random jitter is in the middle of its range. Null without a retry.',
    }),
    resourceSlots: t.field({
      type: [ResourceSlot],
      description: 'Resources of each kernel of the retry; empty without a retry.',
      resolve: ({ child }) => (child === null ? [] : slotsOf(child.resourceSlots)),
    }),
    batchTimeout: t.float({
      nullable: true,
      description: 'Batch timeout of the retry, in seconds; null if there is none, or without a retry.',
      resolve: ({ child }) => child?.batchTimeout ?? null,
    }),
    gpuMemoryBytes: t.field({
      type: 'Bytes',
      nullable: true,
      description: 'Memory that each GPU of the retry must have, in bytes; null for any, or without a retry.',
      resolve: ({ child }) => child?.gpuNeed?.memoryBytes ?? null,
    }),
    recordedPhase: t.expose('recordedPhase', {
      type: RetryPhaseEnum,
      nullable: true,
      description: 'What became of its retry under its own policy; null if that is not decided yet.',
    }),
  }),
})

const TriedCountType = builder.objectRef<TriedCount>('TriedCount').implement({
  description: 'Number of sessions about which a policy would have decided alike.',
  fields: (t) => ({
    phase: t.expose('phase', { type: RetryPhaseEnum, description: 'The decision: SCHEDULED means a retry.' }),
    counted: t.exposeBoolean('counted', { description: 'Whether the retries would have used up `maxRetries`.' }),
    matchedRule: t.exposeInt('matchedRule', {
      nullable: true,
      description: 'Index of the rule that would have decided, from 0; null if none did.',
    }),
    count: t.exposeInt('count', { description: 'Number of sessions.' }),
  }),
})

const RetryTrialType = builder.objectRef<PolicyTrial>('RetryTrial').implement({
  description: 'What a policy would have decided about finished sessions.',
  fields: (t) => ({
    matched: t.exposeInt('matched', {
      description: `Number of sessions that match, counted up to ${COUNTED_ROWS_MAX}.`,
    }),
    tried: t.exposeInt('tried', {
      description: `Number of these on which the policy was tried: at most ${TRIED_SESSIONS_MAX}, those that ended last.`,
    }),
    counts: t.expose('counts', { type: [TriedCountType], description: 'All decisions, the most frequent first.' }),
    decisions: t.field({
      type: [TriedSessionType],
      description: 'Single decisions, newest end first.',
      args: {
        first: t.arg.int({
          description: `Number of decisions, at most ${TRIED_SESSIONS_LISTED_MAX}; 20 by default.`,
        }),
      },
      complexity: ({ first }) => ({ field: 1, multiplier: Math.max(1, first ?? 20) }),
      resolve: ({ decisions }, { first }) => {
        const listed = first ?? 20
        if (listed < 0 || listed > TRIED_SESSIONS_LISTED_MAX)
          throw argumentError('first', `\`first\` must be 0 to ${TRIED_SESSIONS_LISTED_MAX}.`)
        return decisions.slice(0, listed)
      },
    }),
  }),
})

export const TimeWindow = builder.inputType('TimeWindow', {
  description: 'A span of time.',
  fields: (t) => ({
    from: t.field({
      type: 'DateTime',
      description: 'Its beginning; by default seven or thirty days before its end, as the field says.',
    }),
    to: t.field({ type: 'DateTime', description: 'Its end, exclusive; now if missing.' }),
  }),
})

interface ShownPreview extends Preview {
  /** Null if no finished sessions are asked about. */
  trial: TryPolicyInput | null
}

/** It reads and decides about many sessions. */
const TRIAL_COST = 100

const RetryPolicyPreview = builder.objectRef<ShownPreview>('RetryPolicyPreview').implement({
  description: 'The retries that a policy would make.',
  fields: (t) => ({
    eligible: t.exposeBoolean('eligible', { description: 'Whether the failure would be retried.' }),
    explanation: t.exposeString('explanation', { description: 'The reason, in words.' }),
    schedule: t.expose('schedule', { type: [PlannedRetryType], description: 'The retries that would follow.' }),
    trial: t.field({
      type: RetryTrialType,
      nullable: true,
      description:
        'What the policy would have decided about `sessionIds`, or about the failed sessions of `filter` and `window`; null without these arguments.',
      complexity: { field: TRIAL_COST },
      resolve: ({ trial }, _args, context) =>
        trial && tryPolicy({ ...context, prisma: context.services.prisma }, trial),
    }),
    policy: t.field({
      type: RetryPolicyType,
      description: 'The whole policy.',
      resolve: ({ resolved }) => shownPolicy(resolved),
    }),
    sources: t.field({
      type: [PolicySourceType],
      description: 'The source of each field of the policy.',
      resolve: ({ resolved }) => listSources(resolved.sources),
    }),
  }),
})

builder.queryField('retryPolicyPreview', (t) =>
  t.field({
    type: RetryPolicyPreview,
    description: 'Previews the retries of a policy. Creates nothing.',
    args: {
      policy: t.arg({
        type: RetryPolicyInput,
        required: true,
        description: 'The policy. Missing fields come from the session, or from the defaults, as for a new session.',
      }),
      cause: t.arg({
        type: FailureCauseEnum,
        description: 'Cause of the assumed failure; if missing, any cause that is retried.',
      }),
      exitCode: t.arg.int({ description: 'Exit code of the assumed failure.' }),
      sessionId: t.arg({
        type: 'UUID',
        description: 'Previews the further retries of this session; if missing, those of a first attempt.',
      }),
      project: t.arg.string({
        description:
          'Name of the project of the first attempt. Missing: the only project of the token, or `default`. Not used with `sessionId`.',
      }),
      sessionIds: t.arg({
        type: ['UUID'],
        description:
          'Finished sessions on which the policy is tried (`trial`), each with the defaults of its project. Not together with `filter` or `window`.',
      }),
      filter: t.arg({ type: SessionFilter, description: 'Tries the policy on the failed sessions that match.' }),
      window: t.arg({ type: TimeWindow, description: 'Tries the policy on the failed sessions that ended within it.' }),
    },
    resolve: async (_root, { sessionIds, filter, window, ...args }, context) => {
      const isTried = sessionIds != null || filter != null || window != null
      const trial = isTried ? { policy: args.policy, sessionIds, filter, window } : null
      return { ...(await previewRetries(context, args)), trial }
    },
  }),
)

const AirflowReleaseEnum = builder.enumType('AirflowRelease', {
  description: 'Groups of Airflow releases that compute delays in the same way.',
  values: {
    AIRFLOW_2_5: { description: 'Up to 2.5.3: delays have no limit of 24 hours.' },
    AIRFLOW_2_6: { description: '2.6 to 2.9.' },
    AIRFLOW_2_10: { description: '2.10 to 3.1.' },
    AIRFLOW_3_2: { description: '3.2 and later.' },
  } as const satisfies Record<AirflowRelease, { description: string }>,
})

export const AirflowSettingsInput = builder.inputType('AirflowSettingsInput', {
  description: "An Airflow operator's settings. Durations are seconds. Missing settings have Airflow's own defaults.",
  fields: (t) => ({
    release: t.field({ type: AirflowReleaseEnum, description: 'The release whose formula is used; 3.2 if not given.' }),
    retries: t.int({ description: '`retries`; 0 if not given.' }),
    retryDelay: t.float({ description: '`retry_delay`; 300 if not given.' }),
    retryExponentialBackoff: t.field({
      type: 'AirflowBackoff',
      description: '`retry_exponential_backoff`; false if not given.',
    }),
    maxRetryDelay: t.float({ description: '`max_retry_delay`.' }),
    dagId: t.string({ description: 'With `taskId`: computes the jitter that Airflow gives this task.' }),
    taskId: t.string({ description: 'With `dagId`.' }),
    logicalDate: t.string({
      description: "In Python's format: `2026-01-31 00:00:00+00:00`. Omit it for a run without a logical date.",
    }),
  }),
})

const AirflowRetryType = builder.objectRef<AirflowRetry>('AirflowRetry').implement({
  description: 'A retry as Airflow would make it.',
  fields: (t) => ({
    retry: t.exposeInt('retry', { description: '1-based.' }),
    delaySeconds: t.exposeFloat('delaySeconds', {
      description: 'Its delay: exact if the task is given, otherwise without jitter.',
    }),
    earliestSeconds: t.exposeFloat('earliestSeconds', { description: 'Its minimum delay.' }),
    latestSeconds: t.exposeFloat('latestSeconds', { description: 'Its maximum delay.' }),
    elapsedSeconds: t.exposeFloat('elapsedSeconds', { description: 'Sum of all delays up to this one.' }),
  }),
})

export const AirflowExplanationType = builder.objectRef<AirflowExplanation>('AirflowExplanation').implement({
  description: 'Comparison of a policy with the Airflow settings that it was derived from. Each text is one sentence.',
  fields: (t) => ({
    alike: t.exposeStringList('alike', { description: 'Behaviour that is the same as in Airflow.' }),
    differs: t.exposeStringList('differs', { description: 'Behaviour that differs from Airflow.' }),
  }),
})

const AirflowPolicyPreviewType = builder.objectRef<AirflowPolicyPreview>('AirflowPolicyPreview').implement({
  description: "An Airflow operator's settings as a retry policy, with both schedules side by side.",
  fields: (t) => ({
    policy: t.field({
      type: RetryPolicyType,
      description:
        'The policy. Fields determined by the settings have the source `SESSION`; the others have the built-in defaults.',
      resolve: ({ resolved }) => shownPolicy(resolved),
    }),
    explanation: t.expose('explanation', { type: AirflowExplanationType, description: 'The comparison with Airflow.' }),
    airflowDelays: t.expose('airflowDelays', {
      type: [AirflowRetryType],
      description: 'The retries of Airflow, at most as many as a policy can have.',
    }),
    schedule: t.expose('schedule', { type: [PlannedRetryType], description: 'The retries of the policy.' }),
  }),
})

builder.queryField('airflowPolicyPreview', (t) =>
  t.field({
    type: AirflowPolicyPreviewType,
    description: "Converts an Airflow operator's settings into a retry policy. Creates nothing.",
    args: {
      settings: t.arg({ type: AirflowSettingsInput, required: true, description: "The operator's settings." }),
    },
    resolve: (_root, { settings }) => previewAirflowPolicy(settings),
  }),
)

builder.scalarType('AirflowBackoff', {
  description: "Airflow's `retry_exponential_backoff`: true or false, or since Airflow 3.2 a multiplier.",
  parseValue(value) {
    if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value
    throw new GraphQLError(`AirflowBackoff cannot represent ${JSON.stringify(value)}: it is true, false or a number`)
  },
})
