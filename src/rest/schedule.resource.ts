import { z } from '@hono/zod-openapi'
import { CREATION_ID_LENGTH_MAX } from '../domain/limits.ts'
import { SCHEDULE_OVERLAPS, SCHEDULE_RUN_OUTCOMES } from '../domain/schedule.ts'
import { secretNames } from '../domain/session/kernel-environment.ts'
import type { DescribedSchedule, ScheduleRunRow } from '../services/schedule/read-schedules.ts'
import {
  environ,
  labels,
  mounts,
  scheduledGpus,
  secretEnviron,
  slots,
  time,
  toLabels,
  toMounts,
  toSlots,
  toTime,
} from './fields.ts'
import { scheduleSettingsSchema } from '../services/schedule/schedule-input.ts'
import { component, inputSchema, type JsonSchema } from './openapi.ts'
import { PartialRetryPolicyResource, toPartialRetryPolicy } from './retry.resource.ts'
import { SESSION_INPUT } from './session.input.ts'

const ScheduledSession = z
  .object({
    name: z.string(),
    session_type: z.string(),
    resource_group: z.string(),
    image: z.string().nullable(),
    command: z.array(z.string()),
    environ: environ(),
    secret_environ: secretEnviron(),
    resource_slots: slots(),
    gpus: scheduledGpus(),
    cluster_size: z.int(),
    cluster_mode: z.string(),
    batch_timeout: z.number().nullable(),
    gpu_idle_timeout: z.number().nullable(),
    on_hang: z.array(z.string()),
    never_run_twice: z.boolean(),
    stop_grace: z.number().nullable(),
    max_pending: z.number().nullable(),
    priority: z.int(),
    labels: labels(),
    code_sha256: z.string().nullable(),
    allow_agents: z.array(z.uuid()),
    avoid_agents: z.array(z.uuid()),
    exclude_agents: z.array(z.uuid()),
    agent_labels: labels(),
    executor_options: labels(),
    mounts: mounts(),
    concurrency_key: z.string().nullable(),
    concurrency_limit: z.int().nullable(),
    retry_policy: PartialRetryPolicyResource,
    max_retries: z.int().nullable().openapi({ description: 'Same as in `retry_policy`.' }),
  })
  .openapi('ScheduledSession', { description: 'The session that the runs of a schedule create.' })

export const ScheduleResource = z
  .object({
    id: z.uuid(),
    name: z.string(),
    project: z.string(),
    cron: z.string().nullable(),
    every: z.number().nullable(),
    time_zone: z.string(),
    overlap: z.enum(SCHEDULE_OVERLAPS),
    catch_up: z.int(),
    jitter: z.number(),
    session: ScheduledSession.nullable().openapi({
      description: 'The session that runs create; null if its specification is no longer valid.',
    }),
    paused: z.boolean(),
    paused_at: time().nullable(),
    paused_by: z.string().nullable(),
    pause_reason: z.string().nullable(),
    status_reason: z.string().nullable().openapi({ description: 'Why its last run was refused, in words.' }),
    next_run_at: time().nullable().openapi({ description: 'When its next run is due, with its jitter.' }),
    next_runs: z.array(time()).openapi({ description: 'The next five planned times, without jitter.' }),
    queued: z.int().openapi({ description: 'Number of runs that wait for an earlier one to end.' }),
    owner: z.string().openapi({ description: 'The token whose rights its runs have.' }),
    created_by: z.string(),
    created_at: time(),
    updated_at: time(),
  })
  .openapi('Schedule', {
    description: 'A schedule, which creates sessions at planned times. Durations are in seconds.',
  })

export function toSchedule(schedule: DescribedSchedule): z.infer<typeof ScheduleResource> {
  return {
    id: schedule.id,
    name: schedule.name,
    project: schedule.projectName,
    cron: schedule.cron,
    every: schedule.every,
    time_zone: schedule.timeZone,
    overlap: schedule.overlap,
    catch_up: schedule.catchUp,
    jitter: schedule.jitter,
    session: toSession(schedule),
    paused: schedule.pausedAt !== null,
    paused_at: toTime(schedule.pausedAt),
    paused_by: schedule.pausedBy,
    pause_reason: schedule.pauseReason,
    status_reason: schedule.statusReason,
    next_run_at: schedule.pausedAt === null ? toTime(schedule.dueAt) : null,
    next_runs: schedule.nextRuns.map((moment) => moment.toISOString()),
    queued: schedule.queued,
    owner: schedule.owner,
    created_by: schedule.createdBy,
    created_at: schedule.createdAt.toISOString(),
    updated_at: schedule.updatedAt.toISOString(),
  }
}

