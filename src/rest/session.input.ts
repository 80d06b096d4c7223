import { z } from '@hono/zod-openapi'
import { createSessionSchema } from '../services/session/create-session-input.ts'
import { gpus } from '../services/session/session-fields.ts'
import { isDuration } from '../domain/durations.ts'
import { retryPolicy, rule, timeoutGrowth } from '../domain/retry/policy/policy.ts'
import { snakeCase } from './snake-case.ts'
import { component, inputSchema, type JsonSchema } from './openapi.ts'
import { RetryPolicyResource } from './retry.resource.ts'
import { FAILURE_CAUSES, HOLD_REASONS, RETRY_PHASES } from '../domain/session/failure.ts'
import { STATUSES } from '../domain/session/lifecycle.ts'
import { ID_PREFIX_WORDS } from '../services/input/input-fields.ts'
import type { SessionFilterInput } from '../services/session/session-where.ts'
import { DELAYS_MAX } from '../domain/limits.ts'
import { flag, integers, labelFilters, moment, range, several, toLabelFilters } from './parameters.ts'

export const SESSION_INPUT = component('SessionInput', sessionInputSchema())

export const RETRY_UPDATE = component('RetryUpdate', {
  type: 'object',
  properties: {
    policy: partialPolicy(),
    resource_slots: {
      type: 'array',
      items: {
        type: 'object',
        properties: { slot: { type: 'string' }, amount: { type: ['string', 'number'] } },
        required: ['slot', 'amount'],
        additionalProperties: false,
      },
      description: 'Slots that the retry gets instead of those that it would have; the amount 0 removes a slot.',
    },
    gpus: {
      ...inputSchema(gpus.nullable()),
      description: 'What its GPUs must be like. Missing fields stay as they are; null removes a condition.',
    },
  },
  additionalProperties: false,
  description: "Fields that replace those of the session's policy, and resources; the others stay as they are.",
})

/** Query parameters that filter sessions. */
export const SESSION_FILTER = {
  status: several(STATUSES, 'In one of these statuses.'),
  result: several(['UNDEFINED', 'SUCCESS', 'FAILURE'], 'With one of these results.'),
  session_type: several(['BATCH', 'INTERACTIVE', 'INFERENCE'], 'Of one of these types.'),
  origin: several(['INITIAL', 'AUTO_RETRY', 'RESUBMISSION'], 'Of one of these origins.'),
  failure_cause: several(FAILURE_CAUSES, 'Failed for one of these causes.'),
  failure_reason: z
    .string()
    .transform((names) => names.split(','))
    .optional()
    .openapi({ type: 'string', description: 'With one of these `failure_reason`s, separated by commas.' }),
  timed_out: flag('Whether it was ended by its batch timeout.'),
  exit_code: integers('Ended with one of these exit codes.'),
  reason_contains: z.string().optional().openapi({ description: 'With this text in `status_reason`.' }),
  retry_phase: several(RETRY_PHASES, 'With `retry_state.phase` in one of these.'),
  project: z.string().optional().openapi({ description: 'In the project of this name.' }),
  user: z.string().optional().openapi({ description: 'Of the user of this name.' }),
  chain_id: z.uuid().toLowerCase().optional().openapi({ description: 'In this chain.' }),
  group: z.uuid().toLowerCase().optional().openapi({ description: 'Member of the group with this id.' }),
  parent_session_id: z
    .uuid()
    .toLowerCase()
    .optional()
    .openapi({ description: 'The attempt that follows the session with this id.' }),
  agent_id: z
    .uuid()
    .toLowerCase()
    .optional()
    .openapi({ description: 'With a kernel that is or was on the agent with this id.' }),
  resource_group: z.string().optional().openapi({ description: 'In the resource group of this name.' }),
  concurrency_key: z.string().optional().openapi({ description: 'With this concurrency key.' }),
  depends_on: z
    .uuid()
    .toLowerCase()
    .optional()
    .openapi({ description: 'Sessions that start only once this chain has succeeded.' }),
  retry_count: range('Retry count:'),
  max_retries: range('Retry budget:'),
  attempt: range('Position in the chain:'),
  epoch: range('Epoch:'),
  hold_reason: several(HOLD_REASONS, 'Retry is held for one of these reasons.'),
  id_prefix: z.string().optional().openapi({ description: ID_PREFIX_WORDS }),
  name: z.string().optional().openapi({ description: 'With this name.' }),
  name_contains: z.string().optional().openapi({ description: 'With this text in the name.' }),
  label: labelFilters(),
  created_after: moment('Created at this time or later.'),
  created_before: moment('Created before this time.'),
  started_after: moment('Started at this time or later.'),
  started_before: moment('Started before this time.'),
  terminated_after: moment('Ended at this time or later.'),
  terminated_before: moment('Ended before this time.'),
}

