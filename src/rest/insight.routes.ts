import { createRoute, z } from '@hono/zod-openapi'
import { parseInput } from '../services/input/parse-input.ts'
import { readFailureRules, setFailureRules, type SetFailureRulesInput } from '../services/insight/failure-rules.ts'
import { FAILURE_PATTERN_LENGTH_MAX, FAILURE_RULES_MAX, NAME_LENGTH_MAX } from '../domain/limits.ts'
import { UNKNOWN_REASONS } from '../domain/insight/backtest/replay-chain.ts'
import {
  BACKTEST_BASES,
  type BacktestInput,
  type BacktestReport,
  backtestRetryPolicy,
} from '../services/insight/backtest.ts'
import { time } from './fields.ts'
import { readChange, readJsonObject, REASON, writtenInput } from './json-body.ts'
import { component } from './openapi.ts'
import type { RestApp } from './rest-app.ts'
import { givenSessions } from './resubmission.input.ts'
import { BODY_PROBLEMS, COMMON_PROBLEMS, json, jsonBody, problems } from './route-parts.ts'
import { partialPolicy } from './session.input.ts'
import { renamed, snakeCase } from './snake-case.ts'

export const BACKTEST_INPUT = component('BacktestInput', {
  type: 'object',
  description: 'A policy, and the finished chains that are replayed under it.',
  properties: {
    policy: partialPolicy(),
    base: {
      type: 'string',
      enum: [...BACKTEST_BASES],
      default: 'DEFAULTS',
      description:
        "What missing fields come from: the project's defaults, or the policy that each chain really had, whose rules follow the given ones.",
    },
    airflow: {
      type: ['object', 'null'],
      description: 'Settings of an Airflow operator, to compare with: `retries`, `retry_delay` and so on.',
    },
    filter: {
      type: ['object', 'null'],
      description:
        'Only chains of which an attempt that ended within the span matches, by the parameters of `GET /v2/sessions`.',
    },
    from: { type: ['string', 'null'], format: 'date-time', description: 'Missing: 30 days before `to`.' },
    to: { type: ['string', 'null'], format: 'date-time', description: 'Missing: now.' },
  },
  required: ['policy'],
  additionalProperties: false,
})

const bodySchema = z.strictObject({
  policy: z.record(z.string(), z.unknown()),
  base: z.enum(BACKTEST_BASES).nullish(),
  airflow: z.record(z.string(), z.unknown()).nullish(),
  filter: z.unknown().optional(),
  from: z.coerce.date().nullish(),
  to: z.coerce.date().nullish(),
})

const totals = { chains: z.int(), attempts: z.int(), slot_seconds: z.number() }
const examples = { examples: z.array(z.uuid()).openapi({ description: 'Ids of the newest of these chains.' }) }

const Outcomes = z
  .object({
    same: z.object({ chains: z.int(), later_seconds: z.number() }),
    earlier: z.object({
      ...totals,
      seconds: z.number(),
      successes_lost: z.int(),
      lost: z.array(z.object({ name: z.string(), project: z.string(), successes: z.int(), ...examples })),
      ...examples,
    }),
    longer: z.object({
      ...totals,
      expected: z.object({
        successes: z.number(),
        low: z.number(),
        high: z.number(),
        chains: z.int(),
        n: z.int().openapi({ description: 'Number of comparable retries that the estimate rests on.' }),
      }),
      ...examples,
    }),
    unknown: z.array(z.object({ reason: z.enum(UNKNOWN_REASONS), ...totals, ...examples })),
  })
  .openapi('BacktestOutcomes', { description: 'What a policy would have made of finished chains.' })

const BacktestResource = z
  .object({
    from: time(),
    to: time(),
    is_complete: z.boolean().openapi({ description: 'False if there were more chains than are replayed.' }),
    recorded: z.object({ ...totals, succeeded: z.int() }).openapi({ description: 'What really happened.' }),
    outcomes: Outcomes,
    airflow: z
      .object({
        outcomes: Outcomes,
        explanation: z.object({ alike: z.array(z.string()), differs: z.array(z.string()) }),
      })
      .nullable(),
  })
  .openapi('RetryBacktest', { description: 'The backtest of a retry policy.' })

