/** Input of new sessions: creation ids and concurrency keys. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { commandLine } from '../../support/programs/command-line.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('the cores of a session', () => {
  it.each([
    [undefined, [{ slot: 'cpu', amount: '1' }]],
    [
      [{ slot: 'mem', amount: '1k' }],
      [
        { slot: 'cpu', amount: '1' },
        { slot: 'mem', amount: '1024' },
      ],
    ],
    [
      [
        { slot: 'mem', amount: '1k' },
        { slot: 'cpu', amount: '0' },
      ],
      [{ slot: 'mem', amount: '1024' }],
    ],
    [[{ slot: 'cuda.device', amount: '1' }], [{ slot: 'cuda.device', amount: '1' }]],
  ])('of one that requests %j', async (resourceSlots, stored) => {
    const text = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
      ... on CreateSessionPayload { session { resourceSlots { slot amount } } } } }`
    const { data } = await server.query(text, { input: { name: 'cores', command: ['true'], resourceSlots } })
    const slots: { slot: string }[] = data.createSession.session.resourceSlots
    expect(slots.toSorted((a, b) => (a.slot < b.slot ? -1 : 1))).toEqual(stored)
  })
})

describe('creation ids', () => {
  const RESULT = `__typename ... on CreateSessionPayload { created session { sessionId } }
  ... on Error { code message } ... on ValidationError { issues { path message } }`

  async function create(input: object) {
    const text = `mutation ($input: CreateSessionInput!) { createSession(input: $input) { ${RESULT} } }`
    const { data, errors } = await server.query(text, { input: { name: 'work', command: ['true'], ...input } })
    expect(errors).toBeUndefined()
    return data.createSession
  }

  async function post(body: object) {
    const response = await fetch(`${server.url}/v2/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'work', command: ['true'], ...body }),
    })
    return { status: response.status, body: await response.json() }
  }

  function reprise(...args: string[]) {
    return commandLine({ REPRISE_URL: server.url, REPRISE_TOKEN: server.adminToken })(...args)
  }

  async function sessions(): Promise<number> {
    return (await server.db.query('SELECT FROM sessions')).rowCount!
  }

  describe.each(['nightly:retry:1', 'nightly:resubmission:12', ':retry:0'])('the creation id %s is refused', (id) => {
    const message = expect.stringMatching(/^must not end in :retry:<number> or :resubmission:<number>/)

    test('over GraphQL, alone and among others', async () => {
      const before = await sessions()
      expect(await create({ creationId: id })).toMatchObject({
        __typename: 'ValidationError',
        code: 'VALIDATION_FAILED',
        issues: [{ path: 'creationId', message }],
      })
      const text = `mutation ($input: CreateSessionsInput!) {
      createSessions(input: $input) { ... on CreateSessionsPayload { results { ${RESULT} } } } }`
      const inputs = [id, `${id}x`].map((creationId) => ({ name: 'work', command: ['true'], creationId }))
      const { data } = await server.query(text, { input: { sessions: inputs } })
      expect(data.createSessions.results).toMatchObject([
        { issues: [{ path: 'creationId', message }] },
        { created: true },
      ])
      expect(await sessions()).toBe(before + 1)
    })

    test('over REST', async () => {
      const { status, body } = await post({ creation_id: id })
      expect(status).toBe(422)
      expect(body).toMatchObject({ code: 'VALIDATION_FAILED', issues: [{ path: 'creation_id', message }] })
    })

    test('by the command line', async () => {
      const { status, stderr } = await reprise('create', '--creation-id', id, '--', 'true')
      expect(status).toBe(2)
      expect(stderr).toContain('must not end in :retry:<number>')
    })
  })

  describe('a known creation id', () => {
    const FULL = {
      creationId: 'full',
      environ: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      labels: [
        { key: 'k', value: 'v' },
        { key: 'l', value: 'w' },
      ],
      resourceSlots: [
        { slot: 'cpu', amount: '1' },
        { slot: 'mem', amount: '1g' },
      ],
      startsAt: '2126-11-22T18:00:00Z',
      retryPolicy: { maxRetries: 2, retryDelay: 5 },
    }
    const REORDERED = {
      ...FULL,
      sessionType: 'BATCH',
      project: 'default',
      priority: 10,
      avoidAgents: [],
      image: null,
      environ: FULL.environ.toReversed(),
      labels: FULL.labels.toReversed(),
      resourceSlots: [
        { slot: 'mem', amount: '1024m' },
        { slot: 'cpu', amount: '1.0' },
      ],
      startsAt: '2126-11-22T19:00:00+01:00',
      retryPolicy: { retryDelay: 5, maxRetries: 2 },
    }

    test('with the same input answers with its session, however the input is written', async () => {
      const first = await create(FULL)
      expect(first).toMatchObject({ created: true })
      expect(await create(FULL)).toEqual({ ...first, created: false })
      expect(await create(REORDERED)).toEqual({ ...first, created: false })
    })

    test.each([
      { name: 'other' },
      { command: ['false'] },
      { environ: [{ name: 'A', value: '1' }] },
      { labels: [] },
      { resourceSlots: [{ slot: 'cpu', amount: '2' }] },
      { startsAt: null },
      { priority: 11 },
      { clusterSize: 2 },
      { batchTimeout: 60 },
      { retryPolicy: { maxRetries: 3, retryDelay: 5 } },
      { retryPolicy: { maxRetries: 2, retryDelay: 5, maxElapsed: null } },
      { retryPolicy: {} },
    ])('with %j instead is refused', async (other) => {
      const { session } = await create(FULL)
      const before = await sessions()
      expect(await create({ ...FULL, ...other })).toEqual({
        __typename: 'ConflictError',
        code: 'CREATION_ID_REUSED',
        message: `the creation id full belongs to session ${session.sessionId}, which was created with another input`,
      })
      expect(await sessions()).toBe(before)
    })

    test('is also recognised over REST, and between REST and GraphQL', async () => {
      const { session } = await create({ creationId: 'doors' })
      expect(await post({ creation_id: 'doors' })).toMatchObject({ status: 200, body: { id: session.sessionId } })
      expect(await post({ creation_id: 'doors', priority: 3 })).toMatchObject({
        status: 409,
        body: { code: 'CREATION_ID_REUSED' },
      })
    })

    test('and by the command line', async () => {
      const args = ['create', '--creation-id', 'typed', '--name', 'typed', '--', 'true']
      expect((await reprise(...args)).status).toBe(0)
      expect((await reprise(...args)).stderr).toContain('it already existed')
      const other = await reprise(...args, 'more')
      expect(other.status).toBe(5)
      expect(other.stderr).toContain('which was created with another input')
    })

    test('twice in one call is compared as well', async () => {
      const text = `mutation ($input: CreateSessionsInput!) {
      createSessions(input: $input) { ... on CreateSessionsPayload { results { ${RESULT} } } } }`
      const inputs = ['a', 'a', 'b'].map((name) => ({ name, command: ['true'], creationId: 'twice' }))
      const { data } = await server.query(text, { input: { sessions: inputs } })
      const codes = data.createSessions.results.map(({ created, code }: any) => code ?? created)
      expect(codes).toEqual([true, false, 'CREATION_ID_REUSED'])
    })

    test('ignores a change of defaults, and sessions of an older release', async () => {
      const first = await create({ creationId: 'defaults', retryPolicy: { maxRetries: 1 } })
      await server.query(
        `mutation { setRetryDefaults(input: { scope: CLUSTER, policy: { retryDelay: 7 } }) { __typename } }`,
      )
      expect(await create({ creationId: 'defaults', retryPolicy: { maxRetries: 1 } })).toEqual({
        ...first,
        created: false,
      })
      await server.db.query(`UPDATE sessions SET creation_digest = NULL WHERE creation_id = 'defaults'`)
      expect(await create({ creationId: 'defaults', name: 'other' })).toEqual({ ...first, created: false })
    })
  })
})

describe('concurrency keys', () => {
  beforeEach(async () => {
    await server.database.fresh()
    server.adminToken = await server.factory.token({ role: 'ADMIN' })
  })

  const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
  ... on CreateSessionPayload { created session { sessionId concurrencyKey concurrencyLimit } }
  ... on ValidationError { issues { path message } } ... on Error { code } } }`

  async function create(input: object) {
    const { data, errors } = await server.query(
      CREATE,
      { input: { name: 'work', command: ['true'], ...input } },
      server.adminToken,
    )
    expect(errors).toBeUndefined()
    return data.createSession
  }

  async function rest(method: string, path: string, body?: object): Promise<any> {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return response.json()
  }

  it('has a limit of one unless another is given, and none without a key', async () => {
    expect((await create({ concurrencyKey: 'k' })).session).toMatchObject({ concurrencyKey: 'k', concurrencyLimit: 1 })
    expect((await create({ concurrencyKey: 'k', concurrencyLimit: 3 })).session).toMatchObject({ concurrencyLimit: 3 })
    expect((await create({})).session).toMatchObject({ concurrencyKey: null, concurrencyLimit: null })
  })

  it('is the same request with the limit that it has anyway', async () => {
    const first = await create({ creationId: 'once', concurrencyKey: 'k' })
    const again = await create({ creationId: 'once', concurrencyKey: 'k', concurrencyLimit: 1 })
    expect(again).toMatchObject({ created: false, session: { sessionId: first.session.sessionId } })
    expect(await create({ creationId: 'once', concurrencyKey: 'k', concurrencyLimit: 2 })).toMatchObject({
      code: 'CREATION_ID_REUSED',
    })
  })

  it('is refused with the field where it is wrong', async () => {
    const paths = async (input: object) => (await create(input)).issues.map(({ path }: { path: string }) => path)
    expect(await paths({ concurrencyLimit: 2 })).toEqual(['concurrencyLimit'])
    expect(await paths({ concurrencyKey: 'k', concurrencyLimit: 0 })).toEqual(['concurrencyLimit'])
    expect(await paths({ concurrencyKey: 'k', concurrencyLimit: 1_001 })).toEqual(['concurrencyLimit'])
    expect(await paths({ concurrencyKey: '' })).toEqual(['concurrencyKey'])
    expect(await paths({ concurrencyKey: 'k'.repeat(257) })).toEqual(['concurrencyKey'])
    expect(await paths({ concurrencyKey: 'a\0b' })).toEqual(['concurrencyKey'])
  })

  it('is the same over REST, and finds its sessions', async () => {
    const made = await rest('POST', '/v2/sessions', { name: 'a', command: ['true'], concurrency_key: 'k' })
    expect(made).toMatchObject({ concurrency_key: 'k', concurrency_limit: 1 })
    await rest('POST', '/v2/sessions', { name: 'b', command: ['true'], concurrency_key: 'other', concurrency_limit: 2 })
    const found = await rest('GET', '/v2/sessions?concurrency_key=k')
    expect(found.items.map(({ id }: { id: string }) => id)).toEqual([made.id])
    const { data } = await server.query(
      '{ sessions(filter: { concurrencyKey: "other" }) { edges { node { name concurrencyLimit } } } }',
      {},
      server.adminToken,
    )
    expect(data.sessions.edges).toEqual([{ node: { name: 'b', concurrencyLimit: 2 } }])
  })
})
