import { join } from 'node:path'
import { Pool } from 'undici'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { startBareYoga } from './bare-yoga.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { percentile } from './waiting.ts'

const CONNECTIONS = 16
/** Taken in turns, so that what else the machine does meets both. */
const ROUNDS = 5
const ROUND_MS = 2_000

/** What a list, a status line or a poll of a client asks for. */
const QUERY = `query Point($id: UUID!) {
  session(id: $id) {
    sessionId name sessionType status result statusReason exitCode failureCause createdAt startedAt terminatedAt
    attempt retryCount maxRetries priority
    retryState { phase label attempt maxAttempts reason }
  }
}`

/** `session(id)` over HTTP with a token, beside bare Yoga that answers the same query with a constant. */
export async function* pointQuery(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  await using setup = await openPointQuery(ground, size)
  const { ours, bare } = setup
  const rates = { ours: [] as number[], bare: [] as number[] }
  // The first round of each only warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    ground.progress(round === 0 ? 'warming up' : `round ${round} of ${ROUNDS}`)
    for (const [who, asked] of Object.entries({ bare, ours })) {
      const rate = await requestsPerSecond(ground, asked, ROUND_MS)
      if (round > 0) rates[who as keyof typeof rates].push(rate)
    }
  }
  yield {
    what: 'session(id) by GraphQL over HTTP, with a token',
    figure: percentile(rates.ours, 0.5),
    unit: 'requests/s',
    ceiling: percentile(rates.bare, 0.5),
    ratioAtLeast: 0.7,
    notes: { sessions: size, connections: CONNECTIONS },
  }
}

interface PointQuery extends AsyncDisposable {
  ours: Client
  bare: Client
}

/** A server with so many sessions, and bare Yoga. */
export async function openPointQuery(ground: BenchGround, size: number): Promise<PointQuery> {
  const { connectionString } = await ground.database()
  await using resources = new AsyncDisposableStack()
  const dataDir = join(ground.dir, 'server')
  const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api', REPRISE_LOG_LEVEL: 'warn' }
  const server = await startServer({ dataDir, port: 0, onLog: (line) => ground.progress(line), env })
  resources.defer(async () => void (await server.stop()))
  const token = await readAdminToken(dataDir)
  const ids = await createSessions(server.url, token, size)
  const ours = resources.use(client(server.url, token, ids))
  const yoga = await startBareYoga(await ours.ask(0))
  resources.defer(() => yoga.stop())
  const bare = resources.use(client(yoga.url, token, ids))
  const kept = resources.move()
  return { ours, bare, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

export interface Client extends AsyncDisposable {
  /** @throws where the answer is not the session */
  ask(n: number): Promise<unknown>
}

function client(url: string, token: string, ids: readonly string[]): Client {
  const pool = new Pool(url, { connections: CONNECTIONS })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    async ask(n) {
      const id = ids[n % ids.length]
      const body = JSON.stringify({ query: QUERY, variables: { id } })
      const answer = await pool.request({ path: '/graphql', method: 'POST', headers, body })
      const { data } = (await answer.body.json()) as { data?: { session?: { sessionId?: string } } }
      if (!data?.session?.sessionId) throw new Error('a point query was not answered')
      return data.session
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  }
}

export async function requestsPerSecond(ground: BenchGround, asked: Client, forMs: number): Promise<number> {
  const begun = performance.now()
  let answered = 0
  const worker = async () => {
    while (performance.now() - begun < forMs) {
      ground.signal.throwIfAborted()
      await asked.ask(answered)
      answered++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  return answered / ((performance.now() - begun) / 1000)
}

async function createSessions(url: string, token: string, count: number): Promise<string[]> {
  const sessions = Array.from({ length: count }, (_, n) => ({ name: `s${n}`, command: ['true'] }))
  const query = `mutation ($input: CreateSessionsInput!) { createSessions(input: $input) {
    ... on CreateSessionsPayload { results { ... on CreateSessionPayload { session { sessionId } } } } } }`
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables: { input: { sessions } } }),
  })
  const { data } = (await response.json()) as Created
  return data.createSessions.results.map(({ session }) => session.sessionId)
}

interface Created {
  data: { createSessions: { results: { session: { sessionId: string } }[] } }
}
