/** Pages of past events, batches that exceed an answer, and changes that another server makes. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { type Connection, createConnection } from '../../../src/client/connection/create-connection.ts'
import { encodeCursor } from '../../../src/domain/events.ts'
import { PAGE_SCANNED_EVENTS_MAX } from '../../../src/domain/limits.ts'
import { numbered, writeDeploymentEvents, writeEvents, type WrittenEvent } from '../../support/database/outbox.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { startSecondServer } from '../../support/servers/second-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('pages of events', () => {
  beforeEach(() => server.db.query('TRUNCATE session_events'))

  const ARGUMENTS = '$filter: SessionEventFilter, $first: Int, $after: String, $last: Int, $before: String'
  const PAGE = `query (${ARGUMENTS}) {
  events(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
    totalCount totalCountIsExact pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { cursor node { cursor type sessionId chainId occurredAt } } } }`
  const LIVE = `subscription ($filter: SessionEventFilter, $after: String) {
  sessionEvents(filter: $filter, after: $after) { cursor type sessionId } }`

  interface Page {
    first?: number
    after?: string | null
    last?: number
    before?: string | null
    filter?: object
  }

  async function page(variables: Page, token?: string) {
    const { data, errors } = await server.query(PAGE, { ...variables }, token)
    if (errors) throw Object.assign(new Error(errors[0]!.message), { code: errors[0]!.extensions['code'] })
    const { edges, pageInfo, ...rest } = data.events
    for (const { cursor, node } of edges) expect(node.cursor).toBe(cursor)
    return { ...pageInfo, ...rest, sessions: edges.map(({ node }: any) => node.sessionId) as string[], edges }
  }

  /** Transactions of other databases may hold back for a while what has just been written. */
  async function written(events: readonly WrittenEvent[]): Promise<string[]> {
    const whole = events.map((event) => ({ sessionId: randomUUID(), ...event }))
    await writeEvents(server.db, whole)
    const last = whole.at(-1)!.sessionId
    await eventually(async () => (await page({ last: 1, filter: { sessionId: last } })).sessions.length === 1)
    return whole.map(({ sessionId }) => sessionId)
  }

  async function walk(how: Page, size: number): Promise<string[]> {
    const found: string[][] = []
    let cursor: string | null = null
    for (;;) {
      const backward = how.last !== undefined
      const read = await page(
        backward ? { ...how, last: size, before: cursor } : { ...how, first: size, after: cursor },
      )
      if (backward) found.unshift(read.sessions)
      else found.push(read.sessions)
      if (!(backward ? read.hasPreviousPage : read.hasNextPage)) return found.flat()
      expect(read.sessions).toHaveLength(size)
      cursor = backward ? read.startCursor : read.endCursor
    }
  }

  describe('a walk through events', () => {
    test('is the same in pages of any size and from either end, and is filtered as subscriptions are', async () => {
      const { factory } = server
      const [ours, theirs] = [await factory.project('ours'), await factory.project('theirs')]
      const token = await factory.token({ role: 'VIEWER', projectId: ours })
      const chainId = randomUUID()
      const events = Array.from({ length: 13 }, (_, n) =>
        numbered(n, {
          projectId: n % 3 === 0 ? theirs : ours,
          type: n % 4 === 0 ? 'session.error' : 'session.created',
          ...(n % 5 === 0 && { chainId }),
        }),
      )
      await writeDeploymentEvents(server.db, [
        { type: 'deployment.created', deploymentId: randomUUID(), projectId: ours, data: { replicas: 1, revision: 1 } },
      ])
      const ids = await written(events)
      const of = (wanted: (n: number) => boolean) => ids.filter((_, n) => wanted(n))
      for (const size of [1, 4, 13, 100]) {
        for (const how of [{ first: 1 }, { last: 1 }]) {
          expect(await walk(how, size)).toEqual(ids)
          expect(await walk({ ...how, filter: { project: 'ours' } }, size)).toEqual(of((n) => n % 3 !== 0))
          expect(await walk({ ...how, filter: { types: ['ERROR'] } }, size)).toEqual(of((n) => n % 4 === 0))
          expect(await walk({ ...how, filter: { chainId } }, size)).toEqual(of((n) => n % 5 === 0))
          expect(await walk({ ...how, filter: { chainIds: [chainId, ids[1]] } }, size)).toEqual(
            of((n) => n % 5 === 0 || n === 1),
          )
        }
      }
      expect(await page({}, token)).toMatchObject({ sessions: of((n) => n % 3 !== 0), totalCount: 8 })
      await expect(page({ filter: { project: 'theirs' } }, token)).rejects.toMatchObject({ code: 'PROJECT_NOT_FOUND' })
      expect(await page({ first: 0 })).toMatchObject({ sessions: [], totalCount: 13, totalCountIsExact: true })
    })

    test('stays between two places', async () => {
      const ids = await written(Array.from({ length: 9 }, (_, n) => numbered(n)))
      const { edges } = await page({ first: 100 })
      const between = { after: edges[2].cursor, before: edges[7].cursor }
      expect(await page({ ...between, first: 100 })).toMatchObject({
        sessions: ids.slice(3, 7),
        hasNextPage: false,
        hasPreviousPage: true,
      })
      expect(await page({ ...between, last: 2 })).toMatchObject({
        sessions: ids.slice(5, 7),
        hasNextPage: true,
        hasPreviousPage: true,
      })
      for (const wrong of [{ after: 'bent' }, { before: 'bent' }, { last: 101 }, { first: 1, last: 1 }]) {
        await expect(page(wrong)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
      }
      const many = { chainIds: Array.from({ length: 201 }, () => randomUUID()) }
      await expect(page({ filter: many })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    })
  })

  describe('from the newest page on', () => {
    test('a subscription goes on without a gap and without a repetition, whatever is being written', async () => {
      const early = await written([numbered(0), numbered(1)])
      // Begins to write before the page is read, and commits after it: nothing later may be shown before this.
      const slow = await server.database.connect()
      try {
        await slow.query('BEGIN')
        const [late, next] = [randomUUID(), randomUUID()]
        await writeEvents(slow, [numbered(2, { sessionId: late })])
        await writeEvents(server.db, [numbered(3, { sessionId: next })])
        const newest = await page({ last: 100 })
        expect(newest.sessions).toEqual(early)
        expect(newest.endCursor).toBe(newest.edges.at(-1).cursor)

        const connection = connect(server.url, server.adminToken)
        const stream = connection.subscribe(LIVE, { after: newest.endCursor })
        const taken = stream.take(3)
        await slow.query('COMMIT')
        const after = randomUUID()
        await writeEvents(server.db, [numbered(4, { sessionId: after })])
        server.wake.wake('events')
        expect((await taken).map(({ sessionEvents }) => sessionEvents.sessionId)).toEqual([late, next, after])
        await connection.close()
      } finally {
        await slow.end()
      }
    })

    test('also where it has no event that matches, and of each event of a page', async () => {
      const [first, second, third] = await written([numbered(0), numbered(1), numbered(2)])
      const filter = { sessionId: randomUUID() }
      const empty = await page({ last: 10, filter })
      expect(empty).toMatchObject({ sessions: [], hasPreviousPage: false, endCursor: expect.any(String) })
      await writeEvents(server.db, [numbered(3, filter)])
      const connection = connect(server.url, server.adminToken)
      const follow = async (after: string, count: number, wanted?: object) =>
        (await connection.subscribe(LIVE, { after, filter: wanted }).take(count)).map(
          ({ sessionEvents }) => sessionEvents.sessionId,
        )
      expect(await follow(empty.endCursor, 1, filter)).toEqual([filter.sessionId])
      const whole = await page({ first: 100 })
      expect(await follow(whole.edges[0].cursor, 3)).toEqual([second, third, filter.sessionId])
      expect(whole.sessions.slice(0, 3)).toEqual([first, second, third])
      await connection.close()
    })
  })

  describe('in a large outbox', () => {
    const many = PAGE_SCANNED_EVENTS_MAX + 10_000
    const [oldest, newest] = [randomUUID(), randomUUID()]

    beforeEach(async () => {
      await writeEvents(server.db, [numbered(0, { sessionId: oldest, chainId: oldest })])
      await server.db.query(
        `INSERT INTO session_events (type, session_id, chain_id, project_id, data)
       SELECT 'session.created', $1, $1, id, '{}' FROM generate_series(1, $2), (SELECT id FROM projects LIMIT 1) AS p`,
        [randomUUID(), many],
      )
      await written([numbered(0, { sessionId: newest, chainId: newest })])
    })

    test('a page reads a bounded number of events, and returns where to continue', async () => {
      const filter = { chainIds: [oldest] }
      const { result: none, statements } = await recordStatements(() => page({ last: 5, filter }))
      expect(none).toMatchObject({ sessions: [], hasPreviousPage: true, hasNextPage: false, totalCountIsExact: false })
      expect(statements.filter((text) => text.includes('AS place')).length).toBeLessThan(18)
      expect(await page({ last: 5, filter, before: none.startCursor })).toMatchObject({
        sessions: [oldest],
        hasPreviousPage: false,
      })
      const forward = await page({ first: 5, filter: { chainIds: [newest] } })
      expect(forward).toMatchObject({ sessions: [], hasNextPage: true, totalCount: 1 })
      expect(await page({ first: 5, filter: { chainIds: [newest] }, after: forward.endCursor })).toMatchObject({
        sessions: [newest],
        hasNextPage: false,
      })
    })

    test('behind a cursor whose events are no longer kept it is refused, and before it there is nothing', async () => {
      const { edges } = await page({ first: 3 })
      const removed = 'events.removed-through'
      await server.db.query(
        `WITH gone AS (DELETE FROM session_events WHERE id IN (SELECT id FROM session_events ORDER BY xid, id LIMIT 2) RETURNING xid, id)
       UPDATE settings SET value = (SELECT jsonb_build_object('xid', xid::text, 'id', id::text) FROM gone ORDER BY xid DESC, id DESC LIMIT 1)
       WHERE key = $1`,
        [removed],
      )
      await expect(page({ first: 3, after: edges[0].cursor })).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
      expect((await page({ first: 1, after: edges[1].cursor })).edges[0].cursor).toBe(edges[2].cursor)
      expect(await page({ last: 3, before: edges[1].cursor })).toMatchObject({ sessions: [], hasPreviousPage: false })
      await server.db.query(`UPDATE settings SET value = '{"xid": "0", "id": "0"}' WHERE key = $1`, [removed])
      const beyond = encodeCursor({ xid: 2n ** 63n, id: 0n })
      await expect(page({ after: beyond })).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
    })
  })

  test('twenty events with their sessions and chains cost as many statements as one', async () => {
    for (let n = 0; n < 20; n++) {
      const { id } = await server.factory.session({ name: `told-${n}`, status: 'RUNNING' })
      await writeEvents(server.db, [numbered(n, { sessionId: id })])
    }
    await eventually(async () => (await page({ last: 100 })).sessions.length === 20)
    const text = `query ($last: Int) { events(last: $last) { edges { node { type attempt cause session { name chain { state attempts } kernels { status } } } } } }`
    const ask = async (last: number) => {
      const { result, statements } = await recordStatements(() => server.query(text, { last }))
      expect(result.errors).toBeUndefined()
      expect(result.data.events.edges).toHaveLength(last)
      // The relay reads events all the time.
      return statements.filter((sql) => !/session_events|outbox_position|api_tokens/.test(sql))
    }
    const one = await ask(1)
    const twenty = await ask(20)
    expect(twenty.length, twenty.join('\n')).toBe(one.length)
  })
})