export const ScheduleRunResource = z
  .object({
    id: z.uuid(),
    planned_at: time(),
    last_planned_at: time().openapi({
      description: 'If `count` is more than 1: the planned time of the last of these runs.',
    }),
    count: z.int().openapi({
      description: 'Number of runs. Consecutive runs that created nothing for the same reason are one entry.',
    }),
    outcome: z.enum(SCHEDULE_RUN_OUTCOMES),
    code: z.string().nullable(),
    reason: z.string().nullable(),
    asked_by: z.string().nullable().openapi({ description: 'Who requested it; null if it was planned.' }),
    decided_at: time(),
    chain_id: z.uuid().nullable().openapi({ description: 'The chain that it created: the id of its first session.' }),
  })
  .openapi('ScheduleRun', { description: 'A run of a schedule and its outcome.' })

export function toScheduleRun(run: ScheduleRunRow): z.infer<typeof ScheduleRunResource> {
  return {
    id: run.id,
    planned_at: run.plannedAt.toISOString(),
    last_planned_at: run.lastPlannedAt.toISOString(),
    count: run.count,
    outcome: run.outcome,
    code: run.code,
    reason: run.reason,
    asked_by: run.askedBy,
    decided_at: run.decidedAt.toISOString(),
    chain_id: run.chainId,
  }
}

const SESSION_REFERENCE: JsonSchema = { ...SESSION_INPUT.reference }

export const SCHEDULE_INPUT = component('ScheduleInput', scheduleInput())
export const SCHEDULE_CHANGE = component('ScheduleChange', scheduleChange())
export const SCHEDULE_PAUSE = component('SchedulePause', {
  type: 'object',
  properties: { reason: { type: ['string', 'null'], description: 'The reason, for people.' } },
  additionalProperties: false,
})

function toSession({ session, secrets }: DescribedSchedule): z.infer<typeof ScheduledSession> | null {
  if (session === null) return null
  return {
    name: session.name,
    session_type: session.sessionType,
    resource_group: session.resourceGroup,
    image: session.image ?? null,
    command: session.command,
    environ: session.environ,
    secret_environ: secretNames(secrets),
    resource_slots: toSlots(session.resourceSlots),
    gpus: session.gpuNeed && { model: session.gpuNeed.model, memory: session.gpuNeed.memoryBytes },
    cluster_size: session.clusterSize,
    cluster_mode: session.clusterMode,
    batch_timeout: session.batchTimeout ?? null,
    gpu_idle_timeout: session.gpuIdleTimeout ?? null,
    on_hang: session.onHang ?? [],
    never_run_twice: session.neverRunTwice ?? false,
    stop_grace: session.stopGrace ?? null,
    max_pending: session.maxPending ?? null,
    priority: session.priority,
    labels: toLabels(session.labels),
    code_sha256: session.codeSha256 ?? null,
    allow_agents: session.allowAgents,
    avoid_agents: session.avoidAgents,
    exclude_agents: session.excludeAgents,
    agent_labels: toLabels(session.agentLabels),
    executor_options: toLabels(session.executorOptions),
    mounts: toMounts(session.mounts),
    concurrency_key: session.concurrencyKey ?? null,
    concurrency_limit: session.concurrencyLimit ?? null,
    retry_policy: toPartialRetryPolicy(session.retryPolicy),
    max_retries: session.retryPolicy.maxRetries ?? null,
  }
}

function scheduleInput(): JsonSchema {
  const schema = inputSchema(scheduleSettingsSchema)
  return {
    ...schema,
    properties: {
      ...schema.properties,
      paused: { type: 'boolean', default: false },
      creation_id: { type: ['string', 'null'], minLength: 1, maxLength: CREATION_ID_LENGTH_MAX },
      session: SESSION_REFERENCE,
    },
    required: ['name', 'session'],
    description: 'The input of `createSchedule`, with names in snake_case. Either `cron` or `every` must be given.',
  }
}

/** Returns the schema of a change, where all fields are optional. */
function scheduleChange(): JsonSchema {
  const { required: _, ...schema } = inputSchema(scheduleSettingsSchema)
  const properties: Record<string, JsonSchema> = {}
  for (const [name, { default: __, ...property }] of Object.entries(schema.properties!)) properties[name] = property
  return {
    ...schema,
    properties: { ...properties, session: SESSION_REFERENCE },
    description:
      'Missing fields stay as they are. `cron` replaces `every`, and the reverse; `session` is replaced as a whole, but its secret variables stay if it has no `secret_environ`.',
  }
}
