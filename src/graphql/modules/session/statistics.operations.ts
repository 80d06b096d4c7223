import { FAILURE_GROUPS_MAX } from '../../../domain/limits.ts'
import {
  type CauseFigures,
  type FailureGroup,
  type OutcomeUsage,
  type PendingRetries,
  readFailureGroups,
  readOutcomeUsage,
  readSessionStatistics,
  type SessionFigures,
  type SessionStatistics,
} from '../../../services/session/session-statistics.ts'
import { builder } from '../../builder.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { SessionResultEnum, SessionStatusEnum } from './session.types.ts'
import { Label, LabelInput } from './values.types.ts'

const StatusCount = builder.objectRef<SessionStatistics['byStatus'][number]>('StatusCount').implement({
  description: 'How many sessions are in one status.',
  fields: (t) => ({
    status: t.expose('status', { type: SessionStatusEnum, description: 'The status.' }),
    count: t.exposeInt('count', { description: 'How many sessions.' }),
  }),
})

const SessionFiguresType = builder.objectRef<SessionFigures & Partial<PendingRetries>>('SessionFigures').implement({
  description: 'Results of finished sessions, each attempt counted separately.',
  fields: (t) => ({
    ended: t.exposeInt('ended', { description: 'How many ended.' }),
    succeeded: t.exposeInt('succeeded', { description: 'Of these, how many succeeded.' }),
    failed: t.exposeInt('failed', { description: 'How many failed.' }),
    cancelled: t.exposeInt('cancelled', { description: 'How many a person terminated before they produced a result.' }),
    retries: t.exposeInt('retries', { description: 'How many were automatic retries.' }),
    retriesSucceeded: t.exposeInt('retriesSucceeded', { description: 'How many retries succeeded.' }),
    held: t.int({
      nullable: true,
      description: 'Retries that are held now, whenever their sessions ended; null for a bucket.',
      resolve: ({ held }) => held ?? null,
    }),
    waiting: t.int({
      nullable: true,
      description: 'Retries that wait out their delay now; null for a bucket.',
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
  description: 'How often sessions failed for one cause, and the results of the retries it led to.',
  fields: (t) => ({
    cause: t.expose('cause', { type: FailureCauseEnum, description: 'The cause.' }),
    failed: t.exposeInt('failed', { description: 'Sessions that failed for it.' }),
    retries: t.exposeInt('retries', { description: 'Finished retries caused by it.' }),
    retriesSucceeded: t.exposeInt('retriesSucceeded', { description: 'Of these, how many succeeded.' }),
    retrySuccessRate: t.exposeFloat('retrySuccessRate', {
      nullable: true,
      description: 'Share of the retries that succeeded; null if there were none.',
    }),
  }),
})

const StatisticsBucket = builder.objectRef<SessionStatistics['buckets'][number]>('StatisticsBucket').implement({
  description: 'One span of time.',
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
  description: 'What the sessions with one result used, each attempt counted separately.',
  fields: (t) => ({
    result: t.expose('result', {
      type: SessionResultEnum,
      description: 'Their result; UNDEFINED: a person terminated them before they produced one.',
    }),
    sessions: t.exposeInt('sessions', { description: 'How many of them are known to have used something.' }),
    peakMemoryBytes: t.exposeFloat('peakMemoryBytes', {
      nullable: true,
      description: 'The most memory that one kernel held at once, in bytes.',
    }),
    cpuSeconds: t.exposeFloat('cpuSeconds', { nullable: true, description: 'CPU time of all, in seconds.' }),
    wallSeconds: t.exposeFloat('wallSeconds', { nullable: true, description: 'How long they ran in all, in seconds.' }),
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
        'Sessions that ended within the span, and those not finished now, by status. Statuses without sessions are left out.',
    }),
    byCause: t.expose('byCause', {
      type: [CauseStatistics],
      description: 'Why sessions failed, most frequent cause first.',
    }),
    usage: t.field({
      type: [OutcomeUsageType],
      description:
        'What the sessions that ended within the span used, by their result. Results without any are left out.',
      resolve: (statistics, _args, context) => readOutcomeUsage(context, statistics),
    }),
    total: t.expose('total', { type: SessionFiguresType, description: 'Of the whole span.' }),
    buckets: t.expose('buckets', {
      type: [StatisticsBucket],
      description: 'The span bucket by bucket, including empty ones.',
    }),
  }),
})

const FailureGroupingEnum = builder.enumType('FailureGrouping', {
  description: 'By what failures are counted together.',
  values: {
    CAUSE: { description: 'By their cause.' },
    EXIT_CODE: { description: 'By their exit code, as far as they have one.' },
    NAME: { description: 'By the name of the session.' },
    LABEL: { description: "By each of the session's labels: one with several is counted for each." },
    AGENT: { description: 'By the agents of the kernels: one on several agents is counted for each.' },
  } as const,
})

const FailureGroupType = builder.objectRef<FailureGroup>('FailureGroup').implement({
  description: 'Attempts that failed and have something in common: the one of the fields that they were grouped by.',
  fields: (t) => ({
    cause: t.field({
      type: FailureCauseEnum,
      nullable: true,
      description: 'Their cause.',
      resolve: ({ cause }) => cause ?? null,
    }),
    exitCode: t.int({ nullable: true, description: 'Their exit code.', resolve: ({ exitCode }) => exitCode ?? null }),
    name: t.string({ nullable: true, description: 'The name of their sessions.', resolve: ({ name }) => name ?? null }),
    label: t.field({
      type: Label,
      nullable: true,
      description: 'A label of their sessions.',
      resolve: ({ labelKey, labelValue }) =>
        labelKey === undefined ? null : { key: labelKey, value: labelValue ?? '' },
    }),
    agentId: t.field({
      type: 'UUID',
      nullable: true,
      description: 'An agent that they were on.',
      resolve: ({ agentId }) => agentId ?? null,
    }),
    agentName: t.string({ nullable: true, description: 'Its name.', resolve: ({ agentName }) => agentName ?? null }),
    failed: t.exposeInt('failed', { description: 'How many attempts failed.' }),
    chains: t.exposeInt('chains', { description: 'Of how many chains they are.' }),
    lost: t.exposeInt('lost', { description: 'How many of these chains have failed for good.' }),
    latestAt: t.expose('latestAt', { type: 'DateTime', description: 'When the last one of them failed.' }),
  }),
})

/** Arguments for the span of time and the sessions to count. */
const counted = (t: ArgumentBuilder) => ({
  from: t.arg({ type: 'DateTime', description: 'Start of the span; by default a day before the end.' }),
  to: t.arg({ type: 'DateTime', description: 'End of the span, exclusive; by default now.' }),
  project: t.arg.string({ description: 'In the project of this name.' }),
  name: t.arg.string({ description: 'With exactly this name.' }),
  label: t.arg({ type: LabelInput, description: 'With this label.' }),
  resourceGroup: t.arg.string({ description: 'In the resource group of this name.' }),
  user: t.arg.string({ description: 'Of the user of this name.' }),
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

builder.queryField('failureGroups', (t) =>
  t.field({
    type: [FailureGroupType],
    description:
      'Attempts that failed within at most 31 days, of those that you may see, counted together by what they have in common: the largest groups first.',
    args: {
      by: t.arg({ type: FailureGroupingEnum, required: true, description: 'By what.' }),
      ...counted(t),
      cause: t.arg({ type: [FailureCauseEnum], description: 'For one of these causes.' }),
      first: t.arg.int({ description: `How many groups, at most ${FAILURE_GROUPS_MAX}; 20 by default.` }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: Math.max(1, first ?? 20) }),
    resolve: (_root, { cause, ...args }, context) => readFailureGroups(context, { ...args, causes: cause }),
  }),
)
