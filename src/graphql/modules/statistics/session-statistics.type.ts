import type { CauseFigures, SessionFigures, SessionStatistics } from '../../../services/read-session-statistics.ts'
import { builder } from '../../builder.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { SessionStatusEnum } from '../session/session.enums.ts'

const StatusCount = builder.objectRef<SessionStatistics['byStatus'][number]>('StatusCount').implement({
  description: 'How many sessions are in one status.',
  fields: (t) => ({
    status: t.expose('status', { type: SessionStatusEnum, description: 'The status.' }),
    count: t.exposeInt('count', { description: 'How many sessions.' }),
  }),
})

const SessionFiguresType = builder.objectRef<SessionFigures>('SessionFigures').implement({
  description: 'What became of sessions that were over, each attempt by itself.',
  fields: (t) => ({
    ended: t.exposeInt('ended', { description: 'How many were over.' }),
    succeeded: t.exposeInt('succeeded', { description: 'Of these, how many succeeded.' }),
    failed: t.exposeInt('failed', { description: 'How many failed.' }),
    cancelled: t.exposeInt('cancelled', { description: 'How many a person ended before they came to a result.' }),
    retries: t.exposeInt('retries', { description: 'How many were automatic retries.' }),
    retriesSucceeded: t.exposeInt('retriesSucceeded', { description: 'How many retries succeeded.' }),
    retryRate: t.exposeFloat('retryRate', {
      nullable: true,
      description: 'Share of what was over that was retries; null where nothing was over.',
    }),
    retrySuccessRate: t.exposeFloat('retrySuccessRate', {
      nullable: true,
      description: 'Share of the retries that succeeded; null where there were none.',
    }),
  }),
})

const CauseStatistics = builder.objectRef<CauseFigures>('CauseStatistics').implement({
  description: 'How often sessions failed for one cause, and what retries because of it came to.',
  fields: (t) => ({
    cause: t.expose('cause', { type: FailureCauseEnum, description: 'The cause.' }),
    failed: t.exposeInt('failed', { description: 'Sessions that failed for it.' }),
    retries: t.exposeInt('retries', { description: 'Retries because of it that were over.' }),
    retriesSucceeded: t.exposeInt('retriesSucceeded', { description: 'Of these, how many succeeded.' }),
    retrySuccessRate: t.exposeFloat('retrySuccessRate', {
      nullable: true,
      description: 'Share of the retries that succeeded; null where there were none.',
    }),
  }),
})

const StatisticsBucket = builder.objectRef<SessionStatistics['buckets'][number]>('StatisticsBucket').implement({
  description: 'One span of time.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Its beginning.' }),
    to: t.expose('to', { type: 'DateTime', description: 'Its end, which is not within.' }),
    figures: t.field({ type: SessionFiguresType, description: 'Of what was over within.', resolve: (each) => each }),
  }),
})

export const SessionStatisticsType = builder.objectRef<SessionStatistics>('SessionStatistics').implement({
  description: 'What became of the sessions that were over within a span of time.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Its beginning.' }),
    to: t.expose('to', { type: 'DateTime', description: 'Its end, which is not within.' }),
    bucketSeconds: t.exposeInt('bucketSeconds', { description: 'Length of one bucket.' }),
    byStatus: t.expose('byStatus', {
      type: [StatusCount],
      description: 'Sessions that were over within the span, and those that are not over now. Without those of none.',
    }),
    byCause: t.expose('byCause', {
      type: [CauseStatistics],
      description: 'Why sessions failed, the busiest cause first.',
    }),
    total: t.expose('total', { type: SessionFiguresType, description: 'Of the whole span.' }),
    buckets: t.expose('buckets', {
      type: [StatisticsBucket],
      description: 'The span piece by piece, those in which nothing was over among them.',
    }),
  }),
})
