import {
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'

/** Relay's GraphQL server specification: object identification and cursor connections. New types are found by themselves. */
describe('the rules of Relay', () => {
  const objects = Object.values(schema.getTypeMap()).filter(
    (type): type is GraphQLObjectType => isObjectType(type) && !type.name.startsWith('__'),
  )
  const connections = objects.filter(({ name }) => name.endsWith('Connection'))
  const connectionFields = objects.flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => connections.includes(getNamedType(field.type) as GraphQLObjectType))
      .map((field) => [`${type.name}.${field.name}`, field] as const),
  )
  const node = schema.getType('Node')
  const nodeTypes = objects.filter((type) => isInterfaceType(node) && type.getInterfaces().includes(node))

  function argumentTypes(field: GraphQLField<unknown, unknown>): Record<string, string> {
    return Object.fromEntries(field.args.map(({ name, type }) => [name, String(type)]))
  }

  test('there is something to look at', () => {
    expect(connections.length).toBeGreaterThan(4)
    expect(connectionFields.length).toBeGreaterThan(4)
    expect(nodeTypes.length).toBeGreaterThan(2)
  })

  describe('object identification', () => {
    test('Node has an id and nothing more', () => {
      const fields = isInterfaceType(node) ? Object.values(node.getFields()) : []
      expect(fields.map(({ name, type }) => `${name}: ${String(type)}`)).toEqual(['id: ID!'])
    })

    test('whatever has a global id is a node', () => {
      const identified = objects.filter((type) => String(type.getFields()['id']?.type) === 'ID!')
      expect(identified.length).toBeGreaterThan(20)
      expect(identified.filter((type) => !nodeTypes.includes(type)).map(({ name }) => name)).toEqual([])
    })

    test('Query.node takes an id and answers with a Node or null', () => {
      const field = schema.getQueryType()!.getFields()['node']!
      expect(String(field.type)).toBe('Node')
      expect(argumentTypes(field)).toEqual({ id: 'ID!' })
    })
  })

  test('a mutation that removes something names it by the id that caches know', () => {
    const removing = Object.keys(schema.getMutationType()!.getFields()).filter((name) =>
      /^(delete|remove|revoke)/.test(name),
    )
    expect(removing.length).toBeGreaterThan(4)
    for (const name of removing) {
      const payload = schema.getType(`${name[0]!.toUpperCase()}${name.slice(1)}Payload`) as GraphQLObjectType
      expect(String(payload.getFields()['deletedId']?.type), name).toBe('ID!')
    }
  })

  const FOR_ADMINISTRATORS = ['Query.auditLog', 'Query.tokens']

  describe('cursor connections', () => {
    test('PageInfo is as specified', () => {
      const fields = (schema.getType('PageInfo') as GraphQLObjectType).getFields()
      const shape = Object.fromEntries(Object.values(fields).map(({ name, type }) => [name, String(type)]))
      expect(shape).toEqual({
        hasNextPage: 'Boolean!',
        hasPreviousPage: 'Boolean!',
        startCursor: 'String',
        endCursor: 'String',
      })
    })

    test.each(connections.map((type) => [type.name, type] as const))('%s has edges and pageInfo', (_name, type) => {
      const { edges, pageInfo } = type.getFields()
      expect(String(pageInfo?.type)).toBe('PageInfo!')
      expect(isListType(getNullableType(edges!.type))).toBe(true)
      const edge = getNamedType(edges!.type) as GraphQLObjectType
      expect(edge.name).toMatch(/Edge$/)
      expect(String(edge.getFields()['cursor']?.type)).toBe('String!')
      expect(isListType(getNullableType(edge.getFields()['node']!.type))).toBe(false)
    })

    test.each(connectionFields)('%s pages forward, and backward if at all', (name, field) => {
      const { first, after, last, before } = argumentTypes(field)
      expect({ first, after }).toEqual({ first: 'Int', after: 'String' })
      expect([last, before]).toEqual(last === undefined ? [undefined, undefined] : ['Int', 'String'])
      // Null where the role does not allow it, so that the rest of the answer stays.
      expect(isNonNullType(field.type)).toBe(!FOR_ADMINISTRATORS.includes(name))
    })
  })

  describe('against a server', () => {
    let server: TestServer

    beforeAll(async () => {
      server = await startGraphQLServer()
      for (let n = 0; n < 5; n++) await server.factory.session({ name: `s${n}` })
    })
    afterAll(() => server?.close())

    async function sessions(parameters: string) {
      const { data, errors } = await server.query(
        `{ sessions(${parameters}) { edges { cursor node { id name } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
      )
      expect(errors).toBeUndefined()
      return data.sessions as { edges: { cursor: string; node: { id: string; name: string } }[]; pageInfo: any }
    }

    test('an object is found again by its id, as the same', async () => {
      const { edges } = await sessions('first: 1')
      const { data } = await server.query('query ($id: ID!) { node(id: $id) { __typename id } }', {
        id: edges[0]!.node.id,
      })
      expect(data.node).toEqual({ __typename: 'Session', id: edges[0]!.node.id })
    })

    test.each(['', 'nonsense', 'U2Vzc2lvbjpub25zZW5zZQ==', 'Tm90aGluZzox', '\u0000', 'x'.repeat(50)])(
      'an id that names nothing (%j) is null or refused, and no fault of the server',
      async (id) => {
        const { data, errors } = await server.query('query ($id: ID!) { node(id: $id) { id } }', { id })
        expect(data?.node ?? null).toBeNull()
        expect(JSON.stringify(errors ?? [])).not.toContain('INTERNAL')
      },
    )

    test('pages forward and backward hold the same edges in the same order', async () => {
      const whole = (await sessions('first: 10')).edges
      const forward = await sessions('first: 2')
      expect(forward.edges).toEqual(whole.slice(0, 2))
      expect(forward.pageInfo).toEqual({
        hasNextPage: true,
        hasPreviousPage: false,
        startCursor: whole[0]!.cursor,
        endCursor: whole[1]!.cursor,
      })
      const next = await sessions(`first: 2, after: "${whole[1]!.cursor}"`)
      expect(next.edges).toEqual(whole.slice(2, 4))
      expect(next.pageInfo.hasPreviousPage).toBe(true)
      const backward = await sessions('last: 2')
      expect(backward.edges).toEqual(whole.slice(3))
      expect(backward.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
      expect((await sessions(`last: 2, before: "${whole[3]!.cursor}"`)).edges).toEqual(whole.slice(1, 3))
    })

    test('pages of one type of node share a fragment', async () => {
      await server.factory.session({ status: 'RUNNING' })
      const { data, errors } = await server.query(`{
        sessions(first: 1) { ...page } agents(first: 1) { ...agents edges { node { sessions(first: 1) { ...page } } } }
        chains(first: 1) { edges { node { sessions(first: 1) { ...page } } } }
        resourceGroup(name: "default") { agents(first: 1) { ...agents } pendingSessions(first: 1) { ...page } } }
        fragment page on SessionPage { totalCount pageInfo { endCursor } edges { cursor node { name } } }
        fragment agents on AgentPage { totalCount edges { node { name } } }`)
      expect(errors).toBeUndefined()
      const pages = [
        data.sessions,
        data.agents.edges[0].node.sessions,
        data.chains.edges[0].node.sessions,
        data.resourceGroup.pendingSessions,
      ]
      for (const { edges, totalCount } of pages) expect([edges.length, totalCount > 0]).toEqual([1, true])
      expect(data.resourceGroup.agents).toMatchObject({
        totalCount: 1,
        edges: [{ node: { name: data.agents.edges[0].node.name } }],
      })
    })

    test('an empty page has no cursors', async () => {
      const { edges, pageInfo } = await sessions('first: 5, filter: { name: { equals: "nobody" } }')
      expect(edges).toEqual([])
      expect(pageInfo).toEqual({ hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null })
    })

    test.each(['first: -1', 'last: -1', 'first: 1, last: 1', 'after: "nonsense"', 'before: "bm9uc2Vuc2U="'])(
      '%s is refused',
      async (parameters) => {
        const { errors } = await server.query(`{ sessions(${parameters}) { totalCount } }`)
        expect(errors?.[0]?.extensions['code']).toBe('VALIDATION_FAILED')
      },
    )
  })
})

/** Every GraphQL operation that the documentation shows, as it stands there, on a server without sessions. */
describe('documented operations', async () => {
  const blocks = await blocksOfTest('test/contract/graphql/relay.test.ts')
  const ERRORS_PAGE = 'docs/errors.md'
  const [refused, ...refusals] = blocks.filter(({ page, heading }) => page === ERRORS_PAGE && heading === 'Errors')
  const shown = blocks.filter(({ page }) => page !== ERRORS_PAGE)
  const operations = shown.map(({ page, text }) => ({
    page,
    line: text.match(/\b\w{10,}/)?.[0] ?? text,
    operation: text,
  }))

  const [subscriptions, requests] = [true, false].map((wanted) =>
    operations.filter(({ operation }) => operation.startsWith('subscription') === wanted),
  ) as [typeof operations, typeof operations]

  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer()
  })
  afterAll(() => server?.close())

  describe('operations of the documentation', () => {
    test('are seen', () => {
      expect(requests.length).toBeGreaterThanOrEqual(4)
      expect(subscriptions.length).toBeGreaterThanOrEqual(1)
    })

    test.each(subscriptions)('$page: $line', async ({ operation }) => {
      const connection = connect(server.url, server.adminToken)
      const stream = connection.subscribe(operation)
      const next = stream.take(1).catch((error: unknown) => error)
      // A refusal comes before the subscription starts.
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), { timeout: 120_000 })
      await connection.close()
      await next
    })

    test.each(requests)('$page: $line', async ({ operation }) => {
      // Among the variables of an operation, only `ids` is required.
      const { status, data, errors } = await server.query(operation, operation.includes('$ids') ? { ids: [] } : {})
      expect({ status, errors }).toEqual({ status: 200, errors: undefined })
      // An impossible operation answers with the code of an error.
      expect(JSON.stringify(data)).not.toMatch(/"code":"[A-Z_]+"/)
    })
    test('docs/errors.md shows the answers to a wrong input, in GraphQL and REST', async () => {
      const [graphql, rest] = refusals.slice(0, 2).map(({ text }) => JSON.parse(text) as Record<string, unknown>)
      const { data } = await server.query(refused!.text)
      expect(data).toEqual(graphql)
      const response = await fetch(`${server.url}/v2/sessions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'demo', command: [], retry_policy: { max_retries: 500 } }),
      })
      expect({ ...((await response.json()) as object), request_id: '…' }).toEqual(rest)
    })
  })
})
