import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { createHttpGateway } from '../../../src/agent/http-gateway.ts'
import { AGENT_REGISTER_PATH, AGENT_SYNC_PATH } from '../../../src/domain/agent/protocol.ts'
import { type TestServer as ApiServer, startGraphQLServer } from '../../support/servers/graphql-server.ts'
import { fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'

export const PATHS = { register: AGENT_REGISTER_PATH, sync: AGENT_SYNC_PATH }

export interface Told {
  status: number
  /** Parsed where it is JSON. */
  body: any
  headers: Headers
}

export interface AgentApiFixture {
  readonly api: ApiServer
  /** Drives the sessions of `api`'s database, and wakes its agents. */
  readonly server: TestServer
  /** Registered over HTTP with `token`, with 64 cpu. */
  readonly agent: FakeAgent
  /** A token of the role AGENT. */
  readonly token: string
  /** A text or bytes are sent as they are, anything else as JSON. */
  post(
    path: string,
    body: unknown,
    options?: { token?: string | null; headers?: Record<string, string> },
  ): Promise<Told>
  /** An agent that speaks over HTTP with a token of its own. */
  played(token: string, options?: Parameters<typeof fakeAgent>[1]): FakeAgent
  /** Every row that a lie could change, but when agents were heard. */
  world(): Promise<Record<string, unknown[]>>
}

const log = pino({ enabled: false })

/** @param anew whether each test begins with an empty database and an agent of its own, or all share one */
export function useAgentApi(anew: 'each test' | 'once' = 'each test'): AgentApiFixture {
  let api: ApiServer
  let server: TestServer
  let agent: FakeAgent
  let token: string
  beforeAll(async () => {
    api = await startGraphQLServer()
  })
  afterAll(() => api?.close())
  const before = anew === 'once' ? beforeAll : beforeEach
  before(async () => {
    await api.database.fresh()
    server = testServer(api.db, undefined, api.wake)
    token = await api.factory.token({ role: 'AGENT' })
    agent = fixture.played(token, { slots: { cpu: '64' } })
    await agent.register()
    await server.run('watch-agents')
  })
  const fixture: AgentApiFixture = {
    get api() {
      return api
    },
    get server() {
      return server
    },
    get agent() {
      return agent
    },
    get token() {
      return token
    },
    async post(path, body, options = {}) {
      const bearer = options.token === undefined ? token : options.token
      const response = await fetch(api.url + path, {
        method: 'POST',
        headers: { ...(bearer !== null && { authorization: `Bearer ${bearer}` }), ...options.headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body),
      })
      const text = await response.text()
      return { status: response.status, body: parse(text), headers: response.headers }
    },
    played: (bearer, options) => fakeAgent(createHttpGateway({ urls: [api.url], token: bearer, log }), options),
    async world() {
      const tables = ['sessions', 'kernels', 'agent_slots', 'retry_decisions', 'session_events', 'kernel_logs']
      const entries = tables.map(async (table) => {
        const { rows } = await api.db.query<{ row: unknown }>(`SELECT to_json(t) AS row FROM ${table} t ORDER BY t`)
        return [table, rows.map(({ row }) => row)] as const
      })
      const agents = await api.db.query(
        `SELECT id, name, resource_group, instance_id, token_id, labels FROM agents ORDER BY id`,
      )
      return { ...Object.fromEntries(await Promise.all(entries)), agents: agents.rows }
    },
  }
  return fixture
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