const Conditions = z.object(SESSION_FILTER)

export function sessionFilter(given: z.output<typeof Conditions>): SessionFilterInput {
  return {
    status: given.status ?? null,
    result: given.result ?? null,
    sessionType: given.session_type ?? null,
    origin: given.origin ?? null,
    failureCause: given.failure_cause ?? null,
    failureReason: given.failure_reason ?? null,
    timedOut: given.timed_out ?? null,
    exitCode: given.exit_code ?? null,
    statusReason: { contains: given.reason_contains ?? null },
    retryPhase: given.retry_phase ?? null,
    project: given.project ?? null,
    user: given.user ?? null,
    idPrefix: given.id_prefix ?? null,
    chainId: given.chain_id ?? null,
    group: given.group ?? null,
    parentSessionId: given.parent_session_id ?? null,
    agent: given.agent_id ?? null,
    resourceGroup: given.resource_group ?? null,
    concurrencyKey: given.concurrency_key ?? null,
    dependsOn: given.depends_on ?? null,
    retryCount: given.retry_count ?? null,
    maxRetries: given.max_retries ?? null,
    attempt: given.attempt ?? null,
    epoch: given.epoch ?? null,
    holdReason: given.hold_reason ?? null,
    name: { equals: given.name ?? null, contains: given.name_contains ?? null },
    labels: toLabelFilters(given.label),
    createdAt: { gte: given.created_after ?? null, lt: given.created_before ?? null },
    startedAt: { gte: given.started_after ?? null, lt: given.started_before ?? null },
    terminatedAt: { gte: given.terminated_after ?? null, lt: given.terminated_before ?? null },
  }
}

function sessionInputSchema(): JsonSchema {
  const input = inputSchema(createSessionSchema)
  input.properties!['retry_policy'] = partialPolicy()
  // The conversion to JSON Schema cannot represent dates.
  input.properties!['starts_at'] = { type: ['string', 'null'], format: 'date-time' }
  return { ...input, description: 'The input of `createSession`, with names in snake_case.' }
}

/** Lets durations in an object of a request be text, too; responses have numbers. */
function takeText({ properties }: JsonSchema, { shape }: z.ZodObject): void {
  for (const [name, field] of Object.entries(shape)) {
    const isWrapped = field instanceof z.ZodNullable || field instanceof z.ZodOptional
    const plain = (isWrapped ? field.unwrap() : field) as z.ZodType
    const property = properties![snakeCase(name)]!
    const number = property.anyOf?.find(({ type }) => type === 'number') ?? property
    if (isDuration(plain)) number['type'] = [number['type'], 'string'].flat()
  }
}

/** Returns the schema of a policy in a request, where every field is optional. */
export function partialPolicy(): JsonSchema {
  const { $schema: _, required: __, ...policy } = z.toJSONSchema(RetryPolicyResource, { io: 'input' }) as JsonSchema
  const { description } = policy.properties!['delays']!
  const table = { type: 'array', items: { type: ['number', 'string'] }, minItems: 1, maxItems: DELAYS_MAX } as const
  policy.properties!['delays'] = { anyOf: [table, { type: 'null' }], description }
  takeText(policy, retryPolicy)
  const ruleItems = policy.properties!['rules']!.items!
  takeText(ruleItems, rule)
  takeText(ruleItems.properties!['scale_timeout']!, timeoutGrowth)
  return { ...policy, description: 'Every field is optional. Names in camelCase, as in GraphQL, are accepted, too.' }
}
