import type { FIGURE_GROUPINGS, FigureGrouping, RetrySuccess } from '../../../domain/insight/figures.ts'
import { FIGURE_GROUPS_DEFAULT, FIGURE_GROUPS_MAX } from '../../../domain/limits.ts'
import {
  type FigureGroup,
  type InsightPoint,
  readRetryInsights,
  readUsageRows,
  type RetryInsight,
  type SlotSeconds,
  type UsageRow,
} from '../../../services/insight/read-figures.ts'
import { builder } from '../../builder.ts'
import { TimeWindow } from '../retry/retry-preview.operations.ts'
import { SessionFilter } from '../session/session.inputs.ts'

const PROPERTIES = {
  PROJECT: { description: 'Project.' },
  NAME: { description: 'Name of the session.' },
  USER: { description: 'User whose session it is.' },
  RESOURCE_GROUP: { description: 'Resource group.' },
  IMAGE: { description: 'Image. Sessions without one are left out.' },
  AGENT: { description: 'Agent of the kernel that decided how the session ended.' },
  SESSION_GROUP: { description: 'Group of sessions. Sessions without one are left out.' },
  LABEL: { description: 'Value of the label `labelKey`. Sessions without it are left out.' },
} as const satisfies Partial<Record<FigureGrouping, { description: string }>>

const InsightGroupingEnum = builder.enumType('InsightGrouping', {
  description: 'Property that attempts are grouped by.',
  values: {
    ...PROPERTIES,
    CAUSE: { description: 'Cause of the failure: failed attempts only, like the ones below.' },
    EXIT_CODE: { description: 'Exit code of the failure.' },
    RULE: { description: 'Rule of the policy that decided about the failure.' },
    FAILURE_GROUP: { description: 'Group of failures, by what they say.' },
  } as const satisfies Record<(typeof FIGURE_GROUPINGS)[number], { description: string }>,
})

const UsageGroupingEnum = builder.enumType('UsageGrouping', {
  description: 'Property that usage is grouped by.',
  values: PROPERTIES,
})

const SlotSecondsType = builder.objectRef<SlotSeconds>('SlotSeconds').implement({
  description: 'Requested amounts of slots times the seconds for which sessions ran.',
  fields: (t) => ({
    cpu: t.exposeFloat('cpu', { description: 'CPUs times seconds.' }),
    mem: t.exposeFloat('mem', { description: 'Bytes of memory times seconds.' }),
    gpu: t.exposeFloat('gpu', { description: 'GPUs times seconds.' }),
  }),
})

const RetrySuccessType = builder.objectRef<RetrySuccess>('RetrySuccess').implement({
  description: 'How the n-th automatic retries ended, of those that have ended.',
  fields: (t) => ({
    retry: t.exposeInt('retry', { description: 'The n: 1 for the first retry after a first attempt.' }),
    succeeded: t.exposeInt('succeeded', { description: 'Number of these retries that succeeded.' }),
    failed: t.exposeInt('failed', { description: 'Number of these that failed.' }),
    stopped: t.exposeInt('stopped', {
      description: 'Number of these that a person stopped. They count for nothing else.',
    }),
    share: t.exposeFloat('share', {
      nullable: true,
      description: 'The share that succeeded, of those that succeeded or failed; null without any.',
    }),
    cumulative: t.exposeFloat('cumulative', {
      description:
        'The share of failures that one of the first n retries mends, by the Kaplan–Meier estimate: chains that were stopped earlier, by their policy or by people, count neither as mended nor as failed.',
    }),
  }),
})

const InsightPointType = builder.objectRef<InsightPoint>('RetryInsightPoint').implement({
  description: 'What attempts came to that ended within one hour or day.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Its beginning.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts.' }),
    failed: t.exposeInt('failed', { description: 'Number of these that failed.' }),
    runningSecondsLost: t.exposeFloat('runningSecondsLost', { description: 'Seconds for which failed attempts ran.' }),
    slotSecondsLost: t.expose('slotSecondsLost', {
      type: SlotSecondsType,
      description: 'The same, times what they requested.',
    }),
  }),
})

const GROUP = {
  key: {
    nullable: true,
    description: 'The value of the property, or the id of what it names; null for attempts without it.',
  },
  title: {
    nullable: true,
    description: 'The name that people know it by, or a rule in words; null for attempts without one.',
  },
} as const

