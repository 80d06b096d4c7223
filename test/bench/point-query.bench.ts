import { join } from 'node:path'
import { Pool } from 'undici'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { startBareYoga } from './bare-yoga.ts'
import type { Bench } from './bench.ts'
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
export const pointQuery: Bench = {
  name: 'point-query',
  size: 1_000,
  async run(ground, size) {
    const { connectionString } = await ground.database()
    await using resources = new AsyncDisposableStack()
    const dataDir = join(ground.dir, 'server')
    const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api', REPRISE_LOG_LEVEL: 'warn' }
    const server = await startServer({ dataDir, port: 0, onLog: (line) => ground.progress(line), env })
    resources.defer(async () => void (await server.stop()))
    const token = await readAdminToken(dataDir)
    const ids = await createSessions(server.url, token, size)
    await using ours = client(server.url, token)
    const bareSession = await ours.ask(ids[0]!)
    const yoga = await startBareYoga(bareSession)
    resources.defer(() => yoga.stop())
    await using bare = client(yoga.url, token)
    const rates = { ours: [] as number[], bare: [] as number[] }
    // The first round of each only warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      ground.progress(round === 0 ? 'warming up' : `round ${round} of ${ROUNDS}`)
      for (const [who, asked] of Object.entries({ bare, ours })) {
        const rate = await requestsPerSecond(ground, asked, ids)
        if (round > 0) rates[who as keyof typeof rates].push(rate)
      }
    }
    return [
      {
        what: 'session(id) by GraphQL over HTTP, with a token',
        figure: percentile(rates.ours, 0.5),
        unit: 'requests/s',
        ceiling: percentile(rates.bare, 0.5),
        ratioAtLeast: 0.7,
        notes: { sessions: size, connections: CONNECTIONS },
      },
    ]
  },
}

interface Client extends AsyncDisposable {
  /** @throws where the answer is not the session */
  ask(id: string): Promise<unknown>
}

function client(url: string, token: string): Client {
  const pool = new Pool(url, { connections: CONNECTIONS })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    async ask(id) {
      const body = JSON.stringify({ query: QUERY, variables: { id } })
      const answer = await pool.request({ path: '/graphql', method: 'POST', headers, body })
      const { data } = (await answer.body.json()) as { data?: { session?: { sessionId?: string } } }
      if (!data?.session?.sessionId) throw new Error('a point query was not answered')
      return data.session
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  }
}

async function requestsPerSecond(ground: BenchGround, asked: Client, ids: readonly string[]): Promise<number> {
  const begun = performance.now()
  let answered = 0
  const worker = async () => {
    while (performance.now() - begun < ROUND_MS) {
      ground.signal.throwIfAborted()
      await asked.ask(ids[answered % ids.length]!)
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
