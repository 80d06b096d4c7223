import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { wait } from '../../src/waiting/wait.ts'
import { MAIN } from '../support/programs/command-line.ts'
import { spawnProgram } from '../support/programs/spawned-program.ts'

/** A session takes less than this, the longest of them included. */
const WITHIN_MS = 60_000
const LOOK_MS = 250

export interface Session {
  status: string
  result: string
  failureReason: string | null
  statusReason: string | null
  startedAt: string | null
  terminatedAt: string | null
  gpus: { uuid: string; name: string }[]
  gpuUsage: { peakMemoryBytes: number | null; gpuSeconds: number } | null
  kernels: { logs: { edges: { node: { stream: string; text: string } }[] } }[]
}

export interface Subject extends AsyncDisposable {
  /** UUIDs of the machine's GPUs, as the driver names them. */
  readonly uuids: readonly string[]
  /** How the agent isolates its kernels. */
  readonly isolation: string
  graphql(query: string, variables?: object): Promise<any>
  /** Creates a session with so many GPUs. @returns its id */
  create(gpus: number, command: readonly string[]): Promise<string>
  /** Waits for its end. */
  ended(sessionId: string): Promise<Session>
}

/** A server with an agent and a database in this directory. */
export async function startSubject(directory: string, uuids: readonly string[]): Promise<Subject> {
  const dataDir = join(directory, 'data')
  const environment = { REPRISE_DATA_DIR: dataDir, REPRISE_HOST: '127.0.0.1', REPRISE_PORT: '0' }
  const server = await spawnProgram({ args: [MAIN, 'serve'], environment, ready: /^reprise ready (http:\S+)$/ })
  const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim()

  async function graphql(query: string, variables: object = {}): Promise<any> {
    const response = await fetch(`${server.ready}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = (await response.json()) as { data: unknown; errors?: unknown }
    if (errors !== undefined) throw new Error(JSON.stringify(errors))
    return data
  }

  const { agents } = await graphql('{ agents { edges { node { isolation } } } }')
  return {
    uuids,
    isolation: agents.edges[0]?.node.isolation ?? 'none',
    graphql,
    async create(gpus, command) {
      const input = {
        name: 'check',
        command,
        ...(gpus > 0 && { gpus: { count: gpus } }),
        retryPolicy: { maxRetries: 0 },
      }
      const { createSession } = await graphql(CREATE, { input })
      if (createSession.session === undefined) throw new Error(createSession.message)
      return createSession.session.sessionId as string
    },
    async ended(sessionId) {
      for (const until = performance.now() + WITHIN_MS; ; await wait(LOOK_MS)) {
        const { session } = (await graphql(READ, { sessionId })) as { session: Session & { pendingReason: string } }
        if (session.terminatedAt !== null) return session
        if (performance.now() > until) throw new Error(`${session.status} for too long: ${session.pendingReason}`)
      }
    },
    [Symbol.asyncDispose]: () => server.stop().then(() => {}),
  }
}

const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
  ... on CreateSessionPayload { session { sessionId } } ... on Error { message } } }`

const READ = `query ($sessionId: UUID!) { session(id: $sessionId) {
  status result failureReason statusReason pendingReason startedAt terminatedAt gpus { uuid name }
  gpuUsage { peakMemoryBytes gpuSeconds } kernels { logs(first: 100) { edges { node { stream text } } } } } }`

/** What its program has written. */
export function output({ kernels }: Session): string {
  return kernels.flatMap(({ logs }) => logs.edges.map(({ node }) => node.text)).join('')
}