const RetryInsightType = builder.objectRef<RetryInsight>('RetryInsight').implement({
  description:
    'What attempts of batch sessions came to that have one property in common and ended within a window. Retries are counted with the failure that they retry.',
  fields: (t) => ({
    key: t.exposeString('key' satisfies keyof FigureGroup, GROUP.key),
    title: t.exposeString('title' satisfies keyof FigureGroup, GROUP.title),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts.' }),
    failed: t.exposeInt('failed', { description: 'Number of these that failed.' }),
    retries: t.exposeInt('retries', { description: 'Number of automatic retries of these failures that have ended.' }),
    chainsSaved: t.exposeInt('chainsSaved', {
      description: 'Number of chains that an automatic retry brought to success, each with its last failure.',
    }),
    chainsLost: t.exposeInt('chainsLost', {
      description:
        'Number of chains that failed in spite of automatic retries, each with its last failure; once for each time that people started it.',
    }),
    successByRetry: t.field({
      type: [RetrySuccessType],
      description: 'Success of the first retry, the second, and so on.',
      resolve: async ({ retried }) => (await retried()).successByRetry,
    }),
    runningSecondsLost: t.exposeFloat('runningSecondsLost', { description: 'Seconds for which failed attempts ran.' }),
    slotSecondsLost: t.expose('slotSecondsLost', {
      type: SlotSecondsType,
      description: 'The same, times what they requested.',
    }),
    waitingSeconds: t.exposeFloat('waitingSeconds', {
      description: 'Seconds for which the attempts waited to start: retries from the failure before them on.',
    }),
    medianSecondsToSuccess: t.float({
      nullable: true,
      resolve: async ({ retried }) => (await retried()).medianSecondsToSuccess,
      description:
        'Median time from the creation of a saved chain to its success, accurate to 9 %; null if none was saved.',
    }),
    effectiveShare: t.exposeFloat('effectiveShare', {
      nullable: true,
      description:
        'Running time of attempts that succeeded, divided by all running and waiting time. Null without any, and for properties of failures.',
    }),
    series: t.field({
      type: [InsightPointType],
      description:
        'The same by the day (UTC), for windows up to 3 days by the hour. Days and hours without attempts are left out.',
      complexity: { field: SERIES_COST },
      resolve: ({ series }) => series(),
    }),
  }),
})

const UsageRowType = builder.objectRef<UsageRow>('UsageRow').implement({
  description: 'What sessions of all types used within a window that have one property in common.',
  fields: (t) => ({
    key: t.exposeString('key' satisfies keyof FigureGroup, GROUP.key),
    title: t.exposeString('title' satisfies keyof FigureGroup, GROUP.title),
    sessions: t.exposeInt('sessions', { description: 'Number of sessions that ended within the window.' }),
    runningSeconds: t.exposeFloat('runningSeconds', {
      description: 'Seconds of the window for which sessions ran; those that still run count up to now.',
    }),
    slotSeconds: t.expose('slotSeconds', {
      type: SlotSecondsType,
      description: 'The same, times what they requested.',
    }),
    cpuSecondsUsed: t.exposeFloat('cpuSecondsUsed', {
      description: 'CPU time that their programs used, as far as agents have measured it at their end.',
    }),
  }),
})

/** They sum up many rows. */
const COST = 50
const SERIES_COST = 50

type ArgumentBuilder = Parameters<Parameters<typeof builder.queryField>[1]>[0]

const figuresArguments = (t: ArgumentBuilder, window: string) => ({
  filter: t.arg({
    type: SessionFilter,
    description:
      'Only these sessions. A filter by more than the project may match at most 50000 sessions of the window.',
  }),
  window: t.arg({
    type: TimeWindow,
    description: window,
  }),
  labelKey: t.arg.string({ description: 'The key of the label; only to group by LABEL.' }),
  first: t.arg.int({
    description: `The most groups to return, at most ${FIGURE_GROUPS_MAX}; ${FIGURE_GROUPS_DEFAULT} if missing.`,
  }),
})

builder.queryField('retryInsights', (t) =>
  t.field({
    type: [RetryInsightType],
    description:
      'What failures cost and what retries bring: attempts of batch sessions that you may see, by one property. Those that lost most CPU time come first. New attempts are included within seconds of their end.',
    args: {
      ...figuresArguments(
        t,
        'When they ended; the last 30 days if missing. Without a filter, windows of more than 3 days are rounded outwards to whole days (UTC).',
      ),
      groupBy: t.arg({ type: InsightGroupingEnum, required: true, description: 'The property.' }),
    },
    complexity: { field: COST },
    resolve: (_root, args, context) => readRetryInsights({ ...context, prisma: context.services.prisma }, args),
  }),
)

builder.queryField('usage', (t) =>
  t.field({
    type: [UsageRowType],
    description:
      'Who used the cluster: sessions that you may see, by one property. Those with most CPU time come first.',
    args: {
      ...figuresArguments(
        t,
        'The time to account for; the last 30 days if missing. Without a filter, it is rounded outwards to whole days (UTC).',
      ),
      groupBy: t.arg({ type: UsageGroupingEnum, required: true, description: 'The property.' }),
    },
    complexity: { field: COST },
    resolve: (_root, args, context) => readUsageRows({ ...context, prisma: context.services.prisma }, args),
  }),
)