describe('large batches', () => {
  /** The events of these sessions that a returning subscriber receives. */
  async function received(sessions: readonly { id: string; chainId: string }[], selection: string): Promise<any[]> {
    const after = (await server.query('{ eventCursor }')).data.eventCursor
    await server.db.transaction((tx) =>
      writeEvents(
        tx,
        sessions.map(({ id, chainId }) => ({ sessionId: id, chainId })),
      ),
    )
    server.wake.wake('events')
    const connection = connect(server.url, server.adminToken)
    try {
      const chainIds = [...new Set(sessions.map(({ chainId }) => chainId))]
      const stream = connection.subscribe(
        `subscription ($after: String, $chainIds: [UUID!]) { sessionEvents(after: $after, filter: { chainIds: $chainIds }) {
        sessionId session { ${selection} } } }`,
        { after, chainIds },
      )
      const results = []
      for (const _session of sessions) results.push((await stream.next()).value)
      return results
    } finally {
      await connection.close()
    }
  }

  test('more fields than an answer has', async () => {
    const ATTEMPTS = 40
    const EVENTS = 90
    const FIELDS = 80
    const chain = await server.factory.chain(ATTEMPTS, { status: 'ERROR' })
    const newest = chain.at(-1)!
    const sessions = Array.from({ length: EVENTS }, () => newest)
    const fields = Array.from({ length: FIELDS }, (_, n) => `f${n}: status`).join(' ')
    const results = await received(sessions, `retryChain { ${fields} }`)
    expect(results.flatMap(({ errors }) => errors ?? [])).toEqual([])
    for (const { data } of results) expect(data.sessionEvents.session.retryChain).toHaveLength(ATTEMPTS)
    expect(ATTEMPTS * EVENTS * FIELDS).toBeGreaterThan(200_000)
  })

  test('more bytes than an answer is made of', async () => {
    const sessions = []
    for (let n = 0; n < 24; n++) sessions.push(await server.factory.session({ status: 'RUNNING' }))
    const value = 'x'.repeat(900_000)
    await server.db.query('UPDATE sessions SET environ = $2 WHERE id = ANY($1)', [
      sessions.map(({ id }) => id),
      JSON.stringify([{ name: 'LARGE', value }]),
    ])
    const results = await received(sessions, 'environ { value }')
    expect(results.flatMap(({ errors }) => errors ?? [])).toEqual([])
    expect(results.map(({ data }) => data.sessionEvents.sessionId)).toEqual(sessions.map(({ id }) => id))
    for (const { data } of results) expect(data.sessionEvents.session.environ[0].value).toHaveLength(value.length)
  })
})

