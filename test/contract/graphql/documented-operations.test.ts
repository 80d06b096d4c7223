import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { startGraphQLServer, type TestServer } from '../../support/graphql-server.ts'

/** Every GraphQL operation that the documentation shows, as it stands there, on a server without sessions. */

const blocks = await blocksOfTest('test/contract/graphql/documented-operations.test.ts')
const operations = blocks.map(({ page, text }) => ({ page, line: text.match(/\b\w{10,}/)![0], operation: text }))

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('operations of the documentation', () => {
  test('are seen', () => expect(operations.length).toBeGreaterThanOrEqual(3))

  test.each(operations)('$page: $line', async ({ operation }) => {
    const { status, data, errors } = await server.query(operation)
    expect({ status, errors }).toEqual({ status: 200, errors: undefined })
    // What cannot be done answers with the code of an error.
    expect(JSON.stringify(data)).not.toMatch(/"code":"[A-Z_]+"/)
  })
})
