import { FAILURE_GROUPS_MAX } from '../../../domain/limits.ts'
import {
  type CauseFigures,
  type FailureCount,
  type OutcomeUsage,
  type PendingRetries,
  readFailureCounts,
  readOutcomeUsage,
  readSessionStatistics,
  type SessionFigures,
  type SessionStatistics,
} from '../../../services/session/session-statistics.ts'
import { builder } from '../../builder.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { SessionResultEnum, SessionStatusEnum, SessionTypeEnum } from './session.types.ts'
import { Label, LabelInput } from './values.types.ts'

const StatusCount = builder.objectRef<SessionStatistics['byStatus'][number]>('StatusCount').implement({
  description: 'Number of sessions in one status.',
  fields: (t) => ({
    status: t.expose('status', { type: SessionStatusEnum, description: 'The status.' }),
    count: t.exposeInt('count', { description: 'Number of sessions.' }),
  }),
})

const SessionFiguresType = builder.objectRef<SessionFigures & Partial<PendingRetries>>('SessionFigures').implement({
  description: 'Results of finished sessions, each attempt counted separately.',
  fields: (t) => ({
    ended: t.exposeInt('ended', { description: 'Number of sessions that ended.' }),
    succeeded: t.exposeInt('succeeded', { description: 'Number of these that succeeded.' }),
    failed: t.exposeInt('failed', { description: 'Number of these that failed.' }),
    cancelled: t.exposeInt('cancelled', {
      description: 'Number of these that a person terminated before they had a result.',
    }),
    retries: t.exposeInt('retries', { description: 'Number of these that were automatic retries.' }),
    retriesSucceeded: t.exposeInt('retriesSucceeded', { description: 'Number of retries that succeeded.' }),
    held: t.int({
      nullable: true,
      description: 'Number of retries that are held now, regardless of when their sessions ended; null for a bucket.',
      resolve: ({ held }) => held ?? null,
    }),
    waiting: t.int({
      nullable: true,
      description: 'Number of retries that are waiting for their delay to pass now; null for a bucket.',
      resolve: ({ waiting }) => waiting ?? null,
    }),
    retryRate: t.exposeFloat('retryRate', {
      nullable: true,
      description: 'Share of retries among finished sessions; null if none finished.',
    }),
    retrySuccessRate: t.exposeFloat('retrySuccessRate', {
      nullable: true,
      description: 'Share of the retries that succeeded; null if there were none.',
    }),
  }),
})

const CauseStatistics = builder.objectRef<CauseFigures>('CauseStatistics').implement({
  description: 'Number of failures with one cause, and the results of the retries that followed.',
  fields: (t) => ({
    cause: t.expose('cause', { type: FailureCauseEnum, description: 'The cause.' }),
    failed: t.exposeInt('failed', { description: 'Number of sessions that failed for it.' }),
    timedOut: t.exposeInt('timedOut', { description: 'Number of these that were ended by their batch timeout.' }),
    retries: t.exposeInt('retries', { description: 'Number of finished retries that followed such a failure.' }),
    retriesSucceeded: t.exposeInt('retriesSucceeded', { description: 'Number of these retries that succeeded.' }),
    retrySuccessRate: t.exposeFloat('retrySuccessRate', {
      nullable: true,
      description: 'Share of the retries that succeeded; null if there were none.',
    }),
  }),
})

const StatisticsBucket = builder.objectRef<SessionStatistics['buckets'][number]>('StatisticsBucket').implement({
  description: 'One bucket: a span of time.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Its beginning.' }),
    to: t.expose('to', { type: 'DateTime', description: 'Its end, exclusive.' }),
    figures: t.field({
      type: SessionFiguresType,
      description: 'Results of the sessions that ended within it.',
      resolve: (each) => each,
    }),
    byCause: t.expose('byCause', {
      type: [CauseStatistics],
      description: 'Why sessions failed within it, most frequent cause first.',
    }),
  }),
})

const OutcomeUsageType = builder.objectRef<OutcomeUsage>('OutcomeUsage').implement({
  description: 'Resources used by the sessions with one result, each attempt counted separately.',
  fields: (t) => ({
    result: t.expose('result', {
      type: SessionResultEnum,
      description: 'Their result. UNDEFINED: a person terminated them before they had one.',
    }),
    sessions: t.exposeInt('sessions', { description: 'Number of sessions whose use is known.' }),
    peakMemoryBytes: t.expose('peakMemoryBytes', {
      type: 'Bytes',
      nullable: true,
      description: 'The largest peak memory of one kernel, in bytes.',
    }),
    cpuSeconds: t.exposeFloat('cpuSeconds', { nullable: true, description: 'Their total CPU time, in seconds.' }),
    wallSeconds: t.exposeFloat('wallSeconds', { nullable: true, description: 'Their total running time, in seconds.' }),
  }),
})

