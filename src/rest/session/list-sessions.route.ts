import { createRoute, z } from '@hono/zod-openapi'
import { FAILURE_CAUSES, RETRY_PHASES } from '../../domain/session/causes.ts'
import { STATUSES } from '../../domain/session/statuses.ts'
import { readSessions } from '../../services/session/read-sessions.ts'
import type { SessionFilterInput } from '../../services/session/session-where.ts'
import { COMMON_PROBLEMS, json } from '../answers.ts'
import { toSession } from './session.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, toPage } from '../routes/paging.ts'
import { moment, range, several } from '../routes/parameters.ts'
import { SessionPage } from './session-page.ts'

const FILTER = {
  status: several(STATUSES, 'In one of these statuses.'),
  result: several(['UNDEFINED', 'SUCCESS', 'FAILURE'], 'With one of these results.'),
  session_type: several(['BATCH', 'INTERACTIVE', 'INFERENCE'], 'Of one of these types.'),
  origin: several(['INITIAL', 'AUTO_RETRY', 'RESUBMISSION'], 'Of one of these origins.'),
  failure_cause: several(FAILURE_CAUSES, 'Failed for one of these causes.'),
  retry_phase: several(RETRY_PHASES, 'With `retry_state.phase` in one of these.'),
  project: z.string().optional().openapi({ description: 'In the project of this name.' }),
  chain_id: z.uuid().toLowerCase().optional().openapi({ description: 'In this chain.' }),
  parent_session_id: z.uuid().toLowerCase().optional().openapi({ description: 'The attempt after this one.' }),
  agent_id: z
    .uuid()
    .toLowerCase()
    .optional()
    .openapi({ description: 'With a kernel that is, or was, on the agent of this id.' }),
  resource_group: z.string().optional().openapi({ description: 'In the resource group of this name.' }),
  depends_on: z
    .uuid()
    .toLowerCase()
    .optional()
    .openapi({ description: 'That start only once this chain has succeeded.' }),
  retry_count: range('By retry count:'),
  max_retries: range('By budget of retries:'),
  id_prefix: z
    .string()
    .optional()
    .openapi({ description: 'Whose id begins so: its first 8 hexadecimal digits, or more of it.' }),
  name: z.string().optional().openapi({ description: 'With this name.' }),
  name_contains: z.string().optional().openapi({ description: 'With this in the name.' }),
  label: z
    .string()
    .regex(/^[^=]+=/, 'must be key=value')
    .optional()
    .openapi({ description: 'With this label, `key=value`.' }),
  created_after: moment('Created then or later.'),
  created_before: moment('Created before then.'),
}

const Parameters = z.strictObject({ ...PAGE_PARAMETERS, ...FILTER })

const route = createRoute({
  method: 'get',
  path: '/v2/sessions',
  operationId: 'listSessions',
  summary: 'List sessions',
  description: 'Newest first. All filters that are given must match.',
  tags: ['sessions'],
  request: { query: Parameters },
  responses: {
    200: json(SessionPage, 'A page of sessions; the header `Link` points to the next one.'),
    ...COMMON_PROBLEMS,
  },
})

export function serveListSessions(app: RestApp): void {
  app.openapi(route, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid('query')
    const page = await readSessions(c.get('context'), {
      filter: toFilter(filter),
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toSession)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
}

function toFilter(given: Omit<z.output<typeof Parameters>, 'limit' | 'cursor'>): SessionFilterInput {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(given.label ?? '') ?? []
  return {
    status: given.status ?? null,
    result: given.result ?? null,
    sessionType: given.session_type ?? null,
    origin: given.origin ?? null,
    failureCause: given.failure_cause ?? null,
    retryPhase: given.retry_phase ?? null,
    project: given.project ?? null,
    idPrefix: given.id_prefix ?? null,
    chainId: given.chain_id ?? null,
    parentSessionId: given.parent_session_id ?? null,
    agent: given.agent_id ?? null,
    resourceGroup: given.resource_group ?? null,
    dependsOn: given.depends_on ?? null,
    retryCount: given.retry_count ?? null,
    maxRetries: given.max_retries ?? null,
    name: { equals: given.name ?? null, contains: given.name_contains ?? null },
    label: key === undefined ? null : { key, value: value! },
    createdAt: { gte: given.created_after ?? null, lt: given.created_before ?? null },
  }
}
