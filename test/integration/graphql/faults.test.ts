/** Errors of the server over each transport, and their log lines. */
import { createConnection } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'

let server: TestServer
const logged: any[] = []

beforeAll(async () => {
  const lines = new Writable({
    write(chunk, _encoding, done) {
      logged.push(JSON.parse(String(chunk)))
      done()
    },
  })
  server = await startGraphQLServer({ log: pino({ base: null }, lines) })
})
afterAll(() => server?.close())

describe('a fault of ours', () => {
  beforeAll(() => server.db.query('ALTER TABLE agents RENAME TO agents_away'))
  afterAll(() => server.db.query('ALTER TABLE agents_away RENAME TO agents'))

  test.each(['HTTP', 'graphql-ws'])('is reported over %s as a request id that is in the log', async (transport) => {
    const text = '{ resourceGroups { name } agents { totalCount } }'
    const answer =
      transport === 'HTTP'
        ? await server.query(text)
        : (await connect(server.url, server.adminToken).subscribe(text).next()).value
    const [error] = answer.errors
    expect(error.path).toEqual(['agents'])
    expect(error.extensions).toEqual({ code: 'INTERNAL', requestId: expect.any(String) })
    expect(error.message).toBe(`Unexpected error. The log has more under the request id ${error.extensions.requestId}.`)
    expect(JSON.stringify(answer)).not.toMatch(/prisma|agents_away|does not exist/i)
    const line = logged.find(({ requestId }) => requestId === error.extensions.requestId)
    expect(line).toMatchObject({
      level: 50,
      path: 'agents',
      err: { message: expect.stringContaining('does not exist') },
    })
  })
})

describe('a fault of ours within a subscription', () => {
  const KERNEL_LOGS = 'subscription ($id: UUID!) { kernelLogs(kernelId: $id) { text } }'

  /** Its first log is told, and then it cannot be read any more. */
  async function failAfter(told: (kernelId: string) => Promise<unknown>): Promise<void> {
    const { kernelIds } = await server.factory.session({ status: 'RUNNING' })
    const id = kernelIds[0]!
    await server.factory.log(id, 'one\n')
    await told(id)
    await server.db.query('ALTER TABLE kernel_logs RENAME TO kernel_logs_away')
    server.topics.signal(`logs:${id}`)
  }
  afterEach(() => server.db.query('ALTER TABLE kernel_logs_away RENAME TO kernel_logs'))

  function expectFault({ message, extensions }: any): void {
    expect(extensions).toEqual({ code: 'INTERNAL', requestId: expect.any(String) })
    expect(message).toBe(`Unexpected error. The log has more under the request id ${extensions.requestId}.`)
    const line = logged.find(({ requestId }) => requestId === extensions.requestId)
    expect(line).toMatchObject({ level: 50, err: { message: expect.stringContaining('does not exist') } })
  }

  test('ends it over graphql-ws with a request id that the log knows', async () => {
    const connection = connect(server.url, server.adminToken)
    let stream!: ReturnType<typeof connection.subscribe>
    await failAfter(async (id) => {
      stream = connection.subscribe(KERNEL_LOGS, { id })
      await stream.take(1)
    })
    const [error] = await stream.next().catch((errors: any) => errors)
    expectFault(error)
    await connection.close()
  })

  test('is the last of its server-sent events', async () => {
    let rest!: ReadableStreamDefaultReader<string>
    await failAfter(async (id) => {
      const { body } = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'text/event-stream',
          authorization: `Bearer ${server.adminToken}`,
        },
        body: JSON.stringify({ query: KERNEL_LOGS, variables: { id } }),
      })
      rest = body!.pipeThrough(new TextDecoderStream()).getReader()
      for (let text = ''; !text.includes('"one'); text += (await rest.read()).value);
    })
    let text = ''
    for (let read = await rest.read(); !read.done; read = await rest.read()) text += read.value
    const [, event] = /event: next\ndata: (.*)\n\nevent: complete/.exec(text)!
    expectFault(JSON.parse(event!).errors[0])
  })
})

describe('a thing that a mutation has changed, and somebody deletes before it is read', () => {
  /** Deletes rows in the transaction that updates them, as it commits. */
  async function deleteUpdated(table: string): Promise<void> {
    await server.db.query(`
      CREATE FUNCTION delete_updated() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN EXECUTE format(''DELETE FROM %I WHERE id = $1'', TG_TABLE_NAME) USING NEW.id; RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER delete_updated AFTER UPDATE ON ${table} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION delete_updated()`)
  }
  afterEach(() => server.db.query('DROP FUNCTION delete_updated CASCADE'))

  test.each([
    {
      table: 'webhooks',
      create: `mutation { created: createWebhook(input: { url: "https://example.com/", eventTypes: ["*"], project: "default" }) {
        ... on CreateWebhookPayload { is: webhook { id: webhookId } } ... on Error { message } } }`,
      change: `mutation ($id: UUID!) { changed: rotateWebhookSecret(input: { webhookId: $id }) {
        ... on RotateWebhookSecretPayload { webhook { id } } } }`,
      code: 'WEBHOOK_NOT_FOUND',
    },
    {
      table: 'agents',
      create: null,
      change: `mutation ($id: UUID!) { changed: drainAgent(input: { agentId: $id }) {
        ... on DrainAgentPayload { agent { id } } } }`,
      code: 'AGENT_NOT_FOUND',
    },
  ])('is not found: $table', async ({ table, create, change, code }) => {
    const id = create ? (await server.query(create)).data.created.is.id : await server.factory.agent()
    await deleteUpdated(table)
    const { errors } = await server.query(change, { id })
    expect(errors).toMatchObject([{ message: 'It has been deleted meanwhile.', extensions: { code } }])
  })
})

