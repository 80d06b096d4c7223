import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../../guard/source-files.ts'
import { startGraphQLServer, type TestServer } from '../../support/graphql-server.ts'

/** Every GraphQL operation that the documentation shows, as it stands there, on a server without sessions. */

const pages = ['README.md', ...(await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md'))]
const operations = (
  await Promise.all(
    pages.map(async (page) => {
      const text = await readFile(join(ROOT, page === 'README.md' ? page : `docs/${page}`), 'utf8')
      return [...text.matchAll(/^```graphql\n([^]*?)^```$/gm)].map(([, operation]) => ({
        page,
        line: operation!.match(/\b\w{10,}/)![0],
        operation: operation!,
      }))
    }),
  )
).flat()

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
