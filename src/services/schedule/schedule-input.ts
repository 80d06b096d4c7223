import { z } from 'zod'
import { duration } from '../../domain/durations.ts'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import {
  NAME_LENGTH_MAX,
  SCHEDULE_CATCH_UP_MAX,
  SCHEDULE_CRON_LENGTH_MAX,
  SCHEDULE_EVERY_SECONDS_MAX,
  SCHEDULE_EVERY_SECONDS_MIN,
  SCHEDULE_JITTER_SECONDS_MAX,
} from '../../domain/limits.ts'
import { cronFault, SCHEDULE_OVERLAPS, timeZoneOf } from '../../domain/schedule.ts'
import type { ScheduleSettings, ScheduleTemplate } from '../../store/sql/schedule/schedules.sql.ts'
import { inputError, issuesOf, issuesUnder, refuseInput, withoutNulls } from '../input/parse-input.ts'
import { text } from '../input/input-fields.ts'
import { fillProject } from '../access/tenants.ts'
import type { ServiceContext } from '../service-context.ts'
import { type CreateSessionInput, inputDigest, parseCreateSession } from '../session/create-session-input.ts'
import { planFirstAttempt, readPlanScope } from '../session/plan-attempt.ts'
import { besideOtherFaults } from '../session/session-fields.ts'

/** The timing and behaviour of a schedule. Durations are in seconds. */
export interface ScheduleSettingsInput {
  name: string
  cron?: string | null
  every?: number | null
  timeZone?: string | null
  overlap?: ScheduleSettings['overlap'] | null
  catchUp?: number | null
  jitter?: number | null
}

/** The schedule's own fields, with GraphQL's names. */
export const scheduleSettingsSchema = z
  .strictObject({
    name: text(NAME_LENGTH_MAX),
    cron: text(SCHEDULE_CRON_LENGTH_MAX)
      .superRefine((expression, context) => {
        const fault = cronFault(expression, new Date())
        if (fault !== null) context.addIssue(fault)
      })
      .optional(),
    every: duration(z.number().min(SCHEDULE_EVERY_SECONDS_MIN).max(SCHEDULE_EVERY_SECONDS_MAX)).optional(),
    timeZone: text(NAME_LENGTH_MAX)
      .refine((name) => timeZoneOf(name) !== null, 'must be the name of a time zone, like Europe/Berlin')
      .default('UTC'),
    overlap: z.enum(SCHEDULE_OVERLAPS).default('SKIP'),
    catchUp: z.int().min(0).max(SCHEDULE_CATCH_UP_MAX).default(1),
    jitter: duration(z.number().min(0).max(SCHEDULE_JITTER_SECONDS_MAX)).default(0),
  })
  .superRefine(
    ({ cron, every, jitter }, context) => {
      const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
      if ((cron === undefined) === (every === undefined)) fault('cron', 'exactly one of cron and every must be given')
      if (every !== undefined && jitter > every) fault('jitter', 'must not be longer than every')
    },
    { when: besideOtherFaults },
  )

/** Reports all faults at once. */
export function parseScheduleSettings(
  input: ScheduleSettingsInput,
): { settings: ScheduleSettings } | { issues: ValidationIssue[] } {
  const parsed = scheduleSettingsSchema.safeParse(withoutNulls(input))
  if (!parsed.success) return { issues: issuesOf(parsed.error) }
  return { settings: { ...parsed.data, cron: parsed.data.cron ?? null, every: parsed.data.every ?? null } }
}

/** Fields that are individual to each run, or do not apply to runs. */
const NOT_OF_RUNS = ['creationId', 'startsAt', 'dependsOn', 'inputs'] as const

/**
 * Checks that a session can be created from this input, as `createSession` does, and returns the part that is stored.
 * `otherIssues` are faults of the other fields, which are reported together with its own.
 * @throws RepriseError VALIDATION_FAILED, PROJECT_NOT_FOUND, RESOURCE_GROUP_NOT_FOUND
 */
export async function parseTemplate(
  context: ServiceContext,
  session: CreateSessionInput,
  otherIssues: readonly ValidationIssue[] = [],
): Promise<ScheduleTemplate & { projectId: string; sessionDigest: string }> {
  const given = withoutNulls(await fillProject(context, session))
  const parsed = parseCreateSession(given)
  const issues = 'issues' in parsed ? parsed.issues : []
  const own = NOT_OF_RUNS.filter((field) => given?.[field] !== undefined && !isEmptyList(given[field]))
  const foreign = own.map((path) => ({ path, message: 'is not for schedules: their runs have their own times' }))
  const faults = [...otherIssues, ...issuesUnder('session', [...issues, ...foreign])]
  if (!('value' in parsed) || faults.length > 0) return refuseInput(faults)
  const scope = await readPlanScope(context, [parsed.value])
  const planned = planFirstAttempt(parsed.value, scope, context)
  if (planned instanceof RepriseError) throw underSession(planned)
  const { secretEnviron: _, ...template } = given
  const { projectId, secretEnviron } = planned
  return { projectId, template, secretEnviron, sessionDigest: inputDigest(parsed.value, secretEnviron) }
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function underSession(error: RepriseError): RepriseError {
  return error.issues.length === 0 ? error : inputError(issuesUnder('session', error.issues))
}
