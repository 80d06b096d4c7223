/** The REST API of sessions and their retries. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SessionResource } from '../../../src/rest/session.resource.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

interface Answer {
  status: number
  headers: Headers
  // Answers are read by tests that know what they asked for.
  body: any
}

async function ask(
  method: string,
  path: string,
  options: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { body, token = server.adminToken, headers = {} } = options
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

describe('POST /v2/sessions', () => {
  const scale_gpu_memory = { factor: 2, max: '80g' }
  const RULE = { match: { exit_codes: [3, '64-78'] }, action: 'RETRY', scale_gpu_memory }

  test('creates a session, and answers with where it is', async () => {
    const { status, headers, body } = await ask('POST', '/v2/sessions', {
      body: {
        name: 'train',
        command: ['sh', '-c', 'exit 3'],
        resource_slots: [{ slot: 'mem', amount: '512m' }],
        environ: [{ name: 'camelCase', value: 'stays' }],
        labels: [{ key: 'someKey', value: 'some_value' }],
        cluster_size: 2,
        batch_timeout: 90.5,
        retry_policy: { max_retries: 2, delays: ['20s', 90], rules: [RULE] },
      },
    })
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`/v2/sessions/${body.id}`)
    expect(body).toMatchObject({
      name: 'train',
      status: 'PENDING',
      project: 'default',
      resource_slots: [
        { slot: 'cpu', amount: '1' },
        { slot: 'mem', amount: '536870912' },
      ],
      environ: [{ name: 'camelCase', value: 'stays' }],
      labels: [{ key: 'someKey', value: 'some_value' }],
      cluster_size: 2,
      batch_timeout: 90.5,
      parent_session_id: null,
      retry_count: 0,
      max_retries: 2,
      retry_policy: {
        max_retries: 2,
        delays: [20, 90],
        retry_delay: 60,
        rules: [{ ...RULE, scale_gpu_memory: { factor: 2, max: String(80 * 2 ** 30) } }],
      },
      retry_cause: null,
      retry_chain: [body.id],
      retry_state: { phase: 'UNDECIDED', label: 'attempt 1 of 3' },
    })
    expect(() => SessionResource.strict().parse(body)).not.toThrow()
    const { data } = await server.query('query ($id: UUID!) { session(id: $id) { name clusterSize } }', { id: body.id })
    expect(data.session).toEqual({ name: 'train', clusterSize: 2 })
  })

  test('reads a policy in the words of GraphQL too', async () => {
    const { body } = await ask('POST', '/v2/sessions', {
      body: { name: 'x', command: ['true'], retryPolicy: { maxRetries: 4 } },
    })
    expect(body.max_retries).toBe(4)
  })

  test('answers 200 with the session that there is where the creation id is known', async () => {
    const input = { name: 'again', command: ['true'], creation_id: 'again-1' }
    const first = await ask('POST', '/v2/sessions', { body: input })
    const second = await ask('POST', '/v2/sessions', { body: input })
    expect([first.status, second.status]).toEqual([201, 200])
    expect(second.body.id).toBe(first.body.id)
    expect(second.headers.get('location')).toBeNull()
  })

  test('reports all faults at once, under the names of its input', async () => {
    const { status, headers, body } = await ask('POST', '/v2/sessions', {
      body: {
        name: '',
        command: [],
        cluster_size: 0,
        retry_policy: { max_retries: -1, retry_delay: 'soon', delays: ['soon'] },
        nonsense: 1,
      },
    })
    expect(status).toBe(422)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({ code: 'VALIDATION_FAILED', title: 'ValidationError', status: 422 })
    const paths = body.issues.map((issue: { path: string }) => issue.path)
    expect(paths).toEqual(
      expect.arrayContaining([
        'name',
        'command',
        'cluster_size',
        'retry_policy.max_retries',
        'retry_policy.retry_delay',
        'retry_policy.delays.0',
      ]),
    )
  })

  test.each([
    ['no JSON', '{', 400, 'MALFORMED_REQUEST'],
    ['nothing', '', 400, 'MALFORMED_REQUEST'],
    ['a list', '[]', 422, 'VALIDATION_FAILED'],
    ['a number', '1', 422, 'VALIDATION_FAILED'],
    ['a project that is not', '{"name":"x","command":["a"],"project":"none"}', 404, 'PROJECT_NOT_FOUND'],
    ['too much', `"${'x'.repeat(9 * 1024 * 1024)}"`, 413, 'REQUEST_TOO_LARGE'],
  ])('refuses %s', async (_name, body, status, code) => {
    const answer = await ask('POST', '/v2/sessions', { body })
    expect(answer.status).toBe(status)
    expect(answer.body.code).toBe(code)
    expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'))
  })

  test('refuses a body that is too large, also without a length', async () => {
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(256 * 1024).fill(0x20)),
    })
    const headers = { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    const response = await fetch(`${server.url}/v2/sessions`, init).catch((error: Error) => error)
    // The server may hang up before the client has read the answer.
    if (response instanceof Response) expect(response.status).toBe(413)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  })

  test('refuses another content type', async () => {
    const answer = await ask('POST', '/v2/sessions', { body: '{}', headers: { 'content-type': 'text/plain' } })
    expect([answer.status, answer.body.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })
})

describe('GET /v2/sessions', () => {
  let project: string
  let token: string

  beforeAll(async () => {
    project = await server.factory.project('paged')
    token = await server.factory.token({ role: 'VIEWER', projectId: project })
    for (let n = 0; n < 5; n++) {
      await server.factory.session({ projectId: project, name: `s${n}`, ...(n === 2 && { status: 'ERROR' }) })
    }
  })

  test('pages through all, newest first, while others come', async () => {
    const names: string[] = []
    let path: string | null = '/v2/sessions?limit=2'
    while (path) {
      const { body, headers } = await ask('GET', path, { token })
      names.push(...body.items.map((item: { name: string }) => item.name))
      await server.factory.session({ projectId: project, name: 'newer' })
      const link: string | null = headers.get('link')
      path = link && /^<(.+)>; rel="next"$/.exec(link)![1]!
      expect(path === null).toBe(body.next_cursor === null)
    }
    expect(names).toEqual(['s4', 's3', 's2', 's1', 's0'])
  })

  test.each([
    ['status=ERROR', ['s2']],
    ['status=ERROR,CANCELLED', ['s2']],
    ['status=ERROR&status=RUNNING', ['s2']],
    ['name=s3', ['s3']],
    ['name_contains=4', ['s4']],
    ['created_before=2001-01-01T00:00:00Z', []],
    ['project=default', []],
    ['label=a=b', []],
  ])('filters by %s', async (query, names) => {
    const { status, body } = await ask('GET', `/v2/sessions?${query}`, { token })
    expect(status).toBe(200)
    expect(body.items.map((item: { name: string }) => item.name)).toEqual(names)
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['cursor=nonsense', 'cursor'],
    ['status=NOWHERE', 'status.0'],
    ['chain_id=1', 'chain_id'],
    ['created_after=yesterday', 'created_after'],
    ['nonsense=1', ''],
  ])('refuses %s', async (query, path) => {
    const { status, body } = await ask('GET', `/v2/sessions?${query}`, { token })
    expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED'])
    expect(body.issues.map((issue: { path: string }) => issue.path)).toEqual([path])
  })
})

describe('GET /v2/sessions/{id}', () => {
  test('and its attempts show the chain, oldest to newest', async () => {
    const chain = (await server.factory.chain(3)).map(({ id }) => id)
    const { body } = await ask('GET', `/v2/sessions/${chain[1]}`)
    expect(body).toMatchObject({
      parent_session_id: chain[0],
      child_session_id: chain[2],
      retry_chain: chain,
      attempt: 2,
      retry_count: 1,
    })
    const attempts = await ask('GET', `/v2/sessions/${chain[2]}/attempts?limit=2`)
    expect(attempts.body.items.map(({ id }: { id: string }) => id)).toEqual(chain.slice(0, 2))
    const rest = await ask('GET', `/v2/sessions/${chain[2]}/attempts?cursor=${attempts.body.next_cursor}`)
    expect(rest.body.items.map(({ id }: { id: string }) => id)).toEqual(chain.slice(2))
    expect(rest.body.next_cursor).toBeNull()
  })

  test('sends nothing to those who have it already, until it changes', async () => {
    const { id } = await server.factory.session()
    const path = `/v2/sessions/${id}`
    const tag = (await ask('GET', path)).headers.get('etag')!
    expect(tag).toMatch(/^W\/"/)
    for (const known of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
      const again = await ask('GET', path, { headers: { 'if-none-match': known } })
      expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, null, tag])
    }
    await server.db.query(`UPDATE sessions SET name = 'renamed' WHERE id = $1`, [id])
    const changed = await ask('GET', path, { headers: { 'if-none-match': tag } })
    expect([changed.status, changed.body.name]).toEqual([200, 'renamed'])
  })

  test('of a missing thing, or of another tenant, is 404', async () => {
    const { id } = await server.factory.session()
    const token = await server.factory.token({ role: 'MEMBER', projectId: await server.factory.project() })
    for (const [path, as] of [
      [`/v2/sessions/${randomUUID()}`, server.adminToken],
      [`/v2/sessions/${id}`, token],
      [`/v2/sessions/${id}/attempts`, token],
      [`/v2/sessions/${id}/comparison`, token],
    ] as const) {
      const { status, body } = await ask('GET', path, { token: as })
      expect([status, body.code]).toEqual([404, 'SESSION_NOT_FOUND'])
    }
  })

  test('of an id that is none is refused', async () => {
    const { status, body } = await ask('GET', '/v2/sessions/nonsense')
    expect([status, body.issues[0].path]).toEqual([422, 'id'])
  })
})

describe('DELETE /v2/sessions/{id}', () => {
  test('ends it, once', async () => {
    const { id } = await server.factory.session()
    const { status, body } = await ask('DELETE', `/v2/sessions/${id}?reason=enough&force=true`)
    expect(status).toBe(202)
    expect(body).toMatchObject({ status: 'CANCELLED', status_reason: 'enough' })
    const again = await ask('DELETE', `/v2/sessions/${id}`)
    expect([again.status, again.body.code]).toEqual([409, 'SESSION_ALREADY_FINISHED'])
  })

  test('cancels the retry of one that waits for it', async () => {
    const { id } = await server.factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 } })
    const { status, body } = await ask('DELETE', `/v2/sessions/${id}`)
    expect([status, body.retry_state.phase]).toEqual([202, 'CANCELLED'])
  })

  test('is not for viewers, nor for other tenants', async () => {
    const { id, projectId } = await server.factory.session({ projectId: await server.factory.project() })
    const viewer = await server.factory.token({ role: 'VIEWER', projectId })
    const stranger = await server.factory.token({ role: 'MEMBER', projectId: await server.factory.project() })
    expect((await ask('DELETE', `/v2/sessions/${id}`, { token: viewer })).status).toBe(403)
    expect((await ask('DELETE', `/v2/sessions/${id}`, { token: stranger })).status).toBe(404)
  })
})

describe('/v2/sessions/{id}/retry', () => {
  const waiting = () => server.factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 } })

  test('PATCH changes its policy, and answers with the resulting retry', async () => {
    const { id } = await waiting()
    const policy = {
      max_retries: 4,
      retry_delay: 7,
      jitter: 'NONE',
      rules: [{ match: { exit_codes: ['64-78'] }, action: 'FAIL' }],
    }
    const { status, body } = await ask('PATCH', `/v2/sessions/${id}/retry`, { body: { policy } })
    expect([status, body]).toMatchObject([
      200,
      {
        max_retries: 4,
        retry_policy: policy,
        retry_state: { phase: 'SCHEDULED', delay_seconds: 7, label: 'attempt 1 of 5' },
      },
    ])
  })

  test.each([
    [{}, ['policy']],
    [{ policy: { max_retries: -1 }, soon: true }, ['policy.max_retries', 'soon']],
  ])('PATCH refuses %j', async (input, paths) => {
    const { id } = await waiting()
    const { status, body } = await ask('PATCH', `/v2/sessions/${id}/retry`, { body: input })
    expect([status, body.issues.map(({ path }: { path: string }) => path)]).toEqual([422, paths])
  })

  test('any session of the chain names its retry', async () => {
    const [first, last] = await server.factory.chain(2, { status: 'ERROR', phase: 'HELD' })
    const path = `/v2/sessions/${first!.id}/retry`
    const changed = await ask('PATCH', path, { body: { policy: { retry_delay: 7 } } })
    const made = [changed, await ask('POST', `${path}/now`), await ask('DELETE', path)]
    expect(made.map(({ status, body }) => [status, body.id])).toEqual(made.map(() => [200, last!.id]))
  })

  test('POST …/now makes it due, DELETE cancels it', async () => {
    const { id } = await waiting()
    const now = await ask('POST', `/v2/sessions/${id}/retry/now`)
    expect([now.status, now.body.retry_state.phase]).toEqual([200, 'SCHEDULED'])
    expect(now.body.retry_state.reason).toMatch(/made due at once by/)
    const cancelled = await ask('DELETE', `/v2/sessions/${id}/retry`)
    expect([cancelled.status, cancelled.body.retry_state.phase]).toEqual([200, 'CANCELLED'])
    for (const [method, path] of [
      ['DELETE', 'retry'],
      ['POST', 'retry/now'],
    ] as const) {
      const { status, body } = await ask(method, `/v2/sessions/${id}/${path}`)
      expect([status, body.code]).toEqual([409, 'NO_PENDING_RETRY'])
    }
  })

  test('is not for viewers, nor for other tenants', async () => {
    const { id, projectId } = await waiting()
    const viewer = await server.factory.token({ role: 'VIEWER', projectId })
    const stranger = await server.factory.token({ role: 'MEMBER', projectId: await server.factory.project() })
    for (const [token, expected] of [
      [viewer, 403],
      [stranger, 404],
    ] as const) {
      const body = { policy: { max_retries: 2 } }
      expect((await ask('PATCH', `/v2/sessions/${id}/retry`, { body, token })).status).toBe(expected)
      expect((await ask('POST', `/v2/sessions/${id}/retry/now`, { token })).status).toBe(expected)
      expect((await ask('DELETE', `/v2/sessions/${id}/retry`, { token })).status).toBe(expected)
    }
  })
})

describe('paths that are not served', () => {
  test.each([
    ['GET', '/v2/nothing', 404, 'NO_SUCH_PATH'],
    ['PUT', '/v2/sessions', 405, 'METHOD_NOT_ALLOWED'],
    ['POST', `/v2/sessions/${randomUUID()}`, 405, 'METHOD_NOT_ALLOWED'],
  ])('%s %s', async (method, path, status, code) => {
    const answer = await ask(method, path)
    expect([answer.status, answer.body.code]).toEqual([status, code])
    if (status === 405) expect(answer.headers.get('allow')).toMatch(/GET/)
  })

  test.each(['', 'nonsense'])('without a token (%j)', async (token) => {
    const answer = await ask('GET', '/v2/sessions', { token })
    expect([answer.status, answer.body.code]).toEqual([401, 'UNAUTHENTICATED'])
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  test("with an agent's token", async () => {
    const token = await server.factory.token({ role: 'AGENT' })
    expect((await ask('GET', '/v2/sessions', { token })).status).toBe(403)
  })

  test('an internal error is reported as a request id', async () => {
    await server.db.query('ALTER TABLE retry_decisions RENAME TO retry_decisions_away')
    try {
      const { status, body } = await ask('GET', '/v2/sessions')
      expect([status, body.code, body.issues]).toEqual([500, 'INTERNAL', []])
      expect(JSON.stringify(body)).not.toMatch(/retry_decisions|prisma/i)
    } finally {
      await server.db.query('ALTER TABLE retry_decisions_away RENAME TO retry_decisions')
    }
  })
})
