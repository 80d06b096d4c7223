import { join } from 'node:path'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { ClientClosedError, type Connection, createConnection } from '../../src/client/connection/create-connection.ts'
import { compareCursors, decodeCursor, type EventCursor } from '../../src/domain/events.ts'
import type { Database } from '../../src/store/database.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { countTo, percentile } from './waiting.ts'

const LAG_AT_MOST_MS = 1_000
const EVERY_MS = 500

/**
 * What one page receives while many sessions are created at once, each of two attempts: as ids that are gathered, and as
 * events with what they are about. The lag of an event is the time from its statement to its arrival.
 */
export async function* bursts(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db, connectionString } = await ground.database()
  const dataDir = join(ground.dir, 'server')
  const env = {
    REPRISE_DATABASE_URL: connectionString,
    REPRISE_EXECUTOR: 'noop',
    REPRISE_SLOTS: `cpu=${size},mem=4t`,
    REPRISE_LOG_LEVEL: 'warn',
  }
  const server = await startServer({ dataDir, port: 0, onLog: (line) => ground.progress(line), env })
  const connection = createConnection({ url: server.url, token: await readAdminToken(dataDir) })
  try {
    const setup = { ground, db, connection, size }
    yield* await gathered(setup)
    yield* await whole(setup)
  } finally {
    await connection.close()
    await server.stop()
  }
}

interface Setup {
  ground: BenchGround
  db: Database
  connection: Connection
  size: number
}

interface Happened {
  cursor: EventCursor
  at: number
}

/** Creates the sessions, and answers with all events of them when their chains have ended. */
async function burst({ ground, db, connection, size }: Setup, after: EventCursor): Promise<Happened[]> {
  const sessions = Array.from({ length: size }, (_, n) => ({
    name: `burst-${n}`,
    command: ['noop', 'succeed-at', '2'],
    retryPolicy: { maxRetries: 1, retryDelay: 0.1 },
  }))
  const { createSessions } = await connection.request<{ createSessions: { results?: { __typename: string }[] } }>(
    `mutation ($input: CreateSessionsInput!) { createSessions(input: $input) {
      ... on CreateSessionsPayload { results { __typename ... on Error { message } } } ... on Error { message } } }`,
    { input: { sessions } },
  )
  if (!createSessions.results?.every(({ __typename }) => __typename === 'CreateSessionPayload'))
    throw new Error(`the sessions were not created: ${JSON.stringify(createSessions).slice(0, 500)}`)
  const behind = `FROM session_events WHERE (xid, id) > ('${after.xid}'::xid8, ${after.id})`
  await countTo(ground, db, 'chains', `SELECT count(*) ${behind} AND type = 'chain.succeeded'`, size)
  const { rows } = await db.query<{ xid: string; id: string; at: number }>(
    `SELECT xid::text, id::text, (extract(epoch FROM occurred_at) * 1000)::float8 AS at ${behind} ORDER BY session_events.xid, session_events.id`,
  )
  return rows.map(({ xid, id, at }) => ({ cursor: { xid: BigInt(xid), id: BigInt(id) }, at }))
}

async function gathered(setup: Setup): Promise<Measurement[]> {
  const { ground, connection } = setup
  const after = await eventCursor(connection)
  const messages: Happened[] = []
  let ids = 0
  const changes = connection.stream<{ changes: { cursor: string; sessionIds: string[]; chainIds: string[] } }>(
    `subscription ($after: String) { changes(after: $after, everyMs: ${EVERY_MS}) { cursor sessionIds chainIds agentIds } }`,
    { after },
  )
  const receiving = receive(changes, ({ changes: { cursor, sessionIds, chainIds } }) => {
    messages.push({ cursor: decodeCursor(cursor)!, at: Date.now() })
    ids += sessionIds.length + chainIds.length
  })
  const events = await burst(setup, decodeCursor(after)!)
  const receivedBy = ({ cursor }: Happened) => messages.find((message) => compareCursors(message.cursor, cursor) >= 0)
  while (!receivedBy(events.at(-1)!)) await connection.request('{ now }')
  await changes.return!()
  await receiving
  ground.progress(`${events.length} events in ${messages.length} messages`)
  const lags = events.map((event) => receivedBy(event)!.at - event.at)
  const spanSeconds = (messages.at(-1)!.at - messages[0]!.at) / 1_000
  return [
    {
      what: `changes in a burst of ${events.length} events: the last of them is known after`,
      figure: Math.max(...lags),
      unit: 'ms',
      target: { atMost: LAG_AT_MOST_MS },
      notes: { p50: Math.round(percentile(lags, 0.5)), messages: messages.length, ids },
    },
    {
      what: 'messages of changes a second',
      figure: (messages.length - 1) / spanSeconds,
      unit: 'messages/s',
      target: { atMost: 1_000 / EVERY_MS },
    },
  ]
}

async function whole(setup: Setup): Promise<Measurement[]> {
  const { connection } = setup
  const after = await eventCursor(connection)
  const lags: number[] = []
  interface Data {
    sessionEvents: { occurredAt: string }
  }
  const stream = connection.stream<Data>(
    `subscription ($after: String) { sessionEvents(after: $after) {
      cursor type occurredAt session { id status chain { id state attempts newestAttempt { id status attempt } } } } }`,
    { after },
  )
  const receiving = receive(stream, ({ sessionEvents }) => lags.push(Date.now() - Date.parse(sessionEvents.occurredAt)))
  const began = Date.now()
  const events = await burst(setup, decodeCursor(after)!)
  while (lags.length < events.length) await connection.request('{ now }')
  const tookMs = Date.now() - began
  await stream.return!()
  await receiving
  return [
    {
      what: `each of ${events.length} events with its session, chain and newest attempt, p50`,
      figure: percentile(lags, 0.5),
      unit: 'ms',
      target: { atMost: LAG_AT_MOST_MS },
      notes: {
        p99: Math.round(percentile(lags, 0.99)),
        max: Math.max(...lags),
        'events/s': Math.round((events.length / tookMs) * 1_000),
      },
    },
  ]
}

async function receive<Data>(stream: AsyncIterable<Data>, take: (data: Data) => void): Promise<void> {
  try {
    for await (const data of stream) take(data)
  } catch (error) {
    // The bench ends for another reason.
    if (!(error instanceof ClientClosedError)) throw error
  }
}

async function eventCursor(connection: Connection): Promise<string> {
  return (await connection.request<{ eventCursor: string }>('{ eventCursor }')).eventCursor
}
