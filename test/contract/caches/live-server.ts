import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildSchema, isObjectType } from 'graphql'
import { readAdminToken, startServer } from '../../../src/cli/demo/server-process.ts'
import { createConnection, type Connection } from '../../../src/client/connection/create-connection.ts'
import { createClient, type Client } from '../../../src/client/node/index.ts'
import { testDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

export const SCHEMA_PATH = join(import.meta.dirname, '../../../schema.graphql')

/** A server with an agent, on which chains have run, and the connection that caches of others use. */
export interface LiveServer extends AsyncDisposable {
  url: string
  token: string
  /** Ours, to make things happen beside the cache. */
  client: Client
  connection: Connection
  /** Names of the operations that the connection has sent over HTTP since the last call. */
  sent(): string[]
  /** Ended chains, ordered by name. */
  names: string[]
}

const CHAINS = 18

export async function startLiveServer(): Promise<LiveServer> {
  const directory = await temporaryDirectory('caches')
  const dataDir = join(directory, 'data')
  const database = await testDatabase()
  const env = { REPRISE_DATABASE_URL: database.connectionString }
  const server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
  const { url } = server
  const token = await readAdminToken(dataDir)
  const client = createClient({ url, token })
  const names = Array.from({ length: CHAINS }, (_, n) => `chain-${String(n).padStart(2, '0')}`)
  const created = await client.createSessions(
    names.map((name, n) => ({
      name,
      // Every third has two attempts.
      command: ['sh', '-c', n % 3 === 0 ? 'test $REPRISE_ATTEMPT -ge 2' : 'true'],
      retryPolicy: { maxRetries: 1, retryDelay: 0.1 },
    })),
  )
  await Promise.all(created.map((each) => client.waitForChain('session' in each ? each.session.sessionId : '')))
  const operations: string[] = []
  const connection = createConnection({
    url,
    token,
    fetch: (to, init) => {
      const { query } = JSON.parse(init!.body as string) as { query: string }
      operations.push(/(?:query|mutation) (\w+)/.exec(query)?.[1] ?? query)
      return fetch(to, init)
    },
  })
  return {
    url,
    token,
    client,
    connection,
    names,
    sent: () => operations.splice(0),
    async [Symbol.asyncDispose]() {
      await connection.close()
      await client.close()
      await server.stop()
      await database.close()
    },
  }
}

/** Creates a chain of two attempts, the first of which fails, and waits for its end. */
export async function runTwice(client: Client, name: string): Promise<void> {
  const { session } = await client.createSession({
    name,
    command: ['sh', '-c', 'test $REPRISE_ATTEMPT -ge 2'],
    retryPolicy: { maxRetries: 1, retryDelay: 0.1 },
  })
  await client.waitForChain(session.sessionId)
}

/** A chain that waits for its retry until somebody hastens it; answers with its session. */
export async function waitingChain(client: Client, name: string): Promise<string> {
  const { session } = await client.createSession({
    name,
    command: ['sh', '-c', 'test $REPRISE_ATTEMPT -ge 2'],
    retryPolicy: { maxRetries: 1, retryDelay: 3600 },
  })
  await eventually(async () => (await client.session(session.sessionId)).retryState.phase === 'SCHEDULED')
  return session.sessionId
}

/** Object types without `id`: parts of what they stand in, as docs/client.md says how to find them. */
export async function typesWithoutId(): Promise<string[]> {
  const schema = buildSchema(await readFile(SCHEMA_PATH, 'utf8'))
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type))
  return types.filter((type) => !type.name.startsWith('__') && !('id' in type.getFields())).map(({ name }) => name)
}

/** A cache that complains has been told something that it cannot keep. */
export function assertContent(complaints: readonly string[]): void {
  if (complaints.length > 0) throw new Error(`the cache complains:\n${complaints.join('\n')}`)
}

/** Passes what a subscription delivers on, as links and exchanges want it. */
export function forward(
  connection: Connection,
  text: string,
  variables: Record<string, unknown>,
  sink: { next(data: unknown): void; error(error: unknown): void; complete(): void },
): () => void {
  const events = connection.stream(text, variables)
  const pass = async () => {
    for await (const data of events) sink.next(data)
  }
  pass().then(
    () => sink.complete(),
    (error: unknown) => sink.error(error),
  )
  return () => void events.return?.()
}

/** The fields that all three clients read. */
export const CHAIN_FIELDS = `id chainId name state attempts cause endedAt outlook { willRetry reason }
  newestAttempt { id status attempt retryState { phase scheduledAt } }`

export const EVENT_FIELDS = `cursor type
  session { id status attempt chain { ${CHAIN_FIELDS} } retryState { phase maxAttempts } }`
