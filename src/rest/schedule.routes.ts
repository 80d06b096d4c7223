import { createRoute, z } from '@hono/zod-openapi'
import { SCHEDULE_RUN_OUTCOMES } from '../domain/schedule.ts'
import { describeSchedule, describeSchedules, runsOfSchedule } from '../services/schedule/read-schedules.ts'
import {
  BODY_PROBLEMS,
  COMMON_PROBLEMS,
  json,
  jsonBody,
  nextLink,
  PAGE_PARAMETERS,
  pageOf,
  problems,
  toPage,
} from './route-parts.ts'
import type { RestApp } from './rest-app.ts'
import { flag, ScheduleIdParameter, several } from './parameters.ts'
import {
  SCHEDULE_CHANGE,
  SCHEDULE_INPUT,
  SCHEDULE_PAUSE,
  ScheduleResource,
  ScheduleRunResource,
  toSchedule,
  toScheduleRun,
} from './schedule.resource.ts'
import {
  createSchedule,
  type CreateScheduleInput,
  deleteSchedule,
  pauseSchedule,
  resumeSchedule,
  updateSchedule,
  type UpdateScheduleInput,
} from '../services/schedule/change-schedule.ts'
import { readJsonObject, writtenInput } from './json-body.ts'
import { runScheduleNow } from '../services/schedule/run-schedule-now.ts'

const SchedulePage = pageOf(ScheduleResource).openapi('SchedulePage')

const ScheduleRunPage = pageOf(ScheduleRunResource).openapi('ScheduleRunPage')

