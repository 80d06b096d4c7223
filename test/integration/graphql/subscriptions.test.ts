/** Subscriptions to retries, sessions and logs, and the connections that carry them. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { writeEvents, type WrittenEvent } from '../../support/database/outbox.ts'

let server: TestServer
const connections: { close(): unknown }[] = []

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.close()
})
afterAll(() => server?.close())

function open(token: string | null = server.adminToken) {
  const connection = connect(server.url, token)
  connections.push(connection)
  return connection
}

async function happen(...events: WrittenEvent[]) {
  await writeEvents(server.db, events)
  server.wake.wake('events')
}

/** Live subscriptions begin when the server has them, which it does not tell. */
async function subscribed(count: number) {
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(count), { timeout: 120_000, interval: 5 })
}

const RETRY_EVENTS = `subscription ($filter: RetryEventFilter, $after: String) { retryEvents(filter: $filter, after: $after) {
  cursor type sessionId chainId attempt maxAttempts cause delaySeconds scheduledAt childSessionId reason occurredAt
  session { name status retryState { phase } } } }`

const retryData = {
  attempt: 1,
  maxAttempts: 4,
  cause: 'OOM_KILLED',
  delaySeconds: 1.5,
  scheduledAt: '2026-01-01T00:00:00.000Z',
  childSessionId: null,
  reason: 'out of memory',
}

describe('retryEvents', () => {
  test('deliver each event with the session as it is then', async () => {
    const session = await server.factory.session({
      status: 'ERROR',
      name: 'first name',
      retryPolicy: { maxRetries: 3 },
    })
    const chainId = session.chainId
    const stream = open().subscribe(RETRY_EVENTS, { filter: { chainId } })
    const first = stream.take(1)
    await subscribed(1)
    const event: WrittenEvent = { type: 'session.retry_scheduled', sessionId: session.id, chainId, data: retryData }
    await happen(event, { ...event, type: 'session.created' }, { ...event, chainId: randomUUID() })
    expect(await first).toMatchObject([
      {
        retryEvents: {
          type: 'RETRY_SCHEDULED',
          sessionId: session.id,
          chainId,
          ...retryData,
          session: { name: 'first name' },
        },
      },
    ])
    await server.db.query(`UPDATE sessions SET name = 'second name' WHERE id = $1`, [session.id])
    await happen({ ...event, type: 'session.retry_held' })
    expect(await stream.take(1)).toMatchObject([
      { retryEvents: { type: 'RETRY_HELD', session: { name: 'second name' } } },
    ])
  })

  test('go on behind a cursor, on another connection', async () => {
    const { id: sessionId, chainId } = await server.factory.session()
    const events = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n): WrittenEvent => ({
        type: 'session.retry_held',
        sessionId,
        chainId,
        data: { ...retryData, attempt: from + n },
      }))
    const before = open()
    const stream = before.subscribe(RETRY_EVENTS, { filter: { chainId } })
    const first = stream.take(2)
    await subscribed(1)
    await happen(...events(0, 2))
    const after = (await first).at(-1).retryEvents.cursor
    await before.close()
    await subscribed(0)
    await happen(...events(2, 5))
    const again = open().subscribe(RETRY_EVENTS, { filter: { chainId }, after })
    const missed = await again.take(3)
    await happen(...events(5, 7))
    const live = await again.take(2)
    expect([...missed, ...live].map(({ retryEvents }) => retryEvents.attempt)).toEqual([2, 3, 4, 5, 6])
  })

  test('can be filtered by type', async () => {
    const { id: sessionId, chainId } = await server.factory.session()
    const stream = open().subscribe(RETRY_EVENTS, {
      filter: { sessionId, types: ['RETRY_EXHAUSTED', 'RETRY_CANCELLED'] },
    })
    const taken = stream.take(2)
    await subscribed(1)
    for (const type of ['retry_held', 'retry_exhausted', 'retry_scheduled', 'retry_cancelled'] as const) {
      await happen({ type: `session.${type}`, sessionId, chainId, data: retryData })
    }
    expect((await taken).map(({ retryEvents }) => retryEvents.type)).toEqual(['RETRY_EXHAUSTED', 'RETRY_CANCELLED'])
  })

  test.each([
    [{ after: 'nonsense' }, 'VALIDATION_FAILED'],
    [{ after: Buffer.from('99999999999999999999:1').toString('base64').replaceAll('=', '') }, 'VALIDATION_FAILED'],
    [{ filter: { project: 'nowhere' } }, 'PROJECT_NOT_FOUND'],
  ])('refuse %j', async (variables, code) => {
    const { value } = await open().subscribe(RETRY_EVENTS, variables).next()
    expect(value.errors[0].extensions.code).toBe(code)
  })
})

