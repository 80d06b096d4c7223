import {
  getNamedType,
  getNullableType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLField,
  type GraphQLObjectType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

/** Relay's GraphQL server specification: object identification and cursor connections. New types are found by themselves. */

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

  test('Query.node takes an id and answers with a Node or null', () => {
    const field = schema.getQueryType()!.getFields()['node']!
    expect(String(field.type)).toBe('Node')
    expect(argumentTypes(field)).toEqual({ id: 'ID!' })
  })
})

test('what removes something names it by the id that caches know', () => {
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
