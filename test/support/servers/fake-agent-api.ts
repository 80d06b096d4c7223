import { afterAll, beforeAll, beforeEach } from 'vitest'
import { fakeAgent, type FakeAgent } from '../agents/fake-agent.ts'
import { startGraphQLServer, type TestServer as ApiServer } from './graphql-server.ts'
import { testServer, type TestServer } from './test-server.ts'

/** Gives each test of the file the API over real HTTP, a scheduler that it runs itself, and fake agents. */
export function useFakeAgentApi() {
  let api: ApiServer
  let server: TestServer
  beforeAll(async () => {
    api = await startGraphQLServer()
  })
  afterAll(() => api?.close())
  beforeEach(async () => {
    await api.database.fresh()
    api.adminToken = await api.factory.token({ role: 'ADMIN' })
    server = testServer(api.db)
  })
  return {
    get api() {
      return api
    },
    get server() {
      return server
    },
    /** @returns an agent that takes work */
    async registered(options: Parameters<typeof fakeAgent>[1] = {}): Promise<FakeAgent> {
      const agent = fakeAgent(server.gateway, options)
      await agent.register()
      await server.run('watch-agents')
      return agent
    },
  }
}
