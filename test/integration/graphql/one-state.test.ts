/** One operation or event reads a session in one state, however fast it changes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeCursor } from '../../../src/domain/events.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { moveSessions } from '../../support/sessions/move-sessions.ts'

const OPERATIONS = 600
const EVENTS = 200
const AT_ONCE = 8

let server: TestServer
let ids: string[]

beforeAll(async () => {
  server = await startGraphQLServer()
  const chains = await Promise.all(Array.from({ length: 12 }, () => server.factory.chain(2, { status: 'RUNNING' })))
  ids = chains.map((chain) => chain[1]!.id)
})
afterAll(() => server?.close())

async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

const PARTS = `sessionId status statusReason failureCause
  retryDecision { phase }
  retryState { phase }
  chain { newestAttempt { status failureCause } }
  retryChain { status retryDecision { phase } }`

interface Session {
  sessionId: string
  status: string
  statusReason: string
  failureCause: string | null
  retryDecision: object | null
  retryState: { phase: string }
  chain: { newestAttempt: { status: string; failureCause: string | null } }
  retryChain: { status: string; retryDecision: object | null }[]
}

/** All that is said about whether the session has failed. */
function saysFailed({ chain: { newestAttempt }, retryChain, ...session }: Session): boolean[] {
  const { status, retryDecision } = retryChain.at(-1)!
  return [
    session.status === 'ERROR',
    session.failureCause !== null,
    session.retryDecision !== null,
    session.retryState.phase === 'EXHAUSTED',
    newestAttempt.status === 'ERROR',
    newestAttempt.failureCause !== null,
    status === 'ERROR',
    retryDecision !== null,
  ]
}

/** The number of the last move of a session before a position, by the events. */
async function lastMoves(): Promise<(sessionId: string, xid: bigint) => number> {
  const { rows } = await server.db.query<{ id: string; xid: string; move: number }>(
    `SELECT session_id AS id, xid::text, (data ->> 'reason')::int AS move FROM session_events
     WHERE type LIKE 'session.%' ORDER BY 3 DESC`,
  )
  const moves = Map.groupBy(rows, ({ id }) => id)
  return (id, position) => moves.get(id)?.find(({ xid }) => BigInt(xid) < position)?.move ?? 0
}

test(`${OPERATIONS} operations while sessions move: each is of one state, and its cursor is not newer`, async () => {
  const query = `query ($id: UUID!) {
    a: session(id: $id) { ${PARTS} }
    eventCursor
    b: session(id: $id) { status statusReason }
    list: sessions(filter: { status: [RUNNING, ERROR] }, first: 50) { edges { node { sessionId statusReason } } }
  }`
  const seen: { id: string; says: boolean[]; moves: number[]; xid: bigint }[] = []
  {
    await using _movers = moveSessions(server.db, ids)
    await inParallel(OPERATIONS, async (n) => {
      const id = ids[n % ids.length]!
      const { data, errors } = await server.query(query, { id })
      expect(errors).toBeUndefined()
      const listed = data.list.edges.find(({ node }: { node: Session }) => node.sessionId === id)
      const moves = [data.a, data.b, listed.node].map(({ statusReason }) => Number(statusReason))
      seen.push({ id, says: saysFailed(data.a), moves, xid: decodeCursor(data.eventCursor)!.xid })
    })
  }
  const mixed = seen.filter(({ says, moves }) => new Set(says).size > 1 || new Set(moves).size > 1)
  expect(mixed.slice(0, 3)).toEqual([])
  const lastMove = await lastMoves()
  const missed = seen.filter(({ id, moves, xid }) => lastMove(id, xid) > moves[0]!)
  expect(missed.slice(0, 3)).toEqual([])
  // Both states were seen, and often.
  const failed = seen.filter(({ says }) => says[0]).length
  expect(Math.min(failed, OPERATIONS - failed)).toBeGreaterThan(OPERATIONS / 10)
}, 600_000)

test('mutations while sessions move: each payload is of one state, and none is older than the one before', async () => {
  const query = `mutation ($input: CreateSessionInput!) {
    a: createSession(input: $input) { ...Payload }
    b: createSession(input: $input) { ...Payload }
  }
  fragment Payload on CreateSessionPayload { created session { ${PARTS} } }`
  const inputs = Array.from({ length: 12 }, (_, n) => ({ name: 'moved', command: ['true'], creationId: `moved-${n}` }))
  const moved = await Promise.all(
    inputs.map(async (created) => {
      const { data, errors } = await server.query(query, { input: created })
      expect(errors).toBeUndefined()
      expect([data.a.created, data.b.created]).toEqual([true, false])
      return data.a.session.sessionId as string
    }),
  )
  await server.db.query(`UPDATE sessions SET status = 'RUNNING', status_reason = '0' WHERE id = ANY ($1)`, [moved])
  const mixed: object[] = []
  const back: object[] = []
  let failed = 0
  {
    await using _movers = moveSessions(server.db, moved)
    await inParallel(200, async (n) => {
      const { data, errors } = await server.query(query, { input: inputs[n % inputs.length] })
      expect(errors).toBeUndefined()
      const [a, b] = [data.a.session, data.b.session] as [Session, Session]
      for (const session of [a, b]) {
        const says = saysFailed(session)
        if (new Set(says).size > 1) mixed.push(session)
        if (says[0]) failed += 1
      }
      if (Number(b.statusReason) < Number(a.statusReason)) back.push({ a, b })
    })
  }
  expect(mixed.slice(0, 3)).toEqual([])
  expect(back.slice(0, 3)).toEqual([])
  expect(Math.min(failed, 400 - failed)).toBeGreaterThan(40)
})

test('an operation that needs a second statement is read again, in one state', async () => {
  const query = `query ($id: UUID!) { session(id: $id) { status statusReason parentSession { childSession { status statusReason } } } }`
  const { rows } = await server.db.query<{ id: string }>('SELECT parent_session_id AS id FROM sessions WHERE id = $1', [
    ids[0],
  ])
  const first = rows[0]!.id
  // A first attempt needs no further statement, so later requests of this document are not expected to need a snapshot.
  const alone = await server.query(query, { id: first })
  expect(alone.data.session.parentSession).toBeNull()
  await using _movers = moveSessions(server.db, ids)
  await inParallel(200, async (n) => {
    if (n % 2 === 0) return void (await server.query(query, { id: first }))
    const { data, errors } = await server.query(query, { id: ids[n % ids.length] })
    expect(errors).toBeUndefined()
    const { status, statusReason, parentSession } = data.session
    expect(parentSession.childSession).toEqual({ status, statusReason })
  })
})

test(`${EVENTS} events while sessions move: each is of one state`, async () => {
  const connection = connect(server.url, server.adminToken)
  const events = connection.subscribe(`subscription { sessionEvents { session { ${PARTS} } } }`)
  const mixed: boolean[][] = []
  const states = new Set<boolean>()
  try {
    const first = events.take(1)
    await using _movers = moveSessions(server.db, ids)
    for (const { sessionEvents } of [...(await first), ...(await events.take(EVENTS - 1))]) {
      const says = saysFailed(sessionEvents.session)
      states.add(says[0]!)
      if (new Set(says).size > 1) mixed.push(says)
    }
  } finally {
    await connection.close()
  }
  expect(mixed.slice(0, 3)).toEqual([])
  expect(states.size).toBe(2)
})