describe('sessionEvents', () => {
  const SESSION_EVENTS = `subscription ($filter: SessionEventFilter) { sessionEvents(filter: $filter) {
    type fromStatus toStatus reason session { name } } }`

  test('deliver every status', async () => {
    const { id: sessionId, chainId } = await server.factory.session()
    const stream = open().subscribe(SESSION_EVENTS, { filter: { sessionId } })
    const taken = stream.take(3)
    await subscribed(1)
    await happen(
      { type: 'session.status_changed', sessionId, chainId, data: { from: 'PENDING', to: 'SCHEDULED' } },
      { type: 'session.error', sessionId, chainId, data: { from: 'TERMINATING', to: 'ERROR', reason: 'exit code 3' } },
      { type: 'session.retry_exhausted', sessionId, chainId, data: retryData },
    )
    expect((await taken).map(({ sessionEvents }) => sessionEvents)).toMatchObject([
      { type: 'STATUS_CHANGED', fromStatus: 'PENDING', toStatus: 'SCHEDULED', reason: null },
      { type: 'ERROR', fromStatus: 'TERMINATING', toStatus: 'ERROR', reason: 'exit code 3' },
      { type: 'RETRY_EXHAUSTED', fromStatus: null, toStatus: null, reason: 'out of memory' },
    ])
  })

  test('can be filtered by labels: live, behind a cursor, and as pages', async () => {
    const [red, blue, none] = await Promise.all(
      ['red', 'blue', null].map((team) => server.factory.session({ labels: team === null ? {} : { team } })),
    )
    const filter = { labels: [{ key: 'team', in: ['red', 'green'] }], types: ['RETRY_HELD'] }
    const { data } = await server.query('{ eventCursor }')
    const text = `subscription ($filter: SessionEventFilter, $after: String) {
      sessionEvents(filter: $filter, after: $after) { sessionId } }`
    const live = open().subscribe(text, { filter }).take(2)
    await subscribed(1)
    const held = (session: typeof red) => ({
      type: 'session.retry_held' as const,
      sessionId: session!.id,
      chainId: session!.chainId,
      data: retryData,
    })
    await happen(held(blue), held(red), held(none))
    await happen(held(none), held(red))
    const two = [{ sessionEvents: { sessionId: red!.id } }, { sessionEvents: { sessionId: red!.id } }]
    expect(await live).toEqual(two)
    expect(await open().subscribe(text, { filter, after: data.eventCursor }).take(2)).toEqual(two)
    const pages = `query ($filter: SessionEventFilter, $after: String) { events(filter: $filter, after: $after) {
      totalCount edges { node { sessionId } } } }`
    const { data: page } = await server.query(pages, { filter, after: data.eventCursor })
    expect(page.events.edges).toEqual([{ node: { sessionId: red!.id } }, { node: { sessionId: red!.id } }])
    expect(page.events.totalCount).toBe(2)
  })

  test('keep to the project of the token', async () => {
    const ours = await server.factory.project()
    const mine = await server.factory.session({ projectId: ours, name: 'mine' })
    const theirs = await server.factory.session({ name: 'theirs' })
    const token = await server.factory.token({ role: 'VIEWER', projectId: ours })
    const stream = open(token).subscribe(SESSION_EVENTS)
    const taken = stream.take(1)
    await subscribed(1)
    await happen({ sessionId: theirs.id }, { sessionId: mine.id, projectId: ours })
    expect(await taken).toMatchObject([{ sessionEvents: { session: { name: 'mine' } } }])
  })

  test('end with a token that is revoked', async () => {
    const project = await server.factory.project()
    const session = await server.factory.session({ projectId: project })
    const token = await server.factory.token({ role: 'MEMBER', projectId: project })
    const connection = open(token)
    const stream = connection.subscribe(SESSION_EVENTS)
    const ended = stream.next().catch(() => null)
    await subscribed(1)
    await server.db.query('UPDATE api_tokens SET revoked_at = now() WHERE prefix = $1', [token.slice(0, 10)])
    const write = setInterval(() => void happen({ sessionId: session.id, projectId: project }), 200)
    while ((await Promise.race([connection.closed, stream.next().catch(() => null), ended])) === undefined);
    expect((await connection.closed).code).toBe(4401)
    clearInterval(write)
    await subscribed(0)
  })
})

describe('kernelLogs', () => {
  const KERNEL_LOGS = `subscription ($id: UUID!, $after: String) { kernelLogs(kernelId: $id, after: $after) { cursor stream text } }`

  test('deliver the output of a kernel until it ends', async () => {
    const { kernelIds } = await server.factory.session({ status: 'RUNNING' })
    const id = kernelIds[0]!
    await server.factory.log(id, 'one\n')
    const stream = open().subscribe(KERNEL_LOGS, { id })
    const [one] = await stream.take(1)
    expect(one.kernelLogs).toMatchObject({ stream: 'STDOUT', text: 'one\n' })
    await server.factory.log(id, 'two\n')
    server.topics.signal(`logs:${id}`)
    expect(await stream.take(1)).toMatchObject([{ kernelLogs: { text: 'two\n' } }])
    await server.factory.log(id, 'three\n')
    await server.db.query(
      `UPDATE kernels SET status = 'TERMINATED', slots_held = false, confirmed_gone = true WHERE id = $1`,
      [id],
    )
    server.topics.signal(`logs:${id}`)
    expect(await stream.take(1)).toMatchObject([{ kernelLogs: { text: 'three\n' } }])
    expect((await stream.next()).done).toBe(true)

    const again = open().subscribe(KERNEL_LOGS, { id, after: one.kernelLogs.cursor })
    // Existing output comes joined.
    expect((await again.take(1)).map(({ kernelLogs }) => kernelLogs.text)).toEqual(['two\nthree\n'])
    expect((await again.next()).done).toBe(true)
  })

  test('are not found where the kernel is not, or is of another project', async () => {
    const { kernelIds } = await server.factory.session()
    const token = await server.factory.token({ role: 'MEMBER', projectId: await server.factory.project() })
    for (const id of [kernelIds[0]!, randomUUID()]) {
      const { value } = await open(token).subscribe(KERNEL_LOGS, { id }).next()
      expect(value.errors[0].extensions.code).toBe('KERNEL_NOT_FOUND')
    }
  })
})