const listRoute = createRoute({
  method: 'get',
  path: '/v2/schedules',
  operationId: 'listSchedules',
  summary: 'List schedules',
  description: 'Newest first. All given filters must match.',
  tags: ['schedules'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      project: z.string().optional().openapi({ description: 'In the project of this name.' }),
      name: z.string().optional().openapi({ description: 'With this name.' }),
      paused: flag('True: only paused schedules; false: only those that are not paused.'),
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
  summary: 'List the outcomes of a schedule’s runs',
  description: 'Latest planned time first.',
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

const createScheduleRoute = createRoute({
  method: 'post',
  path: '/v2/schedules',
  operationId: 'createSchedule',
  summary: 'Create a schedule',
  description:
    'Idempotent by `creation_id`: a repeated request returns the existing schedule, and another request with the same id is refused with CREATION_ID_REUSED.',
  tags: ['schedules'],
  request: {
    body: jsonBody(SCHEDULE_INPUT, {
      name: 'nightly',
      cron: '30 2 * * *',
      time_zone: 'Europe/Berlin',
      overlap: 'SKIP',
      creation_id: 'nightly-1',
      session: { name: 'report', command: ['./report.sh'], retry_policy: { max_retries: 3 } },
    }),
  },
  responses: {
    201: json(ScheduleResource, 'Created.'),
    200: json(ScheduleResource, 'The `creation_id` was used before: the schedule that it created.'),
    ...COMMON_PROBLEMS,
    ...problems(
      ...BODY_PROBLEMS,
      'PROJECT_NOT_FOUND',
      'RESOURCE_GROUP_NOT_FOUND',
      'NAME_TAKEN',
      'CREATION_ID_REUSED',
      'QUOTA_EXCEEDED',
    ),
  },
})

const CHANGED = {
  200: json(ScheduleResource, 'The schedule after the change.'),
  ...COMMON_PROBLEMS,
  ...problems('SCHEDULE_NOT_FOUND'),
}

const updateRoute = createRoute({
  method: 'patch',
  path: '/v2/schedules/{id}',
  operationId: 'updateSchedule',
  summary: 'Change a schedule',
  description: 'Missing fields keep their values. From now on its runs have the rights of the caller.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter, body: jsonBody(SCHEDULE_CHANGE, { cron: '0 4 * * 1-5', overlap: 'QUEUE' }) },
  responses: {
    ...CHANGED,
    ...problems(...BODY_PROBLEMS, 'SCHEDULE_NOT_FOUND', 'PROJECT_NOT_FOUND', 'RESOURCE_GROUP_NOT_FOUND', 'NAME_TAKEN'),
  },
})

const pauseRoute = createRoute({
  method: 'post',
  path: '/v2/schedules/{id}/pause',
  operationId: 'pauseSchedule',
  summary: 'Pause a schedule',
  description: 'It makes no runs until it is resumed. Active runs continue, and waiting runs keep waiting.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter, body: jsonBody(SCHEDULE_PAUSE, { reason: 'holidays' }) },
  responses: { ...CHANGED, ...problems(...BODY_PROBLEMS, 'SCHEDULE_NOT_FOUND') },
})

const resumeRoute = createRoute({
  method: 'post',
  path: '/v2/schedules/{id}/resume',
  operationId: 'resumeSchedule',
  summary: 'Resume a schedule',
  description:
    'It continues with the next planned time. Runs whose planned time passed during the pause are not made. From now on its runs have the rights of the caller.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter },
  responses: CHANGED,
})

const runRoute = createRoute({
  method: 'post',
  path: '/v2/schedules/{id}/run',
  operationId: 'runScheduleNow',
  summary: 'Run a schedule now',
  description:
    'Makes one additional run at once. Works for a paused schedule, too. `overlap` applies as for a planned run.',
  tags: ['schedules'],
  request: {
    params: ScheduleIdParameter,
    query: z.strictObject({
      client_key: z.string().optional().openapi({
        description: 'Idempotency key: a request with the same key makes no second run, and returns the first one.',
      }),
    }),
  },
  responses: {
    200: json(ScheduleRunResource, 'The run that an earlier request with this `client_key` made.'),
    201: json(
      ScheduleRunResource,
      'The run: it started, waits, or was skipped because an earlier one is still active.',
    ),
    ...COMMON_PROBLEMS,
    ...problems('SCHEDULE_NOT_FOUND', 'RESOURCE_GROUP_NOT_FOUND', 'QUOTA_EXCEEDED'),
  },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/v2/schedules/{id}',
  operationId: 'deleteSchedule',
  summary: 'Delete a schedule',
  description: 'Deletes the record of its runs, too. The chains that it created stay and continue.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter },
  responses: {
    204: { description: 'The schedule was deleted.' },
    ...COMMON_PROBLEMS,
    ...problems('SCHEDULE_NOT_FOUND'),
  },
})

export function serveSchedules(app: RestApp): void {
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
  app.openapi(createScheduleRoute, async (c) => {
    const context = c.get('context')
    const input = writtenInput(await readJsonObject(c.env.incoming)) as CreateScheduleInput
    const { scheduleId, created } = await createSchedule(context, input)
    const schedule = toSchedule(await describeSchedule(context, scheduleId))
    if (!created) return c.json(schedule, 200)
    return c.json(schedule, 201, { Location: `/v2/schedules/${scheduleId}` })
  })
  app.openapi(updateRoute, async (c) => {
    const context = c.get('context')
    const change = writtenInput(await readJsonObject(c.env.incoming)) as Omit<UpdateScheduleInput, 'scheduleId'>
    const { scheduleId } = await updateSchedule(context, { ...change, scheduleId: c.req.valid('param').id })
    return c.json(toSchedule(await describeSchedule(context, scheduleId)), 200)
  })
  app.openapi(pauseRoute, async (c) => {
    const context = c.get('context')
    const given = writtenInput(await readJsonObject(c.env.incoming)) as { reason?: string | null }
    const { scheduleId } = await pauseSchedule(context, { ...given, scheduleId: c.req.valid('param').id })
    return c.json(toSchedule(await describeSchedule(context, scheduleId)), 200)
  })
  app.openapi(resumeRoute, async (c) => {
    const context = c.get('context')
    const { scheduleId } = await resumeSchedule(context, { scheduleId: c.req.valid('param').id })
    return c.json(toSchedule(await describeSchedule(context, scheduleId)), 200)
  })
  app.openapi(runRoute, async (c) => {
    const context = c.get('context')
    const [{ id: scheduleId }, { client_key: clientKey }] = [c.req.valid('param'), c.req.valid('query')]
    const { run, created } = await runScheduleNow(context, { scheduleId, clientKey })
    return c.json(toScheduleRun(run), created ? 201 : 200)
  })
  app.openapi(deleteRoute, async (c) => {
    await deleteSchedule(c.get('context'), { scheduleId: c.req.valid('param').id })
    return c.body(null, 204)
  })
}
