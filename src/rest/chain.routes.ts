import { createRoute, z } from '@hono/zod-openapi'
import { CHAIN_STATES, FILTERED_CHAIN_STATES, outlook } from '../domain/chain/outlook.ts'
import { SEARCH_LENGTH_MAX } from '../domain/limits.ts'
import { FAILURE_CAUSES, HOLD_REASONS } from '../domain/session/failure.ts'
import { type ChainConditions, type ChainRecord, readChain, readChainRecords } from '../services/chain.ts'
import { labelConditions } from '../services/input/label-filter.ts'
import { withoutNulls } from '../services/input/parse-input.ts'
import {
  ChainIdParameter,
  flag,
  ids,
  integers,
  labelFilters,
  moment,
  range,
  several,
  toLabelFilters,
} from './parameters.ts'
import { labels, time, toLabels, toTime } from './fields.ts'
import { COMMON_PROBLEMS, json, nextLink, PAGE_PARAMETERS, pageOf, problems, toPage } from './route-parts.ts'
import type { RestApp } from './rest-app.ts'

/** Query parameters that filter chains. */
export const CHAIN_FILTER = {
  id: ids('With one of these ids.'),
  state: several(FILTERED_CHAIN_STATES, 'In one of these states. LIVE is deprecated: QUEUED, IMPOSSIBLE or RUNNING.'),
  session_type: several(
    ['BATCH', 'INTERACTIVE', 'INFERENCE'],
    'Of one of these types. INFERENCE: replicas of deployments.',
  ),
  cause: several(FAILURE_CAUSES, 'Latest failure has one of these causes.'),
  attempts: range('Number of attempts:'),
  project: z.string().optional().openapi({ description: 'In the project of this name.' }),
  group: z.uuid().toLowerCase().optional().openapi({ description: 'Member of the group with this id.' }),
  name: z.string().optional().openapi({ description: 'With this name.' }),
  name_contains: z.string().optional().openapi({ description: 'With this text in the name.' }),
  label: labelFilters(),
  search: z
    .string()
    .max(SEARCH_LENGTH_MAX)
    .optional()
    .openapi({ description: 'Beginnings of words in the name and the labels; all must occur.' }),
  resource_group: z
    .string()
    .optional()
    .openapi({ description: 'Newest attempt is in the resource group of this name.' }),
  user: z.string().optional().openapi({ description: 'Newest attempt belongs to the user of this name.' }),
  exit_code: integers('Newest attempt ended with one of these exit codes.'),
  timed_out: flag('Whether the newest attempt was ended by its batch timeout.'),
  hold_reason: several(HOLD_REASONS, 'Retry is held for one of these reasons.'),
  agent_id: z
    .uuid()
    .toLowerCase()
    .optional()
    .openapi({ description: 'With a kernel that is or was on the agent with this id.' }),
  due_before: moment('Retry is due before this time.'),
  created_after: moment('Created at this time or later.'),
  created_before: moment('Created before this time.'),
  active_after: moment('With activity at this time or later.'),
  active_before: moment('Without activity since this time.'),
}

const Conditions = z.object(CHAIN_FILTER)

const ChainResource = z
  .object({
    id: z.uuid().openapi({ description: 'The id of its first attempt.' }),
    name: z.string(),
    labels: labels(),
    project: z.string(),
    state: z.enum(CHAIN_STATES),
    cause: z.enum(FAILURE_CAUSES).nullable().openapi({ description: 'Cause of the latest failure.' }),
    attempts: z.int().openapi({ description: 'Number of attempts.' }),
    newest_session_id: z.uuid().openapi({ description: 'The newest attempt.' }),
    group_id: z.uuid().nullable().openapi({ description: 'The group that it is a member of.' }),
    group_index: z.int().nullable().openapi({ description: 'Its number in that group.' }),
    created_at: time(),
    newest_activity_at: time(),
    ended_at: time().nullable(),
    total_seconds: z.number().openapi({ description: 'Seconds from its creation to its end, or until now.' }),
    outlook: z
      .object({
        will_retry: z.boolean(),
        reason: z.string(),
        due_at: time().nullable(),
        at: time().nullable().openapi({ deprecated: true, description: 'The former name of `due_at`.' }),
      })
      .openapi({ description: 'Whether it will continue, and when.' }),
  })
  .openapi('Chain', { description: 'A chain: all attempts at one piece of work.' })

