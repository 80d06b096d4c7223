/** Filters on sessions, the same in GraphQL and REST. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SessionRow } from '../../support/sessions/factories.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
let chain: SessionRow[]
let single: SessionRow

beforeAll(async () => {
  server = await startGraphQLServer()
  single = await server.factory.session({ status: 'PENDING', retryPolicy: { maxRetries: 0 } })
  chain = await server.factory.chain(3, { status: 'ERROR', retryPolicy: { maxRetries: 2 } })
  const reasons = ['the disk is 50 km away', 'the disk is 50% full', null]
  for (const [index, reason] of reasons.entries())
    await server.db.query('UPDATE sessions SET status_reason = $2 WHERE id = $1', [chain[index]!.id, reason])
})
afterAll(() => server?.close())

async function rest(method: string, path: string, body?: object): Promise<{ status: number; body: any }> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

/** The places in the chain of those that match, `s` for the single session. */
function placesOf(ids: readonly string[]): string[] {
  return ids.map((id) => (id === single.id ? 's' : String(chain.findIndex((row) => row.id === id) + 1))).toSorted()
}

/** `parent` stands for the id of the chain's first attempt. */
describe.each<[given: object, parameters: string, places: string[]]>([
  [{ retryCount: { min: 1 } }, 'retry_count=1..', ['2', '3']],
  [{ retryCount: { max: 1 } }, 'retry_count=..1', ['1', '2', 's']],
  [{ retryCount: { min: 2, max: 2 } }, 'retry_count=2', ['3']],
  [{ retryCount: { min: 0, max: 0 } }, 'retry_count=0', ['1', 's']],
  [{ retryCount: { min: 2, max: 1 } }, 'retry_count=2..1', []],
  [{ maxRetries: { min: 1 }, retryCount: { min: 1, max: 1 } }, 'max_retries=1..&retry_count=1..1', ['2']],
  [{ maxRetries: { max: 0 } }, 'max_retries=0', ['s']],
  [{ parentSessionId: 'parent' }, 'parent_session_id=parent', ['2']],
  [{ failureCause: ['KERNEL_NONZERO_EXIT'] }, 'failure_cause=kernel_nonzero_exit,OOM_KILLED', ['1', '2', '3']],
  [{ failureReason: ['kernel-exited', 'oom-killed'] }, 'failure_reason=oom-killed,kernel-exited', ['1', '2', '3']],
  [{ failureReason: ['task-timeout'] }, 'failure_reason=task-timeout', []],
  [{ failureReason: [] }, 'failure_reason=', []],
  [{ NOT: { failureReason: ['kernel-exited'] } }, 'status=pending', ['s']],
  [{ status: ['PENDING'] }, 'status=pending', ['s']],
  [{ exitCode: [3, 4] }, 'exit_code=3,4', ['1', '2', '3']],
  [{ exitCode: [0, -9] }, 'exit_code=0,-9', []],
  [{ statusReason: { contains: '50%' } }, 'reason_contains=50%25', ['2']],
])('the filter %j', (given, parameters, places) => {
  test('of GraphQL and of REST', async () => {
    const filter = JSON.parse(JSON.stringify(given).replace('"parent"', `"${chain[0]!.id}"`)) as object
    const { data } = await server.query(
      'query ($filter: SessionFilter) { sessions(filter: $filter) { edges { node { sessionId } } } }',
      { filter },
      server.adminToken,
    )
    const found = data.sessions.edges.map(({ node }: { node: { sessionId: string } }) => node.sessionId)
    expect(placesOf(found)).toEqual(places)
    const { status, body } = await rest('GET', `/v2/sessions?${parameters.replace('=parent', `=${chain[0]!.id}`)}`)
    expect(status).toBe(200)
    expect(placesOf(body.items.map(({ id }: { id: string }) => id))).toEqual(places)
  })
})

test('the filter by the beginning of an id, with hyphens and without, in either case', async () => {
  const [{ id }] = chain as [SessionRow]
  const begins = [id, id.slice(0, -1), id.slice(0, 24), id.replaceAll('-', '').slice(0, 30), id.toUpperCase()]
  const later = `${id.slice(0, 8)}-ffff`
  for (const prefix of [...begins, id.slice(0, 8), later]) {
    const { data } = await server.query(
      'query ($prefix: String!) { sessions(filter: { idPrefix: $prefix }) { edges { node { sessionId } } } }',
      { prefix },
      server.adminToken,
    )
    const found = data.sessions.edges.map(({ node }: { node: { sessionId: string } }) => node.sessionId)
    const all = [single, ...chain].map((row) => row.id)
    const begin = prefix.replaceAll('-', '').toLowerCase()
    expect(found.toSorted()).toEqual(all.filter((one) => one.replaceAll('-', '').startsWith(begin)).toSorted())
    const { body } = await rest('GET', `/v2/sessions?id_prefix=${prefix}`)
    expect(body.items.map((item: { id: string }) => item.id).toSorted()).toEqual(found.toSorted())
  }
  for (const wrong of ['', '0123456', '0123456g', `${id}0`, '--------', "01234567' OR 1=1"]) {
    const { status, body } = await rest('GET', `/v2/sessions?id_prefix=${encodeURIComponent(wrong)}`)
    expect({ status, body }).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } })
  }
})

