import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Lease } from '../../../src/domain/agent/lease.ts'
import { testDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { spawnProgram, type SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { MAIN } from '../../support/programs/command-line.ts'

const SERVER = join(import.meta.dirname, '../../support/programs/short-lease-program.ts')

/** Silence is borne for seconds, not for minutes: for more of them than a busy machine may stand still. */
export const SHORT_LEASE: Lease = {
  heartbeatMs: 1_000,
  checkIntervalMs: 250,
  suspectAfterMs: 5_000,
  lostAfterMs: 9_000,
  fenceMarginMs: 4_000,
  // A restart that is quicker leaves agents 2 s of their lease to come back in.
  outageAfterMs: 2_000,
}

/** A lease for tests in which no agent is lost. */
export const PATIENT_LEASE: Lease = { ...SHORT_LEASE, suspectAfterMs: 60_000, lostAfterMs: 120_000 }

export interface Seen {
  status: string
  result: string
  attempt: number
  failureCause: string | null
  statusReason: string | null
  retryState: { phase: string; reason: string | null }
  kernels: {
    agent: { name: string } | null
    status: string
    logs: { edges: { node: { stream: string; text: string } }[] }
  }[]
}

interface AgentOptions extends Pick<Parameters<typeof spawnProgram>[0], 'through' | 'spawned'> {
  name: string
  url?: string
  token: string
  args?: string[]
  environment?: Record<string, string>
}

export interface RemoteFleet extends AsyncDisposable {
  /** A directory that all kernels can write to. */
  readonly shared: string
  readonly url: string
  readonly adminToken: string
  readonly server: SpawnedProgram
  /** On the port where it was. */
  restartServer(environment?: Record<string, string>): Promise<void>
  sql(statement: string): Promise<Record<string, any>[]>
  graphql(query: string, variables?: object): Promise<any>
  /** GET over REST. */
  rest(path: string): Promise<any>
  createSession(input: object): Promise<string>
  /** The attempts of the chain that began with this session, oldest first. */
  chain(sessionId: string): Promise<Seen[]>
  until(sessionId: string, what: (chain: Seen[]) => boolean, withinMs?: number): Promise<Seen[]>
  agentStatus(name: string): Promise<string | undefined>
  /** Directory in which the agent of this name keeps its id and kernels. */
  agentDir(name: string): string
  /** A token of the role AGENT. */
  token(): Promise<string>
  /** `reprise agent` in a directory that belongs to its name. */
  startAgent(options: AgentOptions): Promise<SpawnedProgram>
}

/** A server process without an agent of its own, on a database of its own, and agents as processes. */
export async function startRemoteFleet({ host = '127.0.0.1', lease = SHORT_LEASE } = {}): Promise<RemoteFleet> {
  const resources = new AsyncDisposableStack()
  const database = await testDatabase()
  resources.defer(() => database.close())
  const root = await temporaryDirectory('remote')
  const startServer = (port: string, more: Record<string, string> = {}) =>
    spawnProgram({
      args: [SERVER, JSON.stringify(lease)],
      environment: {
        REPRISE_DATA_DIR: join(root, 'server'),
        REPRISE_DATABASE_URL: database.connectionString,
        REPRISE_DATABASE_CONNECTIONS: '8',
        REPRISE_HOST: host,
        REPRISE_PORT: port,
        REPRISE_ROLES: 'api,scheduler',
        ...more,
      },
      ready: /^reprise ready (http:\S+)$/,
    })
  let server = await startServer(String(await fixedPort()))
  resources.defer(() => server.stop().then(() => {}))
  const url = server.ready
  const adminToken = (await readFile(join(root, 'server/admin-token'), 'utf8')).trim()
  const agents = new Set<SpawnedProgram>()
  resources.defer(() => Promise.all([...agents].map((agent) => agent.stop())).then(() => {}))

  const fleet: RemoteFleet = {
    shared: await temporaryDirectory('shared'),
    url,
    adminToken,
    get server() {
      return server
    },
    async restartServer(environment) {
      server = await startServer(new URL(url).port, environment)
    },
    sql: async (statement) => (await database.db.query(statement)).rows,
    async graphql(query, variables = {}) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      })
      const { data, errors } = (await response.json()) as { data: any; errors?: unknown }
      if (errors !== undefined) throw new Error(JSON.stringify(errors))
      return data
    },
    async rest(path) {
      const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${adminToken}` } })
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return response.json()
    },
    async createSession(input) {
      const { createSession } = await fleet.graphql(CREATE, { input: { name: 'remote', ...input } })
      if (createSession.session === undefined) throw new Error(createSession.message)
      return createSession.session.sessionId
    },
    chain: async (id) => (await fleet.graphql(CHAIN, { id })).session.retryChain,
    async until(sessionId, what, withinMs = 120_000) {
      let chain: Seen[] = []
      const look = async () => what((chain = await fleet.chain(sessionId))) && chain
      return eventually(look, { withinMs, what: what.toString() }).catch((error: Error) => {
        throw new Error(`${error.message}\n${JSON.stringify(chain, null, 1)}\n${server.log.slice(-30).join('\n')}`)
      })
    },
    async agentStatus(name) {
      const { agents: found } = await fleet.graphql('{ agents { edges { node { name status } } } }')
      return found.edges.map(({ node }: any) => node).find((node: any) => node.name === name)?.status
    },
    agentDir: (name) => join(root, name, 'agent'),
    async token() {
      const input = { name: `agents-${randomUUID()}`, role: 'AGENT' }
      return (await fleet.graphql(TOKEN, { input })).createToken.secret
    },
    async startAgent({ name, url: address = url, token, args = [], environment = {}, ...how }) {
      const given = ['--server', address, '--name', name, '--slots', 'cpu=2,mem=1g', '--data-dir', join(root, name)]
      const agent = await spawnProgram({
        ...how,
        args: [MAIN, 'agent', ...given, ...args],
        // Kernels note their lives in a directory that all attempts share.
        environment: { REPRISE_TOKEN: token, REPRISE_ISOLATION: 'none', ...environment },
        ready: /^reprise agent ready (http:\S+)$/,
      })
      agents.add(agent)
      return agent
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
  return fleet
}

const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
  ... on CreateSessionPayload { session { sessionId } } ... on Error { message } } }`
const CHAIN = `query ($id: UUID!) { session(id: $id) { retryChain { status result attempt failureCause statusReason
  retryState { phase reason } kernels { agent { name } status logs(first: 100) { edges { node { stream text } } } } } } }`
const TOKEN = `mutation ($input: CreateTokenInput!) { createToken(input: $input) {
  ... on CreateTokenPayload { secret } ... on Error { message } } }`

export function textOf({ kernels }: Seen): string {
  return kernels.flatMap(({ logs }) => logs.edges.map(({ node }) => node.text)).join('')
}
