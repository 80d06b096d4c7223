/** Refusals of GraphQL requests: each names the limit that it is about. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { SUBSCRIPTIONS_PER_CONNECTION_MAX } from '../../../src/domain/limits.ts'
import { parseTrustedDocuments } from '../../../src/graphql/transport/trusted-documents.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('limits', () => {
  const TOO_LARGE = {
    message: 'The request is too large: the limit is 8 MiB.',
    extensions: { code: 'REQUEST_TOO_LARGE' },
  }
  const RETRY_EVENTS = 'subscription { retryEvents { cursor } }'

  function post(body: string, { url, adminToken }: TestServer = server, headers: Record<string, string> = {}) {
    return fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminToken}`, ...headers },
      body,
    })
  }

  describe('a refusal names the limit', () => {
    test.each([
      [
        'aliases',
        `{ ${Array.from({ length: 201 }, (_, n) => `a${n}: __typename`).join(' ')} }`,
        'The document has 201 aliases, and the limit is 200.',
      ],
      [
        'directives',
        `{ __typename ${'@include(if: true) '.repeat(101)} }`,
        'The document has 101 directives, and the limit is 100.',
      ],
    ])('on %s', async (_name, text, message) => {
      const { data, errors } = await server.query(text)
      expect(data ?? null).toBeNull()
      expect(errors).toContainEqual(
        expect.objectContaining({ message, extensions: expect.objectContaining({ code: 'VALIDATION_FAILED' }) }),
      )
    })

    test('on the size of a request', async () => {
      const response = await post(JSON.stringify({ query: `{ __typename } #${'x'.repeat(9 * 1024 * 1024)}` }))
      expect(response.status).toBe(413)
      expect(await response.json()).toEqual({ errors: [TOO_LARGE] })
    })

    test('on the size of a request without a length', async () => {
      let sent = 0
      const body = new ReadableStream({
        pull(controller) {
          if (++sent > 9) controller.close()
          else controller.enqueue(Buffer.alloc(1024 * 1024, ' '))
        },
      })
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.adminToken}` }
      const request = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
      const response = await fetch(`${server.url}/graphql`, request)
      expect(response.status).toBe(413)
      expect(await response.json()).toEqual({ errors: [TOO_LARGE] })
    })

    test('on the cost of an operation, each time as its variables have it', async () => {
      const text = `query ($first: Int) { sessions(first: $first) {
      edges { node { retryChain { retryChain { retryChain { name kernels { id } } } } } } } }`
      const errorsFor = async (first: number) => (await server.query(text, { first })).errors ?? []
      expect(await errorsFor(1)).toEqual([])
      expect((await errorsFor(100))[0]?.message).toMatch(/^The query is too complex: \d+, and the limit is 100000\.$/)
      expect(await errorsFor(1)).toEqual([])
    })

    test.each([
      ['counts of what is filtered', 'totalCount', ', filter: { state: [LIVE] }'],
      ['counts of states', 'counts { count }', ', filter: { cause: [OOM_KILLED] }', 8],
      ['counts of all states', 'counts { count }', '', 40],
      ['searches by what only the newest attempt says', 'edges { cursor }', ', filter: { user: "ann" }'],
      ['searches', 'edges { cursor }', ', filter: { search: "bul" }'],
      ['searches for parts of names', 'edges { cursor }', ', filter: { name: { contains: "bul" } }'],
      ['counts of what is searched for', 'totalCount', ', filter: { search: "bul" }', 15],
      [
        'counts by another name',
        'totalCountIsExact',
        ', filter: { AND: [{ label: { key: "a", value: "b" } }] }',
        15,
        'sessions',
      ],
    ])('on %s', async (_name, selection, filter, count = 50, field = 'chains') => {
      const aliases = Array.from({ length: count }, (_, n) => `a${n}: ${field}(first: 1${filter}) { ${selection} }`)
      const { errors } = await server.query(`{ ${aliases.join(' ')} }`)
      expect(errors?.[0]?.message).toMatch(/^The query is too complex: \d+, and the limit is 100000\.$/)
    })

    test('and not on a page with its tabs, each with a count, and its search', async () => {
      const states = ['QUEUED', 'IMPOSSIBLE', 'RUNNING', 'WAITING_RETRY', 'HELD', 'SUCCEEDED', 'FAILED', 'CANCELLED']
      const tabs = states.map((state) => `${state}: chains(first: 0, filter: { state: [${state}] }) { totalCount }`)
      const { errors } = await server.query(`{ ${tabs.join(' ')}
      sessions(first: 0) { totalCount }
      page: chains(first: 50, filter: { search: "bul" }) { totalCount totalCountIsExact counts { state count } edges { node {
        name state attempts outlook { willRetry reason } sessions(last: 1) { edges { node { name status kernels { status } } } } } } } }`)
      expect(errors).toBeUndefined()
    })

    test('on the cost of a mutation, before anything of it is done', async () => {
      const chains = `retryChain { ${'retryChain { '.repeat(5)} name ${'} '.repeat(5)} }`
      const text = `mutation { createSession(input: { name: "costly", command: ["true"] }) {
      ... on CreateSessionPayload { session { ${chains} } } } }`
      const { errors } = await server.query(text)
      expect(errors?.[0]?.message).toMatch(/too complex/)
      const { rows } = await server.db.query(`SELECT FROM sessions WHERE name = 'costly'`)
      expect(rows).toEqual([])
    })

    test('on operations in one request', async () => {
      const response = await post(JSON.stringify([{ query: '{ __typename }' }, { query: '{ __typename }' }]))
      expect(response.status).toBe(400)
      expect(await response.text()).toMatch(/batching/i)
    })

    test('on the cost of a subscription, before it opens', async () => {
      const nest = (depth: number): string => (depth === 0 ? 'name' : `parentSession { ${nest(depth - 1)} }`)
      const connection = connect(server.url, server.adminToken)
      const text = `subscription { sessionEvents { session { ${nest(20)} } } }`
      const { value } = await connection.subscribe(text).next()
      expect(value.errors[0].message).toMatch(/^The query is too deep: \d+, and the limit is 15\.$/)
      expect(server.bus.subscribers).toBe(0)
      await connection.close()
    })
  })

  describe('subscriptions of one connection', () => {
    test('are bounded, and give their places back when they end', async () => {
      const connection = connect(server.url, server.adminToken)
      const open = () => connection.subscribe(RETRY_EVENTS)
      const streams = Array.from({ length: SUBSCRIPTIONS_PER_CONNECTION_MAX }, open)
      for (const stream of streams) void stream.next().catch(() => null)
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(SUBSCRIPTIONS_PER_CONNECTION_MAX), {
        timeout: 120_000,
      })
      const { value } = await open().next()
      expect(value.errors[0]).toMatchObject({
        message: 'This connection has 200 subscriptions open, and the limit is 200: end some first.',
        extensions: { code: 'TOO_MANY_SUBSCRIPTIONS' },
      })
      expect(server.bus.subscribers).toBe(SUBSCRIPTIONS_PER_CONNECTION_MAX)

      await streams[0]!.return!()
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(SUBSCRIPTIONS_PER_CONNECTION_MAX - 1), {
        timeout: 120_000,
      })
      const another = open()
      void another.next().catch(() => null)
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(SUBSCRIPTIONS_PER_CONNECTION_MAX), {
        timeout: 120_000,
      })
      await connection.close()
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), { timeout: 120_000 })
    })
  })

  describe('a token that is revoked', () => {
    test.each(['revoked_at', 'expires_at'])('or expires (%s) ends its open subscriptions', async (column) => {
      const token = await server.factory.token({ role: 'ADMIN' })
      const [connection, other] = [connect(server.url, token), connect(server.url, server.adminToken)]
      const ended = connection
        .subscribe(RETRY_EVENTS)
        .next()
        .catch(() => null)
      void other
        .subscribe(RETRY_EVENTS)
        .next()
        .catch(() => null)
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(2), { timeout: 120_000 })
      await server.db.query(`UPDATE api_tokens SET ${column} = now() WHERE prefix = $1`, [token.slice(0, 10)])
      expect((await connection.closed).code).toBe(4401)
      await ended
      expect(server.bus.subscribers).toBe(1)
      await other.close()
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), { timeout: 120_000 })
    })

    test('ends them over server-sent events too', async () => {
      const token = await server.factory.token({ role: 'ADMIN' })
      const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}` }
      const response = await post(JSON.stringify({ query: RETRY_EVENTS }), server, headers)
      await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), { timeout: 120_000 })
      await server.db.query('UPDATE api_tokens SET revoked_at = now() WHERE prefix = $1', [token.slice(0, 10)])
      expect(await response.text()).toContain('event: complete')
      expect(server.bus.subscribers).toBe(0)
    })
  })

  describe('where only trusted documents are executed', () => {
    const text = '{ resourceGroups { name } }'
    const hash = createHash('sha256').update(text).digest('hex')
    let strict: TestServer

    beforeAll(async () => {
      const trustedDocuments = parseTrustedDocuments(JSON.stringify({ [hash]: text }))
      strict = await startGraphQLServer({ trustedDocuments })
    })
    afterAll(() => strict?.close())

    test.each([
      ['by documentId', { documentId: `sha256:${hash}` }],
      ['as a persisted query', { extensions: { persistedQuery: { version: 1, sha256Hash: hash } } }],
      ['by their text', { query: text }],
    ])('they are, %s', async (_name, body) => {
      const response = await post(JSON.stringify(body), strict)
      expect(await response.json()).toEqual({ data: { resourceGroups: [{ name: 'default' }] } })
    })

    test.each([
      ['another text', { query: '{ __typename }' }],
      ['an unknown id', { documentId: 'a'.repeat(64) }],
      ['an id that is none', { documentId: { $ne: '' } }],
      ['another text beside a known id', { query: '{ __typename }', documentId: 'b'.repeat(64) }],
    ])('%s is not', async (_name, body) => {
      const response = await post(JSON.stringify(body), strict)
      expect(response.status).toBe(403)
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'DOCUMENT_NOT_TRUSTED' } }] })
    })

    test('strangers do not learn which there are', async () => {
      const response = await post(JSON.stringify({ documentId: hash }), strict, { authorization: '' })
      expect(response.status).toBe(401)
    })

    test('the same holds over graphql-ws', async () => {
      const connection = connect(strict.url, strict.adminToken)
      expect(await connection.subscribe(text).take(1)).toEqual([{ resourceGroups: [{ name: 'default' }] }])
      await expect(connection.subscribe('{ __typename }').next()).rejects.toMatchObject([
        { extensions: { code: 'DOCUMENT_NOT_TRUSTED' } },
      ])
      await connection.close()
    })
  })

  describe('every answer', () => {
    test.each(['/', '/graphql', '/healthz', '/metrics', '/nothing'])('of %s is safe to show', async (path) => {
      const { headers } = await fetch(server.url + path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('x-request-id')).toMatch(/^[\w-]{36}$/)
    })

    test('carries the request id that came with the request', async () => {
      const id = 'proxy-0123456789'
      expect((await post('{', server, { 'x-request-id': id })).headers.get('x-request-id')).toBe(id)
      const odd = await post('{', server, { 'x-request-id': 'a b' })
      expect(odd.headers.get('x-request-id')).not.toBe('a b')
    })
  })
})

describe('hardening', () => {
  const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) { __typename ... on ValidationError { issues { path message } } } }`
  const TOKEN = `mutation ($input: CreateTokenInput!) { createToken(input: $input) { __typename
  ... on CreateTokenPayload { secret token { resourceGroups } } ... on ValidationError { issues { path message } } } }`

  test.each([
    'red\u001b[31m',
    'bell\u0007',
    'over\rwritten',
    'c1\u009b2J',
    'turned\u202ename',
    'two\nlines',
    'line\u2028',
  ])('a name with control characters is refused: %j', async (name) => {
    const input = { name, command: ['true'], labels: [{ key: 'team', value: name }] }
    const { data } = await server.query(CREATE, { input })
    expect(data.createSession.issues.map(({ path }: any) => path)).toEqual(['name', 'labels.0.value'])
    const token = await server.query(TOKEN, { input: { name, role: 'VIEWER', project: 'default' } })
    expect(token.data.createToken.issues).toEqual([{ path: 'name', message: 'must not contain control characters' }])
  })

  test('names in any script, and programs with any text, are not', async () => {
    const input = { name: 'Größe 大きさ الحجم 👩‍💻', command: ['printf', '\u001b[31m\n'] }
    expect((await server.query(CREATE, { input })).data.createSession.__typename).toBe('CreateSessionPayload')
  })

  describe('a token of agents that is bound to resource groups', () => {
    const register = (token: string, resourceGroup: string, agentId: string) =>
      fetch(`${server.url}/agent/v1/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({
          agentId,
          instanceId: crypto.randomUUID(),
          name: 'bound',
          resourceGroup,
          address: 'here',
          version: '1',
          slots: { cpu: '1' },
          labels: {},
        }),
      })
    const sync = (token: string, agentId: string, instanceId: string) =>
      fetch(`${server.url}/agent/v1/sync`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ agentId, instanceId, sequence: 1, observed: [], logs: [], waitMs: 0 }),
      })

    test('registers agents of these, and of no others', async () => {
      await server.query('mutation { createResourceGroup(input: { name: "gpu" }) { __typename } }')
      const input = { name: 'node', role: 'AGENT', resourceGroups: ['gpu'] }
      const { secret, token } = (await server.query(TOKEN, { input })).data.createToken
      expect(token.resourceGroups).toEqual(['gpu'])
      const [inside, outside] = [crypto.randomUUID(), crypto.randomUUID()]
      expect((await register(secret, 'gpu', inside)).status).toBe(200)
      const refused = await register(secret, 'default', outside)
      expect(refused.status).toBe(403)
      expect(await refused.text()).toContain('is for agents of gpu, not of default')
      // Moved since, by whoever writes to the database or by an older server.
      await server.db.query(`UPDATE agents SET resource_group = 'default' WHERE id = $1`, [inside])
      expect((await sync(secret, inside, crypto.randomUUID())).status).toBe(403)
    })

    test('names groups that there are, and is an agent’s', async () => {
      const issuesOf = async (input: object) =>
        (await server.query(TOKEN, { input: { name: 'n', ...input } })).data.createToken.issues
      expect(await issuesOf({ role: 'AGENT', resourceGroups: ['nowhere'] })).toMatchObject([{ path: 'resourceGroups' }])
      expect(await issuesOf({ role: 'AGENT', resourceGroups: [] })).toMatchObject([{ path: 'resourceGroups' }])
      const viewer = { role: 'VIEWER', project: 'default', resourceGroups: ['default'] }
      expect(await issuesOf(viewer)).toMatchObject([
        { path: 'resourceGroups', message: 'Only agents join resource groups' },
      ])
    })
  })
})
