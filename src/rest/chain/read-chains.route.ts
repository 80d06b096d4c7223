import { createRoute, z } from '@hono/zod-openapi'
import { readChain, readChainRecords } from '../../services/chain/read-shown-chains.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'
import { nextLink, PAGE_PARAMETERS, pageOf, toPage } from '../routes/paging.ts'
import { ChainIdParameter } from '../routes/parameters.ts'
import { CHAIN_FILTER, chainConditions } from './chain-filter.ts'
import { ChainResource, toChain } from './chain.resource.ts'

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
  description:
    'Those with the latest activity first, unless another order is asked for. All filters that are given must match.',
  tags: ['chains'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      ...CHAIN_FILTER,
      order: word(ORDERS, 'ACTIVITY', 'In which order; by DUE_AT only those that wait for a retry.'),
      direction: word(['ASC', 'DESC'], 'DESC', 'Which way.'),
    }),
  },
  responses: { 200: json(pageOf(ChainResource).openapi('ChainPage'), 'A page of chains.'), ...COMMON_PROBLEMS },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/chains/{id}',
  operationId: 'getChain',
  summary: 'Get a chain',
  description: 'Its attempts are those of its first session, `/v2/sessions/{id}/attempts`, which has the same id.',
  tags: ['chains'],
  request: { params: ChainIdParameter },
  responses: { 200: json(ChainResource, 'The chain.'), ...COMMON_PROBLEMS, ...problems('SESSION_NOT_FOUND') },
})

export function serveReadChains(app: RestApp): void {
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
