import { createRoute } from '@hono/zod-openapi'
import { deleteSchedule, pauseSchedule, resumeSchedule } from '../../services/schedule/change-schedule.ts'
import { describeSchedule } from '../../services/schedule/describe-schedules.ts'
import { runScheduleNow } from '../../services/schedule/run-schedule-now.ts'
import { updateSchedule, type UpdateScheduleInput } from '../../services/schedule/update-schedule.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { readJsonObject } from '../json-body.ts'
import { writtenInput } from '../resources/written-input.ts'
import type { RestApp } from '../rest-app.ts'
import { BODY_PROBLEMS, body } from '../routes/body.ts'
import { ScheduleIdParameter } from '../routes/parameters.ts'
import { SCHEDULE_CHANGE, SCHEDULE_PAUSE } from './schedule-input.ts'
import { ScheduleResource, ScheduleRunResource, toSchedule, toScheduleRun } from './schedule.resource.ts'

const CHANGED = {
  200: json(ScheduleResource, 'The schedule, as it is now.'),
  ...COMMON_PROBLEMS,
  ...problems('SCHEDULE_NOT_FOUND'),
}

const updateRoute = createRoute({
  method: 'patch',
  path: '/v2/schedules/{id}',
  operationId: 'updateSchedule',
  summary: 'Change a schedule',
  description: 'Fields that are not given keep their values. Its runs have the rights of the caller from now on.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter, body: body(SCHEDULE_CHANGE, { cron: '0 4 * * 1-5', overlap: 'QUEUE' }) },
  responses: {
    ...CHANGED,
    ...problems(...BODY_PROBLEMS, 'SCHEDULE_NOT_FOUND', 'PROJECT_NOT_FOUND', 'RESOURCE_GROUP_NOT_FOUND', 'NAME_TAKEN'),
  },
})

const pauseRoute = createRoute({
  method: 'post',
  path: '/v2/schedules/{id}/pause',
  operationId: 'pauseSchedule',
  summary: 'Make no runs until it is resumed',
  description: 'What runs goes on, and what waits for it waits.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter, body: body(SCHEDULE_PAUSE, { reason: 'holidays' }) },
  responses: { ...CHANGED, ...problems(...BODY_PROBLEMS, 'SCHEDULE_NOT_FOUND') },
})

const resumeRoute = createRoute({
  method: 'post',
  path: '/v2/schedules/{id}/resume',
  operationId: 'resumeSchedule',
  summary: 'Go on with the next planned time',
  description: 'Those that passed during the pause are not made. Its runs have the rights of the caller from now on.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter },
  responses: CHANGED,
})

const runRoute = createRoute({
  method: 'post',
  path: '/v2/schedules/{id}/run',
  operationId: 'runScheduleNow',
  summary: 'Make one more run at once',
  description: 'Also of a paused schedule. `overlap` counts as for a planned run.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter },
  responses: {
    201: json(ScheduleRunResource, 'It started, waits, or was skipped for one that goes on.'),
    ...COMMON_PROBLEMS,
    ...problems('SCHEDULE_NOT_FOUND', 'RESOURCE_GROUP_NOT_FOUND', 'QUOTA_EXCEEDED'),
  },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/v2/schedules/{id}',
  operationId: 'deleteSchedule',
  summary: 'Delete a schedule',
  description: 'With the record of its runs. The chains that it made stay, and go on.',
  tags: ['schedules'],
  request: { params: ScheduleIdParameter },
  responses: { 204: { description: 'It is gone.' }, ...COMMON_PROBLEMS, ...problems('SCHEDULE_NOT_FOUND') },
})

export function serveChangeSchedule(app: RestApp): void {
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
    const { run } = await runScheduleNow(context, { scheduleId: c.req.valid('param').id })
    return c.json(toScheduleRun(run), 201)
  })
  app.openapi(deleteRoute, async (c) => {
    await deleteSchedule(c.get('context'), { scheduleId: c.req.valid('param').id })
    return c.body(null, 204)
  })
}
