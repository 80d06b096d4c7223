import { createRoute, z } from '@hono/zod-openapi'
import { isStorableMoment, STORABLE_MOMENT } from '../domain/storable-text.ts'
import { assertMayAdminister } from '../services/access/authorize.ts'
import { createToken, readToken, readTokens, revokeToken, type TokenRecord } from '../services/access/tokens.ts'
import { parseInput, withoutNulls } from '../services/input/parse-input.ts'
import { time, toTime } from './fields.ts'
import { readChange, REASON, reasonParameter, withReason } from './json-body.ts'
import { component } from './openapi.ts'
import { several, TokenIdParameter } from './parameters.ts'
import type { RestApp } from './rest-app.ts'
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

const ROLES = ['ADMIN', 'MEMBER', 'VIEWER', 'AGENT', 'METRICS'] as const

const fields = {
  id: z.uuid().openapi({ description: 'Its id, which is not secret.' }),
  name: z.string(),
  prefix: z.string().openapi({ description: 'The first characters of the token.' }),
  role: z.enum(ROLES),
  project: z.string().nullable().openapi({ description: 'The only project that it can access; null for all.' }),
  user: z.string().nullable().openapi({ description: 'Its user, who owns the sessions that it creates.' }),
  resource_groups: z.array(z.string()).openapi({
    description: 'For role AGENT: names of the only resource groups that its agents may join; empty means any.',
  }),
  created_at: time(),
  expires_at: time().nullable(),
  revoked_at: time().nullable(),
  last_used_at: time().nullable().openapi({ description: 'To within a minute.' }),
}
const TokenResource = z.object(fields).openapi('Token', { description: 'An access token.' })
const NewTokenResource = z
  .object({ ...fields, secret: z.string().openapi({ description: 'The secret token, shown only once.' }) })
  .openapi('NewToken')
const TokenPage = pageOf(TokenResource).openapi('TokenPage')

const input = z.strictObject({
  name: z.string(),
  role: z.enum(ROLES),
  project: z.string().optional(),
  user: z.string().optional(),
  resourceGroups: z.array(z.string()).optional(),
  expiresAt: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .refine(isStorableMoment, STORABLE_MOMENT)
    .optional(),
})

const text = (description: string) => ({ type: ['string', 'null'], description })

const TOKEN_INPUT = component('TokenInput', {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'A name for people, such as its purpose.' },
    role: { type: 'string', enum: [...ROLES] },
    project: text('The only project that it can access. Required for MEMBER and VIEWER, refused for AGENT.'),
    user: text('Its user, who must be a member of the project with at least the rights of the role.'),
    resource_groups: {
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'For role AGENT: the only resource groups that its agents may join.',
    },
    expires_at: { type: ['string', 'null'], format: 'date-time', description: 'Missing: it never expires.' },
    reason: REASON,
  },
  required: ['name', 'role'],
  additionalProperties: false,
})

const tags = ['tokens']

const listRoute = createRoute({
  method: 'get',
  path: '/v2/tokens',
  operationId: 'listTokens',
  summary: 'List tokens',
  description: 'Newest first, including revoked and expired ones. For administrators.',
  tags,
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      role: several(ROLES, 'With one of these roles.'),
      project: z.string().optional().openapi({ description: 'For the project of this name only.' }),
      user: z.string().optional().openapi({ description: 'Of the user of this name.' }),
    }),
  },
  responses: { 200: json(TokenPage, 'A page of tokens.'), ...COMMON_PROBLEMS },
})

const createTokenRoute = createRoute({
  method: 'post',
  path: '/v2/tokens',
  operationId: 'createToken',
  summary: 'Create a token',
  description: 'For administrators; those of a project create tokens for that project only.',
  tags,
  request: { body: jsonBody(TOKEN_INPUT, { name: 'notebooks', role: 'MEMBER', project: 'default' }) },
  responses: {
    201: json(NewTokenResource, 'The token, with its secret.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'PROJECT_NOT_FOUND', 'USER_NOT_FOUND', 'ISOLATION_REQUIRED'),
  },
})

const revokeRoute = createRoute({
  method: 'delete',
  path: '/v2/tokens/{id}',
  operationId: 'revokeToken',
  summary: 'Revoke a token',
  description: 'For administrators. Takes effect within seconds. A token cannot revoke itself.',
  tags,
  request: { params: TokenIdParameter, query: z.strictObject({ reason: reasonParameter() }) },
  responses: { 204: { description: 'Revoked.' }, ...COMMON_PROBLEMS, ...problems('TOKEN_NOT_FOUND') },
})

export function serveTokens(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { limit, cursor, role, project, user } = c.req.valid('query')
    const page = { first: limit, after: cursor ?? null }
    const wanted = {
      ...(role && { role }),
      ...(project !== undefined && { project }),
      ...(user !== undefined && { user }),
    }
    const body = toPage(await readTokens(c.get('context'), { ...wanted, page }), toToken)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(createTokenRoute, async (c) => {
    assertMayAdminister(c.get('context').viewer, 'PROJECT')
    const { context, input: given } = await readChange(c.get('context'), c.env.incoming)
    const {
      project = null,
      user = null,
      resourceGroups = null,
      expiresAt = null,
      ...rest
    } = parseInput(input, withoutNulls(given))
    const { tokenId, secret } = await createToken(context, { ...rest, project, user, resourceGroups, expiresAt })
    return c.json({ ...toToken(await readToken(context, tokenId)), secret }, 201)
  })
  app.openapi(revokeRoute, async (c) => {
    const context = withReason(c.get('context'), c.req.valid('query').reason)
    await revokeToken(context, c.req.valid('param').id)
    return c.body(null, 204)
  })
}

function toToken(record: TokenRecord): z.infer<typeof TokenResource> {
  return {
    id: record.id,
    name: record.name,
    prefix: record.prefix,
    role: record.role,
    project: record.project?.name ?? null,
    user: record.user?.name ?? null,
    resource_groups: record.resourceGroups,
    created_at: record.createdAt.toISOString(),
    expires_at: toTime(record.expiresAt),
    revoked_at: toTime(record.revokedAt),
    last_used_at: toTime(record.lastUsedAt),
  }
}