const ORDERS = ['ACTIVITY', 'ATTEMPTS', 'TOTAL_TIME', 'NAME', 'CREATED_AT', 'DUE_AT'] as const

const word = <const Word extends string>(words: readonly [Word, ...Word[]], byDefault: Word, description: string) =>
  z
    .string()
    .toUpperCase()
    .pipe(z.enum(words))
    .default(byDefault)
    .openapi({ type: 'string', enum: [...words], default: byDefault, description })

const listRoute = createRoute({
  method: 'get',
  path: '/v2/chains',
  operationId: 'listChains',
  summary: 'List chains',
  description: 'By default, chains with the latest activity come first. All given filters must match.',
  tags: ['chains'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      ...CHAIN_FILTER,
      order: word(ORDERS, 'ACTIVITY', 'Field to order by. DUE_AT lists only chains that wait for a retry.'),
      direction: word(['ASC', 'DESC'], 'DESC', 'Direction.'),
    }),
  },
  responses: { 200: json(pageOf(ChainResource).openapi('ChainPage'), 'A page of chains.'), ...COMMON_PROBLEMS },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/chains/{id}',
  operationId: 'getChain',
  summary: 'Get a chain',
  description:
    '`/v2/sessions/{id}/attempts` lists its attempts, with the same id: the id of a chain is that of its first session.',
  tags: ['chains'],
  request: { params: ChainIdParameter },
  responses: { 200: json(ChainResource, 'The chain.'), ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND') },
})

export function serveChains(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { limit, cursor, order, direction, ...filter } = c.req.valid('query')
    const page = await readChainRecords(c.get('context'), {
      conditions: chainConditions(filter),
      wanted: { order, direction: direction === 'ASC' ? 'asc' : 'desc' },
      args: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toChain)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(getRoute, async (c) => c.json(toChain(await readChain(c.get('context'), c.req.valid('param').id)), 200))
}

export function chainConditions(given: z.output<typeof Conditions>): ChainConditions {
  const name = withoutNulls({ equals: given.name, contains: given.name_contains })
  const attempts = withoutNulls({ gte: given.attempts?.gte, lte: given.attempts?.lte })
  const createdAt = withoutNulls({ gte: given.created_after, lt: given.created_before })
  const activityAt = withoutNulls({ gte: given.active_after, lt: given.active_before })
  const dueAt = withoutNulls({ lt: given.due_before })
  return {
    ...withoutNulls({
      chainIds: given.id,
      states: given.state && [...new Set(given.state)],
      sessionTypes: given.session_type && [...new Set(given.session_type)],
      timedOut: given.timed_out,
      causes: given.cause && [...new Set(given.cause)],
      project: given.project,
      groupId: given.group,
      labels: given.label && labelConditions(toLabelFilters(given.label), 'label'),
      search: given.search,
      resourceGroup: given.resource_group,
      user: given.user,
      exitCodes: given.exit_code,
      holdReasons: given.hold_reason && [...new Set(given.hold_reason)],
      agentId: given.agent_id,
    }),
    ...unlessEmpty({ name, attempts, createdAt, activityAt, dueAt }),
  }
}

function unlessEmpty<Groups extends Record<string, object>>(groups: Groups): Partial<Groups> {
  const given = Object.entries(groups).filter(([, conditions]) => Object.keys(conditions).length > 0)
  return Object.fromEntries(given) as Partial<Groups>
}

function toChain(record: ChainRecord): z.infer<typeof ChainResource> {
  const { willRetry, reason, at } = outlook({ ...record, attempt: record.attempts }, record.now)
  return {
    id: record.chainId,
    name: record.name,
    labels: toLabels(record.labels),
    project: record.project,
    state: record.state,
    cause: record.cause,
    attempts: record.attempts,
    newest_session_id: record.tailId,
    group_id: record.groupId,
    group_index: record.groupIndex,
    created_at: record.createdAt.toISOString(),
    newest_activity_at: record.newestActivityAt.toISOString(),
    ended_at: toTime(record.endedAt),
    total_seconds: record.totalSeconds,
    outlook: { will_retry: willRetry, reason, due_at: toTime(at), at: toTime(at) },
  }
}
