import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { needsArguments } from '../tenancy/field-paths.ts'
import { createTenant, type Tenant } from '../tenancy/tenant.ts'

/** The time for one request on a busy machine. */
export const ANSWER_WITHIN_MS = 20_000

export interface FuzzServer extends TestServer {
  tenant: Tenant
  /** Cursors of a page of each kind. */
  cursors: readonly string[]
  /** The log has no fault, and the server does what it did before. */
  expectWell(): Promise<void>
}

export async function startFuzzServer(options: Parameters<typeof startGraphQLServer>[0] = {}): Promise<FuzzServer> {
  const faults: string[] = []
  const lines = new Writable({
    write(chunk, _encoding, done) {
      faults.push(String(chunk).slice(0, 2_000))
      done()
    },
  })
  const server = await startGraphQLServer({ ...options, log: pino({ base: null, level: 'warn' }, lines) })
  const tenant = await createTenant(server, 'fuzzed')
  return {
    ...server,
    tenant,
    cursors: await readCursors(server),
    async expectWell() {
      expect(faults).toEqual([])
      const input = { name: 'afterwards', command: ['true'] }
      const create = 'mutation ($input: CreateSessionInput!) { createSession(input: $input) { __typename } }'
      const { status, data } = await server.query(create, { input })
      expect([status, data]).toEqual([200, { createSession: { __typename: 'CreateSessionPayload' } }])
    },
  }
}

async function readCursors(server: TestServer): Promise<string[]> {
  const pages = Object.values(schema.getQueryType()!.getFields()).filter(
    (field) => field.args.some(({ name }) => name === 'after') && !needsArguments(field),
  )
  const found: string[] = []
  for (const { name } of pages) {
    const { data } = await server.query(`{ ${name}(first: 2) { pageInfo { startCursor endCursor } } }`)
    found.push(
      ...Object.values(data[name].pageInfo as Record<string, string | null>).filter((cursor) => cursor !== null),
    )
  }
  const kernel = await server.query('{ eventCursor }')
  return [...found, kernel.data.eventCursor]
}