test.each(['retry_count=', 'retry_count=..', 'retry_count=-1', 'retry_count=1..2..3', 'max_retries=9999999999'])(
  'REST refuses %s',
  async (parameter) => {
    expect((await rest('GET', `/v2/sessions?${parameter}`)).status).toBe(422)
  },
)

test('an empty range is no condition: a resubmission by it is refused', async () => {
  const { data } = await server.query(
    `mutation { resubmitSessions(input: { filter: { retryCount: {} } }) { ... on ValidationError { issues { path } } } }`,
    {},
    server.adminToken,
  )
  expect(data.resubmitSessions.issues).toEqual([{ path: 'filter' }])
})

test('tries, reschedules, uncounted retries and dependencies can be read', async () => {
  await server.db.query('UPDATE sessions SET tries = 2, reschedules = 1, uncounted_retries = 4 WHERE id = $1', [
    single.id,
  ])
  const { body: made } = await rest('POST', '/v2/sessions', {
    name: 'after',
    command: ['true'],
    depends_on: [chain[1]!.id, single.id],
  })
  const first = [chain[0]!.id, single.id].toSorted()
  expect(made.depends_on.toSorted()).toEqual(first)
  const { data } = await server.query(
    `query ($after: UUID!) {
       sessions(filter: { name: { in: ["a session"] }, status: [PENDING] }) { edges { node { tries reschedules uncountedRetries dependsOn { sessionId } } } }
       session(id: $after) { dependsOn { sessionId chain { attempts } } } }`,
    { after: made.id },
    server.adminToken,
  )
  expect(data.sessions.edges).toEqual([{ node: { tries: 2, reschedules: 1, uncountedRetries: 4, dependsOn: [] } }])
  expect(data.session.dependsOn.map(({ sessionId }: { sessionId: string }) => sessionId).toSorted()).toEqual(first)
  const shown = await rest('GET', `/v2/sessions/${single.id}`)
  expect(shown.body).toMatchObject({ tries: 2, reschedules: 1, uncounted_retries: 4, depends_on: [] })
})

test('REST reads words of closed sets in either case, and no other word as such', async () => {
  const { status, body } = await rest('POST', '/v2/sessions', {
    name: 'backoff',
    command: ['true'],
    session_type: 'batch',
    cluster_mode: 'Single_Node',
    labels: [{ key: 'action', value: 'retry' }],
    environ: [{ name: 'backoff', value: 'fixed' }],
    retry_policy: {
      max_retries: 1,
      backoff: 'exponential',
      jitter: 'none',
      eligible_causes: ['oom_killed'],
      rules: [{ match: { causes: ['unknown'], reason: 'oom_killed*' }, action: 'retry', avoid: 'agent' }],
    },
  })
  expect(status).toBe(201)
  expect(body).toMatchObject({
    name: 'backoff',
    session_type: 'BATCH',
    cluster_mode: 'SINGLE_NODE',
    labels: [{ key: 'action', value: 'retry' }],
    environ: [{ name: 'backoff', value: 'fixed' }],
    retry_policy: {
      backoff: 'EXPONENTIAL',
      jitter: 'NONE',
      eligible_causes: ['OOM_KILLED'],
      rules: [{ match: { causes: ['UNKNOWN'], reason: 'oom_killed*' }, action: 'RETRY', avoid: 'AGENT' }],
    },
  })
})

test('REST says why a session waits with the present numbers, as GraphQL does', async () => {
  const { body } = await rest('POST', '/v2/sessions', {
    name: 'waits',
    command: ['true'],
    starts_at: '2099-01-01T00:00:00Z',
  })
  const reason = 'starts no earlier than 2099-01-01T00:00:00.000Z'
  const { data } = await server.query(
    'query ($id: UUID!) { session(id: $id) { pendingReason } }',
    { id: body.id },
    server.adminToken,
  )
  expect(data.session.pendingReason).toBe(reason)
  const one = await rest('GET', `/v2/sessions/${body.id}`)
  const { body: list } = await rest('GET', '/v2/sessions')
  const listed = list.items.find(({ id }: { id: string }) => id === body.id)
  expect([body.pending_reason, one.body.pending_reason, listed.pending_reason]).toEqual([reason, reason, reason])
  expect((await rest('GET', `/v2/sessions/${chain[2]!.id}`)).body.pending_reason).toBeNull()
})

test.each([
  [{ contains: '%' }, ['50%']],
  [{ startsWith: '5_' }, []],
  [{ endsWith: '\\' }, ['C:\\']],
  [{ contains: ':' }, ['C:\\']],
])('names are compared as they are: %j', async (name, names) => {
  const token = await literalNames()
  const text = '{ sessions(filter: $f) { edges { node { name } } } }'
  const { data } = await server.query(`query ($f: SessionFilter) ${text}`, { f: { name } }, token)
  expect(data.sessions.edges.map(({ node }: any) => node.name)).toEqual(names)
})

async function literalNames(): Promise<string> {
  const projectId = await server.factory.project()
  for (const name of ['50%', '50', 'C:\\']) await server.factory.session({ projectId, name })
  return server.factory.token({ role: 'VIEWER', projectId })
}
