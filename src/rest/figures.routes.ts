import { createRoute, z } from '@hono/zod-openapi'
import { FIGURE_GROUPINGS, isOfFailures } from '../domain/insight/figures.ts'
import { FIGURE_GROUPS_MAX } from '../domain/limits.ts'
import {
  type FiguresInput,
  type InsightPoint,
  readRetryInsights,
  readUsageRows,
  type RetryInsight,
  type UsageRow,
} from '../services/insight/read-figures.ts'
import { flag, labelFilters, moment, toLabelFilters } from './parameters.ts'
import type { RestApp } from './rest-app.ts'
import { COMMON_PROBLEMS, json } from './route-parts.ts'

const group = {
  key: z
    .string()
    .nullable()
    .openapi({ description: 'The value of the property, or the id of what it names; null for none.' }),
  title: z.string().nullable().openapi({ description: 'The name that people know it by, or a rule in words.' }),
}

const slotSeconds = (description: string) =>
  z.object({ cpu: z.number(), mem: z.number(), gpu: z.number() }).openapi({ description })

const InsightResource = z
  .object({
    ...group,
    attempts: z.int(),
    failed: z.int(),
    retries: z.int().openapi({ description: 'Automatic retries of these failures that have ended.' }),
    chains_saved: z.int(),
    chains_lost: z.int(),
    success_by_retry: z.array(
      z.object({
        retry: z.int(),
        succeeded: z.int(),
        failed: z.int(),
        stopped: z.int(),
        share: z.number().nullable(),
        cumulative: z.number(),
      }),
    ),
    running_seconds_lost: z.number(),
    slot_seconds_lost: slotSeconds('Requested amounts times the running time of failed attempts.'),
    waiting_seconds: z.number(),
    median_seconds_to_success: z.number().nullable(),
    effective_share: z.number().nullable(),
    series: z
      .array(
        z.object({
          from: z.iso.datetime(),
          attempts: z.int(),
          failed: z.int(),
          running_seconds_lost: z.number(),
          slot_seconds_lost: slotSeconds('The same, times what they requested.'),
        }),
      )
      .optional()
      .openapi({
        description:
          'The same by the day (UTC), for windows up to 3 days by the hour, without those that have no attempts; only with `series=true`.',
      }),
  })
  .openapi('RetryInsight', { description: 'What failures and retries of one group came to.' })

const UsageResource = z
  .object({
    ...group,
    sessions: z.int(),
    running_seconds: z.number(),
    slot_seconds: slotSeconds('Requested amounts times running time.'),
    cpu_seconds_used: z.number().openapi({ description: 'CPU time, as far as it was measured.' }),
  })
  .openapi('UsageRow', { description: 'What the sessions of one group used.' })

const parameters = <const Grouping extends string>(groupings: readonly Grouping[], usual: NoInfer<Grouping>) =>
  z.strictObject({
    by: z
      .string()
      .toUpperCase()
      .pipe(z.enum(groupings))
      .default(usual as never)
      .openapi({ type: 'string', enum: [...groupings], description: 'The property to group by.' }),
    label_key: z.string().optional().openapi({ description: 'The key of the label; only to group by LABEL.' }),
    from: moment('Beginning of the window; by default 30 days before its end.'),
    to: moment('End of the window, exclusive; now if missing.'),
    project: z.string().optional().openapi({ description: 'In the project of this name.' }),
    resource_group: z.string().optional().openapi({ description: 'In this resource group.' }),
    user: z.string().optional().openapi({ description: 'Of this user.' }),
    name: z.string().optional().openapi({ description: 'With this name.' }),
    label: labelFilters(),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(FIGURE_GROUPS_MAX)
      .optional()
      .openapi({ description: 'Maximum number of groups.', type: 'integer' }),
  })

const tags = ['insight']
const USAGE_GROUPINGS = FIGURE_GROUPINGS.filter((grouping) => !isOfFailures(grouping))

const insightParameters = parameters(FIGURE_GROUPINGS, 'CAUSE').extend({
  series: flag('True: with the figures of each group by the day or by the hour.'),
})

const insightsRoute = createRoute({
  method: 'get',
  path: '/v2/insights',
  operationId: 'listRetryInsights',
  summary: 'Show what failures cost and retries bring',
  description: 'Attempts of batch sessions by one property; those that lost most CPU time come first.',
  tags,
  request: { query: insightParameters },
  responses: {
    200: json(z.object({ items: z.array(InsightResource) }).openapi('RetryInsights'), 'The groups.'),
    ...COMMON_PROBLEMS,
  },
})

const usageRoute = createRoute({
  method: 'get',
  path: '/v2/usage',
  operationId: 'listUsage',
  summary: 'Show who used the cluster',
  description: 'Sessions of all types by one property; those with most CPU time come first.',
  tags,
  request: { query: parameters(USAGE_GROUPINGS, 'USER') },
  responses: {
    200: json(z.object({ items: z.array(UsageResource) }).openapi('Usage'), 'The groups.'),
    ...COMMON_PROBLEMS,
  },
})

export function serveFigures(app: RestApp): void {
  app.openapi(insightsRoute, async (c) => {
    const { series = false, ...query } = c.req.valid('query')
    const rows = await readRetryInsights(c.get('context'), toInput(query))
    return c.json({ items: await Promise.all(rows.map((row) => toInsight(row, series))) }, 200)
  })
  app.openapi(usageRoute, async (c) => {
    const rows = await readUsageRows(c.get('context'), toInput(c.req.valid('query')))
    return c.json({ items: rows.map(toUsage) }, 200)
  })
}

type Query = z.infer<ReturnType<typeof parameters<FiguresInput['groupBy']>>>

function toInput(query: Query): FiguresInput {
  const { by, label_key: labelKey, from, to, project, resource_group: resourceGroup, user, name, label, limit } = query
  const labels = label && toLabelFilters(label)
  const filter = { project, resourceGroup, user, name: name === undefined ? undefined : { equals: name }, labels }
  return { groupBy: by, labelKey, window: { from, to }, filter, first: limit }
}

async function toInsight(row: RetryInsight, withSeries: boolean): Promise<z.infer<typeof InsightResource>> {
  const retried = await row.retried()
  const points = withSeries ? await row.series() : undefined
  const { key, title, attempts, failed, retries } = row
  return {
    key,
    title,
    attempts,
    failed,
    retries,
    chains_saved: row.chainsSaved,
    chains_lost: row.chainsLost,
    success_by_retry: retried.successByRetry,
    running_seconds_lost: row.runningSecondsLost,
    slot_seconds_lost: row.slotSecondsLost,
    waiting_seconds: row.waitingSeconds,
    median_seconds_to_success: retried.medianSecondsToSuccess,
    effective_share: row.effectiveShare,
    ...(points && { series: points.map(toPoint) }),
  }
}

function toPoint({ from, attempts, failed, runningSecondsLost, slotSecondsLost }: InsightPoint) {
  return {
    from: from.toISOString(),
    attempts,
    failed,
    running_seconds_lost: runningSecondsLost,
    slot_seconds_lost: slotSecondsLost,
  }
}

function toUsage(row: UsageRow): z.infer<typeof UsageResource> {
  return {
    key: row.key,
    title: row.title,
    sessions: row.sessions,
    running_seconds: row.runningSeconds,
    slot_seconds: row.slotSeconds,
    cpu_seconds_used: row.cpuSecondsUsed,
  }
}
