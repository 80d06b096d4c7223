import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { testDatabase, type TestDatabase } from '../database/database.ts'
import { fakeAgent, type FakeAgent } from '../agents/fake-agent.ts'
import { testServer, type TestServer } from '../servers/test-server.ts'

export interface SchedulingFixture {
  readonly database: TestDatabase
  readonly db: Database
  /** New for each test, on an empty database. */
  readonly server: TestServer
  /** Registered, with 64 cpu. */
  readonly agent: FakeAgent
  /** SQL for states that no client can cause: times set back, groups configured. */
  sql(statement: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
}

/** One database for the calling test file, empty before each test, with a server and an agent. */
export function useScheduling({ syncWaitMaxMs }: { syncWaitMaxMs?: number } = {}): SchedulingFixture {
  let database: TestDatabase
  let server: TestServer
  let agent: FakeAgent
  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    await database.fresh()
    server = testServer(
      database.db,
      undefined,
      undefined,
      syncWaitMaxMs === undefined ? {} : { waitMaxMs: syncWaitMaxMs },
    )
    agent = fakeAgent(server.gateway, { slots: { cpu: '64' } })
    await agent.register()
    await server.run('watch-agents')
  })
  return {
    get database() {
      return database
    },
    get db() {
      return database.db
    },
    get server() {
      return server
    },
    get agent() {
      return agent
    },
    sql: async (statement, values) => (await database.db.query(statement, values)).rows,
  }
}