describe('connections', () => {
  test.each([
    ['without a token', null, 4401],
    ['with an unknown token', `rpr_${'A'.repeat(43)}`, 4401],
  ])('%s are closed', async (_name, token, code) => {
    expect((await open(token).closed).code).toBe(code)
  })

  test("with an agent's token are closed", async () => {
    expect((await open(await server.factory.token({ role: 'AGENT' })).closed).code).toBe(4403)
  })

  test('carry queries and mutations too', async () => {
    const stream = open().subscribe(
      'mutation { createSession(input: { name: "x", command: ["true"] }) { __typename } }',
    )
    expect(await stream.take(1)).toEqual([{ createSession: { __typename: 'CreateSessionPayload' } }])
  })

  test('that only wait cost nothing when they end', async () => {
    const connection = open()
    for (let n = 0; n < 20; n++)
      void connection
        .subscribe(RETRY_EVENTS)
        .next()
        .catch(() => null)
    await subscribed(20)
    await connection.close()
    await subscribed(0)
  })

  test('get a close when the server stops, and it stops in time', async () => {
    const closing = await startGraphQLServer()
    const connection = connect(closing.url, closing.adminToken)
    const pending = connection
      .subscribe('subscription { retryEvents { cursor } }')
      .next()
      .catch(() => null)
    const aborted = new AbortController()
    const events = await serverSentEvents(closing, 'subscription { retryEvents { cursor } }', aborted.signal)
    await vi.waitFor(() => expect(closing.bus.subscribers).toBe(2), { timeout: 120_000, interval: 5 })
    const since = performance.now()
    await closing.close()
    expect(performance.now() - since).toBeLessThan(4_800)
    expect((await connection.closed).code).toBe(1001)
    await pending
    await events.text()
  })
})

function serverSentEvents({ url, adminToken }: TestServer, query: string, signal: AbortSignal) {
  return fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${adminToken}` },
    body: JSON.stringify({ query }),
    signal,
  })
}

test('server-sent events carry subscriptions', async () => {
  const { id: sessionId } = await server.factory.session({ name: 'told' })
  const hangUp = new AbortController()
  const query = `subscription { sessionEvents(filter: { sessionId: "${sessionId}" }) { type session { name } } }`
  const response = await serverSentEvents(server, query, hangUp.signal)
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  await subscribed(1)
  await happen({ sessionId })
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.includes('"name"')) break
  }
  expect(text).toContain('event: next')
  expect(text).toContain('{"data":{"sessionEvents":{"type":"CREATED","session":{"name":"told"}}}}')
  hangUp.abort()
  await subscribed(0)
})

test('without a session in the selection, an event costs subscribers no statement', async () => {
  const connection = open()
  const streams = Array.from({ length: 10 }, () => connection.subscribe('subscription { sessionEvents { type } }'))
  const taken = streams.map((stream) => stream.take(1))
  await subscribed(10)
  const { statements } = await recordStatements(async () => {
    await happen({})
    await Promise.all(taken)
  })
  expect(statements.filter((sql) => !/session_events|api_tokens|pg_notify|kernel_logs/.test(sql))).toEqual([])
})

test('sessions of an event are read once per project for all subscribers', async () => {
  const projectId = await server.factory.project()
  const token = await server.factory.token({ role: 'MEMBER', projectId })
  const [theirs, ours] = [await server.factory.session({ projectId, name: 'theirs' }), await server.factory.session()]
  const text = 'subscription { sessionEvents { session { name sessionId } } }'
  const all = Array.from({ length: 40 }, () => open().subscribe(text))
  const member = open(token).subscribe(text)
  const taken = all.map((stream) => stream.take(2))
  const own = member.take(1)
  await subscribed(41)
  const { statements } = await recordStatements(async () => {
    await happen({ sessionId: ours.id })
    await happen({ sessionId: theirs.id, projectId })
    expect(await own).toEqual([{ sessionEvents: { session: { name: 'theirs', sessionId: theirs.id } } }])
    for (const events of await Promise.all(taken)) {
      expect(events.map(({ sessionEvents }) => sessionEvents.session.sessionId)).toEqual([ours.id, theirs.id])
    }
  })
  expect(statements.filter((sql) => /FROM "public"\."sessions"/.test(sql)).length).toBeLessThan(15)
})