describe('changes on another server', () => {
  let other: ServerProcess
  let here: Connection
  let there: Connection
  beforeAll(async () => {
    other = await startSecondServer(server.database)
    here = createConnection({ url: server.url, token: server.adminToken })
    there = createConnection({ url: other.url, token: server.adminToken })
  })
  afterAll(async () => {
    await here?.close()
    await there?.close()
    await other?.stop()
  })

  interface Changes {
    changes: { agentIds: string[]; resubmissionIds: string[]; sessionIds: string[] }
  }

  async function change(mutation: string, input: object, selection: string): Promise<any> {
    const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}`
    const data = await there.request<any>(
      `mutation ($input: ${type}Input!) { it: ${mutation}(input: $input) { ... on ${type}Payload { ${selection} } ... on Error { message } } }`,
      { input },
    )
    expect(data.it.message).toBeUndefined()
    return data.it
  }

  test('agents, resubmissions and sessions', async () => {
    const agentId = await server.factory.agent()
    const failed = await server.factory.session({ status: 'ERROR' })
    const { eventCursor } = await here.request<{ eventCursor: string }>('{ eventCursor }')
    const stream = here.stream<Changes>(
      `subscription ($after: String) { changes(after: $after, everyMs: 100) { cursor agentIds resubmissionIds sessionIds } }`,
      { after: eventCursor },
    )
    const received: Changes['changes'][] = []
    const receiving = (async () => {
      for await (const { changes } of stream) received.push(changes)
    })()
    // The first message names all agents: what is received from here on is a change.
    await eventually(() => received.some(({ agentIds }) => agentIds.includes(agentId)))
    const since = (count: number) => received.slice(count)

    let before = received.length
    await change('drainAgent', { agentId }, 'agent { status }')
    await eventually(() => since(before).some(({ agentIds }) => agentIds.includes(agentId)))

    before = received.length
    const { resubmission } = await change(
      'resubmitSessions',
      { sessionIds: [failed.id], clientKey: 'elsewhere' },
      'resubmission { resubmissionId }',
    )
    await eventually(() =>
      since(before).some(({ resubmissionIds }) => resubmissionIds.includes(resubmission.resubmissionId)),
    )

    const { session } = await change('createSession', { name: 'elsewhere', command: ['true'] }, 'session { sessionId }')
    await eventually(() => received.some(({ sessionIds }) => sessionIds.includes(session.sessionId)))
    await stream.return!()
    await receiving
  })
})
