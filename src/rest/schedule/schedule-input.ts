import { scheduleSettingsSchema } from '../../services/schedule/schedule-input.ts'
import { component, inputSchema, type JsonSchema } from '../resources/input-schema.ts'
import { SESSION_INPUT } from '../session/session-input.ts'

const SESSION: JsonSchema = { ...SESSION_INPUT.reference }

export const SCHEDULE_INPUT = component('ScheduleInput', scheduleSchema())
export const SCHEDULE_CHANGE = component('ScheduleChange', changeSchema())
export const SCHEDULE_PAUSE = component('SchedulePause', {
  type: 'object',
  properties: { reason: { type: ['string', 'null'], description: 'Why, for people.' } },
  additionalProperties: false,
})

function scheduleSchema(): JsonSchema {
  const schema = inputSchema(scheduleSettingsSchema)
  return {
    ...schema,
    properties: { ...schema.properties, paused: { type: 'boolean', default: false }, session: SESSION },
    required: ['name', 'session'],
    description: 'What `createSchedule` takes, with names in snake_case; `cron` or `every` must be given.',
  }
}

/** In a change, all fields are optional. */
function changeSchema(): JsonSchema {
  const { required: _, ...schema } = inputSchema(scheduleSettingsSchema)
  const properties: Record<string, JsonSchema> = {}
  for (const [name, { default: __, ...property }] of Object.entries(schema.properties!)) properties[name] = property
  return {
    ...schema,
    properties: { ...properties, session: SESSION },
    description: 'What is not given stays as it is; `cron` replaces `every`, and `session` is replaced as a whole.',
  }
}
