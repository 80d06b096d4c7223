import { createRoute, z } from '@hono/zod-openapi'
import { SCHEDULE_RUN_OUTCOMES } from '../../domain/schedule/admit-runs.ts'
import { describeSchedule, describeSchedules, runsOfSchedule } from '../../services/schedule/describe-schedules.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, pageOf, toPage } from '../routes/paging.ts'
import { flag, ScheduleIdParameter, several } from '../routes/parameters.ts'
import { ScheduleResource, ScheduleRunResource, toSchedule, toScheduleRun } from './schedule.resource.ts'

const SchedulePage = pageOf(ScheduleResource).openapi('SchedulePage')
const ScheduleRunPage = pageOf(ScheduleRunResource).openapi('ScheduleRunPage')

const listRoute = createRoute({
  method: 'get',
  path: '/v2/schedules',
  operationId: 'listSchedules',
  summary: 'List schedules',
  description: 'Newest first. All filters that are given must match.',
  tags: ['schedules'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      project: z.string().optional().openapi({ description: 'In the project of this name.' }),
      name: z.string().optional().openapi({ description: 'With this name.' }),
      paused: flag('Paused ones, or those that are not.'),
    }),
  },
  responses: {
    200: json(SchedulePage, 'A page of schedules; the header `Link` points to the next one.'),
    ...COMMON_PROBLEMS,
  },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/schedules/{id}',
  operationId: 'getSchedule',
  summary: 'Get a schedule',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter },
  responses: {
    200: json(ScheduleResource, 'The schedule.'),
    ...COMMON_PROBLEMS,
    ...problems('SCHEDULE_NOT_FOUND'),
  },
})

const runsRoute = createRoute({
  method: 'get',
  path: '/v2/schedules/{id}/runs',
  operationId: 'listScheduleRuns',
  summary: 'List what became of the runs of a schedule',
  description: 'The latest planned first.',
  tags: ['schedules'],
  request: {
    params: ScheduleIdParameter,
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      outcome: several(SCHEDULE_RUN_OUTCOMES, 'With one of these outcomes.'),
    }),
  },
  responses: {
    200: json(ScheduleRunPage, 'A page of runs; the header `Link` points to the next one.'),
    ...COMMON_PROBLEMS,
    ...problems('SCHEDULE_NOT_FOUND'),
  },
})

export function serveReadSchedules(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { limit, cursor, project, name, paused } = c.req.valid('query')
    const page = await describeSchedules(c.get('context'), {
      filter: { project: project ?? null, name: { equals: name ?? null }, paused: paused ?? null },
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toSchedule)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(getRoute, async (c) =>
    c.json(toSchedule(await describeSchedule(c.get('context'), c.req.valid('param').id)), 200),
  )
  app.openapi(runsRoute, async (c) => {
    const { limit, cursor, outcome } = c.req.valid('query')
    const page = await runsOfSchedule(c.get('context'), {
      scheduleId: c.req.valid('param').id,
      outcome,
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toScheduleRun)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
}