test('a fault of ours closes a connection that begins, with a request id that the log knows', async () => {
  const token = await server.factory.token({ role: 'ADMIN' })
  await server.db.query('ALTER TABLE api_tokens RENAME TO api_tokens_away')
  try {
    const { code, reason } = await connect(server.url, token).closed
    expect(code).toBe(4500)
    const [, requestId] = /^Unexpected error\. The log has more under the request id (\S+)\.$/.exec(reason)!
    expect(logged.find((line) => line.requestId === requestId)).toMatchObject({
      level: 50,
      err: { message: expect.stringContaining('does not exist') },
    })
  } finally {
    await server.db.query('ALTER TABLE api_tokens_away RENAME TO api_tokens')
  }
})

test('the webhook of a delivery is not found if somebody deletes both while they are read', async () => {
  const created = await server.query(`mutation {
    webhook: createWebhook(input: { url: "https://example.com/", eventTypes: ["*"], project: "default" }) {
      ... on CreateWebhookPayload { is: webhook { id: webhookId } } } }`)
  const { id } = created.data.webhook.is
  await server.query(`mutation { sendTestEvent(input: { webhookId: "${id}" }) { __typename } }`)
  // The view of a read that has the deliveries, but finds the webhook gone: without the foreign key.
  await server.db.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica')
    await tx.query('DELETE FROM webhooks WHERE id = $1', [id])
  })
  const text = `{ webhookDeliveries(webhookId: "${id}") { edges { node { webhook { url } } } } }`
  expect((await server.query(text)).errors).toMatchObject([{ extensions: { code: 'WEBHOOK_NOT_FOUND' } }])
})

test('a client that hangs up within its request is no fault', async () => {
  const { hostname, port } = new URL(server.url)
  const answered = async () => {
    const { values } = await server.metrics.requests.get()
    return values.reduce((sum, { metricName, value }) => sum + (metricName?.endsWith('_count') ? value : 0), 0)
  }
  const [known, before] = [logged.length, await answered()]
  const head = ['POST /graphql HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', 'Content-Length: 100']
  const socket = createConnection(Number(port), hostname)
  socket.write(`${head.join('\r\n')}\r\n\r\n{"query":`, () => socket.destroy())
  await vi.waitFor(async () => expect(await answered()).toBeGreaterThan(before), { timeout: 120_000 })
  expect(logged.slice(known)).toEqual([])
})

describe('a query that asks for too much', () => {
  const nest = (depth: number): string => (depth === 0 ? 'name' : `parentSession { ${nest(depth - 1)} }`)

  test.each([
    ['deep', `{ sessions { edges { node { ${nest(20)} } } } }`, /^The query is too deep: 2\d, and the limit is 15\.$/],
    [
      'broad',
      `{ resourceGroups { ${'...F '.repeat(120)} } } fragment F on ResourceGroup { name name name name name }`,
      /too broad/,
    ],
    [
      'complex',
      '{ sessions(first: 100) { edges { node { retryChain { retryChain { retryChain { name kernels { id } } } } } } } }',
      /too complex/,
    ],
    ['long', `{ ${'__typename '.repeat(5_000)} }`, /token/i],
  ])('is refused: too %s', async (_name, text, message) => {
    const { data, errors } = await server.query(text)
    expect(data ?? null).toBeNull()
    expect(errors?.[0]?.message).toMatch(message)
  })

  test('is not one that a page of 100 sessions needs', async () => {
    const { errors } = await server.query(`{ sessions(first: 100) { totalCount edges { cursor node {
      id name status result priority createdAt startedAt terminatedAt project { name } resourceGroup { name }
      labels { key value } kernels { role index status agent { name } } retryState { phase label reason scheduledAt }
      parentSession { sessionId } retryChain { sessionId attempt status retryCause kernels { status exitCode } } } } } }`)
    expect(errors).toBeUndefined()
  })

  test('is not what GraphiQL introspects', async () => {
    const { getIntrospectionQuery } = await import('graphql')
    expect((await server.query(getIntrospectionQuery(), {}, null)).errors).toBeUndefined()
  })
})

describe('scalars', () => {
  test.each([
    ['session(id: "nonsense") { name }', /UUID cannot represent "nonsense"/],
    ['sessions(filter: { createdAt: { gt: "yesterday" } }) { totalCount }', /DateTime cannot represent "yesterday"/],
    ['sessions(filter: { createdAt: { gt: "2026-02-31T00:00:00Z" } }) { totalCount }', /DateTime cannot represent/],
  ])('%s', async (field, message) => {
    const { status, errors } = await server.query(`{ ${field} }`)
    expect(errors?.[0]?.message).toMatch(message)
    expect(status).toBeLessThan(500)
  })

  test('take ids in upper case', async () => {
    const { id } = await server.factory.session({ name: 'found' })
    const { data } = await server.query('query ($id: UUID!) { session(id: $id) { name } }', { id: id.toUpperCase() })
    expect(data.session.name).toBe('found')
  })
})

test('the server links to its pages and reports its health', async () => {
  const get = (path: string, accept = '*/*') => fetch(`${server.url}${path}`, { headers: { accept } })
  expect(await (await get('/')).text()).toContain('/graphql')
  expect(await (await get('/healthz')).json()).toEqual({ status: 'ok' })
  expect(await (await get('/readyz')).json()).toEqual({ status: 'ready' })
  expect((await get('/nowhere')).status).toBe(404)
  const page = await get('/graphql', 'text/html')
  expect(page.headers.get('content-type')).toContain('text/html')
  const html = await page.text()
  expect(html).toContain('<title>Reprise</title>')
  // All that the page runs is in it: it works where there is no network.
  expect(html).not.toMatch(/<script[^>]+src=|<link[^>]+rel=["']?stylesheet/)
})
