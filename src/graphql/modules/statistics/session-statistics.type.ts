import {
  readOutcomeUsage,
  type CauseFigures,
  type OutcomeUsage,
  type PendingRetries,
  type SessionFigures,
  type SessionStatistics,
} from '../../../services/session/read-session-statistics.ts'
import { builder } from '../../builder.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { SessionResultEnum, SessionStatusEnum } from '../session/session.enums.ts'

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

export const SessionStatisticsType = builder.objectRef<SessionStatistics>('SessionStatistics').implement({
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
