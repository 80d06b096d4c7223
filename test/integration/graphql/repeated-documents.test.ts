/** A document that is sent again: each request gets what it asks for, at the same cost. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { recordStatements } from '../../support/database/record-statements.ts'

let server: TestServer
let id: string

beforeAll(async () => {
  server = await startGraphQLServer()
  const [first] = await server.factory.chain(2, { name: 'twice', status: 'ERROR', phase: 'EXHAUSTED' })
  id = first!.id
})
afterAll(() => server?.close())

async function ask(text: string, variables: object = {}) {
  const { result, statements } = await recordStatements(() => server.query(text, { id, ...variables }))
  expect(result.errors).toBeUndefined()
  const reads = statements.filter((sql) => !/session_events|api_tokens/.test(sql))
  return { session: result.data.session, cost: reads.length }
}

test('columns, relations and what is computed', async () => {
  const text = `query ($id: UUID!) { session(id: $id) {
    name status labels { key } project { name } kernels { role } retryState { phase reason } parentSession { name } childSession { name attempt }
  } }`
  const first = await ask(text)
  expect(first.session).toMatchObject({ name: 'twice', retryState: { phase: 'DISPATCHED' }, parentSession: null })
  expect(await ask(text)).toEqual(first)
})

test.each([
  ['@include', 'status @include(if: $more)', '', { more: true }, { more: false }],
  ['@skip', 'status @skip(if: $less)', '', { less: false }, { less: true }],
  ['@include of a fragment', '...More @include(if: $more)', 'status', { more: true }, { more: false }],
  ['@include within a fragment', '...More', 'status @include(if: $more)', { more: true }, { more: false }],
])('%s', async (_name, selection, fragment, all, part) => {
  const variable = Object.keys(all)[0]!
  const more = fragment && `fragment More on Session { ${fragment} }`
  const text = `query ($id: UUID!, $${variable}: Boolean!) { session(id: $id) { name ${selection} } } ${more}`
  for (const variables of [part, all, part, all]) {
    const session = { name: 'twice', ...(variables === all && { status: 'ERROR' }) }
    expect(await ask(text, variables)).toEqual({ session, cost: 1 })
  }
})

test('a field that stands in a document twice', async () => {
  const text = 'query ($id: UUID!) { session(id: $id) { name } session(id: $id) { status retryState { phase } } }'
  const whole = { session: { name: 'twice', status: 'ERROR', retryState: { phase: 'DISPATCHED' } }, cost: 1 }
  expect(await ask(text)).toEqual(whole)
  expect(await ask(text)).toEqual(whole)
})

test('a fragment that two operations of a document complete in different ways', async () => {
  const text = `query A($id: UUID!) { ...Name } query B($id: UUID!) { ...Name session(id: $id) { status } }
    fragment Name on Query { session(id: $id) { name } }`
  const askOperation = async (operationName: string) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.adminToken}` }
    const body = JSON.stringify({ query: text, variables: { id }, operationName })
    const { result, statements } = await recordStatements(async () =>
      (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).json(),
    )
    return { result, cost: statements.filter((sql) => !/session_events|api_tokens/.test(sql)).length }
  }
  expect(await askOperation('A')).toEqual({ result: { data: { session: { name: 'twice' } } }, cost: 1 })
  expect(await askOperation('B')).toEqual({
    result: { data: { session: { name: 'twice', status: 'ERROR' } } },
    cost: 1,
  })
})
