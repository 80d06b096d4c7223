import { createRoute } from '@hono/zod-openapi'
import { createSchedule, type CreateScheduleInput } from '../../services/schedule/create-schedule.ts'
import { describeSchedule } from '../../services/schedule/describe-schedules.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { readJsonObject } from '../json-body.ts'
import { writtenInput } from '../resources/written-input.ts'
import type { RestApp } from '../rest-app.ts'
import { BODY_PROBLEMS, body } from '../routes/body.ts'
import { SCHEDULE_INPUT } from './schedule-input.ts'
import { ScheduleResource, toSchedule } from './schedule.resource.ts'

const route = createRoute({
  method: 'post',
  path: '/v2/schedules',
  operationId: 'createSchedule',
  summary: 'Create a schedule',
  description: 'Its name is unique in its project, so that a repeated request makes no second one: NAME_TAKEN.',
  tags: ['schedules'],
  request: {
    body: body(SCHEDULE_INPUT, {
      name: 'nightly',
      cron: '30 2 * * *',
      time_zone: 'Europe/Berlin',
      overlap: 'SKIP',
      session: { name: 'report', command: ['./report.sh'], retry_policy: { max_retries: 3 } },
    }),
  },
  responses: {
    201: json(ScheduleResource, 'Created.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'PROJECT_NOT_FOUND', 'RESOURCE_GROUP_NOT_FOUND', 'NAME_TAKEN', 'QUOTA_EXCEEDED'),
  },
})

export function serveCreateSchedule(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const input = writtenInput(await readJsonObject(c.env.incoming)) as CreateScheduleInput
    const { scheduleId } = await createSchedule(context, input)
    const schedule = toSchedule(await describeSchedule(context, scheduleId))
    return c.json(schedule, 201, { Location: `/v2/schedules/${scheduleId}` })
  })
}