const SessionStatisticsType = builder.objectRef<SessionStatistics>('SessionStatistics').implement({
  description: 'Statistics of the sessions that ended within a span of time.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Its beginning.' }),
    to: t.expose('to', { type: 'DateTime', description: 'Its end, exclusive.' }),
    bucketSeconds: t.exposeInt('bucketSeconds', { description: 'Length of one bucket.' }),
    byStatus: t.expose('byStatus', {
      type: [StatusCount],
      description:
        'Number of sessions by status: those that ended within the span, and those that are not finished now. Statuses without sessions are left out.',
    }),
    byCause: t.expose('byCause', {
      type: [CauseStatistics],
      description: 'Why sessions failed, most frequent cause first.',
    }),
    usage: t.field({
      type: [OutcomeUsageType],
      description:
        'Resources used by the sessions that ended within the span, by their result. Results without sessions are left out.',
      resolve: (statistics, _args, context) => readOutcomeUsage(context, statistics),
    }),
    total: t.expose('total', { type: SessionFiguresType, description: 'Results of the whole span.' }),
    buckets: t.expose('buckets', {
      type: [StatisticsBucket],
      description: 'The buckets of the span, including empty ones.',
    }),
  }),
})

const FailureGroupingEnum = builder.enumType('FailureGrouping', {
  description: 'Property that failures are grouped by.',
  values: {
    CAUSE: { description: 'Cause of the failure.' },
    EXIT_CODE: { description: 'Exit code. Failures without one are left out.' },
    NAME: { description: 'Name of the session.' },
    LABEL: { description: 'Labels of the session. A session with several labels is counted for each.' },
    AGENT: { description: 'Agents of the kernels. A session on several agents is counted for each.' },
  } as const,
})

export const FailureCountType = builder.objectRef<FailureCount>('FailureCount').implement({
  description: 'A group of failed attempts that have one property in common. Only the field of that property is set.',
  fields: (t) => ({
    cause: t.field({
      type: FailureCauseEnum,
      nullable: true,
      description: 'Their cause, if grouped by cause.',
      resolve: ({ cause }) => cause ?? null,
    }),
    timedOut: t.boolean({
      nullable: true,
      description:
        'Whether they were ended by their batch timeout, if grouped by cause: timeouts are a group apart from exit codes, although both have the cause KERNEL_NONZERO_EXIT.',
      resolve: ({ timedOut }) => timedOut ?? null,
    }),
    exitCode: t.int({
      nullable: true,
      description: 'Their exit code, if grouped by exit code.',
      resolve: ({ exitCode }) => exitCode ?? null,
    }),
    name: t.string({
      nullable: true,
      description: 'The name of their sessions, if grouped by name.',
      resolve: ({ name }) => name ?? null,
    }),
    label: t.field({
      type: Label,
      nullable: true,
      description: 'A label of their sessions, if grouped by label.',
      resolve: ({ labelKey, labelValue }) =>
        labelKey === undefined ? null : { key: labelKey, value: labelValue ?? '' },
    }),
    agentId: t.field({
      type: 'UUID',
      nullable: true,
      description: 'Id of an agent that they ran on, if grouped by agent.',
      resolve: ({ agentId }) => agentId ?? null,
    }),
    agentName: t.string({
      nullable: true,
      description: 'Name of this agent.',
      resolve: ({ agentName }) => agentName ?? null,
    }),
    failed: t.exposeInt('failed', { description: 'Number of failed attempts.' }),
    chains: t.exposeInt('chains', { description: 'Number of their chains.' }),
    lost: t.exposeInt('lost', { description: 'Number of these chains that have finally failed.' }),
    latestAt: t.expose('latestAt', { type: 'DateTime', description: 'When the last one of them failed.' }),
  }),
})

/** Returns the arguments for the span of time and the sessions to count. */
const counted = (t: ArgumentBuilder) => ({
  from: t.arg({ type: 'DateTime', description: 'Start of the span; by default a day before the end.' }),
  to: t.arg({ type: 'DateTime', description: 'End of the span, exclusive; by default now.' }),
  project: t.arg.string({ description: 'In the project of this name.' }),
  name: t.arg.string({ description: 'With exactly this name.' }),
  label: t.arg({ type: LabelInput, description: 'With this label.' }),
  resourceGroup: t.arg.string({ description: 'In the resource group of this name.' }),
  user: t.arg.string({ description: 'Of the user with this name.' }),
  sessionType: t.arg({
    type: [SessionTypeEnum],
    description: 'Of one of these types. `[BATCH, INTERACTIVE]` leaves out the replicas of deployments.',
  }),
})
type ArgumentBuilder = Parameters<Parameters<typeof builder.queryField>[1]>[0]

builder.queryField('sessionStatistics', (t) =>
  t.field({
    type: SessionStatisticsType,
    description: 'Counts and rates of the sessions that you may see, over at most 31 days and 500 buckets.',
    args: { ...counted(t), bucketSeconds: t.arg.int({ description: 'Length of one bucket; an hour by default.' }) },
    resolve: (_root, args, context) => readSessionStatistics(context, args),
  }),
)

builder.queryField('failureCounts', (t) =>
  t.field({
    type: [FailureCountType],
    description:
      'Failed attempts that you may see, over at most 31 days, grouped by one property, largest groups first.',
    args: {
      by: t.arg({ type: FailureGroupingEnum, required: true, description: 'Property to group by.' }),
      ...counted(t),
      cause: t.arg({ type: [FailureCauseEnum], description: 'Only failures with one of these causes.' }),
      timedOut: t.arg.boolean({ description: 'Only failures that were, or were not, caused by the batch timeout.' }),
      first: t.arg.int({ description: `Number of groups, at most ${FAILURE_GROUPS_MAX}; 20 by default.` }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: Math.max(1, first ?? 20) }),
    resolve: (_root, { cause, ...args }, context) => readFailureCounts(context, { ...args, causes: cause }),
  }),
)