const route = createRoute({
  method: 'post',
  path: '/v2/retry-policy/backtest',
  operationId: 'backtestRetryPolicy',
  summary: 'Replay finished chains under another policy',
  description:
    'Changes nothing. It takes up to half a minute; closing the connection cancels it. Each person runs one at a time.',
  tags: ['sessions'],
  request: { body: jsonBody(BACKTEST_INPUT, { policy: { max_retries: 2 }, filter: { name: 'train' } }) },
  responses: {
    200: json(BacktestResource, 'What the policy would have made of the chains.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'TOO_MANY_REQUESTS'),
  },
})

const FAILURE_RULES_INPUT = component('FailureRulesInput', {
  type: 'object',
  description: 'The rules by which failures of a project are grouped from now on.',
  properties: {
    rules: {
      type: 'array',
      maxItems: FAILURE_RULES_MAX,
      items: {
        type: 'object',
        properties: {
          pattern: {
            type: 'string',
            minLength: 1,
            maxLength: FAILURE_PATTERN_LENGTH_MAX,
            description: '`*` (any text) and `?` (any character) for a whole line, as it was written or masked.',
          },
          name: { type: 'string', minLength: 1, maxLength: NAME_LENGTH_MAX, description: 'The name of the group.' },
        },
        required: ['pattern', 'name'],
        additionalProperties: false,
      },
    },
    reason: REASON,
  },
  required: ['rules'],
  additionalProperties: false,
})

const FailureRulesResource = z
  .object({ rules: z.array(z.object({ pattern: z.string(), name: z.string() })) })
  .openapi('FailureRules', { description: 'Rules by which failures are grouped. The first one that matches counts.' })

const ofProject = {
  path: '/v2/failure-rules/{project}',
  tags: ['insight'],
  request: {
    params: z.strictObject({
      project: z.string().openapi({ param: { name: 'project', in: 'path' }, description: 'Name of the project.' }),
    }),
  },
}

const readRules = createRoute({
  ...ofProject,
  method: 'get',
  operationId: 'getFailureRules',
  summary: 'Get the rules by which failures are grouped',
  responses: {
    200: json(FailureRulesResource, 'The rules.'),
    ...COMMON_PROBLEMS,
    ...problems('PROJECT_NOT_FOUND'),
  },
})

const putRules = createRoute({
  ...ofProject,
  method: 'put',
  operationId: 'setFailureRules',
  summary: 'Set the rules by which failures are grouped',
  description: 'Replaces all rules; for administrators of the project. Stored failures stay in their groups.',
  request: {
    ...ofProject.request,
    body: jsonBody(FAILURE_RULES_INPUT, { rules: [{ pattern: '*CUDA out of memory*', name: 'GPU memory' }] }),
  },
  responses: {
    200: json(FailureRulesResource, 'The rules after the change.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'PROJECT_NOT_FOUND'),
  },
})

export function serveInsight(app: RestApp): void {
  app.openapi(readRules, async (c) => {
    return c.json({ rules: await readFailureRules(c.get('context'), c.req.valid('param').project) }, 200)
  })
  app.openapi(putRules, async (c) => {
    const { context, input } = await readChange(c.get('context'), c.env.incoming)
    const given = { ...input, ...c.req.valid('param') } as SetFailureRulesInput
    return c.json({ rules: (await setFailureRules(context, given)).rules }, 200)
  })
  app.openapi(route, async (c) => {
    const { filter, ...given } = parseInput(bodySchema, await readJsonObject(c.env.incoming))
    const { policy, base, airflow, from, to } = given
    const input = {
      ...(writtenInput({ policy, airflow }) as Pick<BacktestInput, 'policy' | 'airflow'>),
      base,
      filter: filter == null ? null : givenSessions(filter),
      window: { from, to },
    }
    return c.json(toBacktest(await backtestRetryPolicy(c.get('context'), input, c.get('gone'))), 200)
  })
}

function toBacktest({ from, to, isComplete, backtest, airflow }: BacktestReport): z.infer<typeof BacktestResource> {
  const { recorded } = backtest
  const theirs = airflow && { outcomes: outcomesOf(airflow.backtest), explanation: airflow.explanation }
  const shown = { isComplete, recorded, outcomes: outcomesOf(backtest), airflow: theirs }
  return {
    ...(renamed(shown, snakeCase) as Omit<z.infer<typeof BacktestResource>, 'from' | 'to'>),
    from: from.toISOString(),
    to: to.toISOString(),
  }
}

function outcomesOf({ same, earlier, longer, unknown }: BacktestReport['backtest']) {
  return { same, earlier, longer, unknown }
}
