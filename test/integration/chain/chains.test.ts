/** Fields of a chain: its times, outlook, epochs and attempts. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { insertRows } from '../../support/database/insert-rows.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())
beforeEach(() => server.db.query('TRUNCATE sessions CASCADE'))

const CHAIN = `query ($id: UUID, $sessionId: UUID) { chain(id: $id, sessionId: $sessionId) {
  id chainId name state cause attempts createdAt newestActivityAt endedAt totalSeconds labels { key value } project { name }
  outlook { willRetry reason at } firstAttempt { sessionId } newestAttempt { sessionId chain { attempts } }
  runningSeconds pendingSeconds betweenSeconds waitingSeconds successCount failureCount failures { cause count }
  epochs { epoch by at attempt resubmissionId overrides { field value before } firstSession { sessionId } } } }`

async function chain(variables: { id?: string; sessionId?: string }) {
  const { data, errors } = await server.query(CHAIN, variables)
  expect(errors).toBeUndefined()
  return data.chain
}

/** A chain with its times laid out in seconds from a beginning: created, started, terminated. */
async function layOut(
  rows: readonly { id: string }[],
  seconds: readonly (readonly [number, number | null, number | null])[],
) {
  for (const [index, { id }] of rows.entries()) {
    const [created, started, terminated] = seconds[index]!.map((at) =>
      at === null ? null : new Date(START + at * 1_000),
    )
    await server.db.query(`UPDATE sessions SET created_at = $2, started_at = $3, terminated_at = $4 WHERE id = $1`, [
      id,
      created,
      started,
      terminated,
    ])
  }
  await server.db.query(`SELECT refresh_chains(ARRAY[$1::uuid])`, [rows[0]!.id])
}

const START = Date.parse('2026-01-01T00:00:00Z')

describe('a chain', () => {
  test('is found by its id, by each of its attempts, and as a node', async () => {
    const rows = await server.factory.chain(3, { name: 'found', status: 'RUNNING', labels: { team: 'red' } })
    const found = await chain({ id: rows[0]!.id })
    expect(found).toMatchObject({
      chainId: rows[0]!.id,
      name: 'found',
      attempts: 3,
      state: 'RUNNING',
      cause: null,
      labels: [{ key: 'team', value: 'red' }],
      project: { name: 'default' },
      firstAttempt: { sessionId: rows[0]!.id },
      newestAttempt: { sessionId: rows[2]!.id, chain: { attempts: 3 } },
    })
    for (const { id } of rows) expect((await chain({ sessionId: id })).chainId).toBe(rows[0]!.id)
    expect(await chain({ id: rows[1]!.id })).toBeNull()
    const node = await server.query('query ($id: ID!) { node(id: $id) { __typename ... on Chain { chainId } } }', {
      id: found.id,
    })
    expect(node.data.node).toEqual({ __typename: 'Chain', chainId: rows[0]!.id })
  })

  test('is asked for in one way', async () => {
    for (const text of ['{ chain { name } }', `{ chain(id: "${SOME_ID}", sessionId: "${SOME_ID}") { name } }`]) {
      expect((await server.query(text)).errors?.[0]?.message).toBe('Give `id` or `sessionId`.')
    }
  })

  test('adds up how long it ran and waited', async () => {
    const rows = await server.factory.chain(3, { status: 'TERMINATED' })
    await layOut(rows, [
      [0, 10, 30],
      [90, 95, 100],
      [200, 260, 300],
    ])
    expect(await chain({ id: rows[0]!.id })).toMatchObject({
      state: 'SUCCEEDED',
      totalSeconds: 300,
      runningSeconds: 65,
      pendingSeconds: 75,
      betweenSeconds: 160,
      waitingSeconds: 235,
      successCount: 1,
      failureCount: 2,
      failures: [{ cause: 'KERNEL_NONZERO_EXIT', count: 2 }],
      endedAt: '2026-01-01T00:05:00.000Z',
    })
  })

  test('an open period counts until now', async () => {
    const rows = await server.factory.chain(2, { status: 'PENDING' })
    const ago = Math.round((Date.now() - START) / 1_000)
    await layOut(rows, [
      [ago - 100, ago - 90, ago - 70],
      [ago - 50, null, null],
    ])
    const { totalSeconds, pendingSeconds, betweenSeconds, endedAt } = await chain({ id: rows[0]!.id })
    expect(totalSeconds).toBeGreaterThan(98)
    expect(totalSeconds).toBeLessThan(130)
    expect(pendingSeconds).toBeGreaterThan(58)
    expect(betweenSeconds).toBeCloseTo(20, 5)
    expect(endedAt).toBeNull()
  })

  test('counts failures by cause, the most frequent first', async () => {
    const rows = await server.factory.chain(4, { status: 'ERROR', phase: 'EXHAUSTED', failureCause: 'OOM_KILLED' })
    await server.db.query(`UPDATE sessions SET failure_cause = NULL WHERE id = $1`, [rows[0]!.id])
    expect(await chain({ id: rows[0]!.id })).toMatchObject({
      state: 'FAILED',
      cause: 'OOM_KILLED',
      failureCount: 4,
      failures: [
        { cause: 'KERNEL_NONZERO_EXIT', count: 2 },
        { cause: 'OOM_KILLED', count: 1 },
        { cause: null, count: 1 },
      ],
    })
  })
})

const SOME_ID = '00000000-0000-7000-8000-00000000abcd'

describe('whether it will still retry', () => {
  test.each([
    [
      'a budget',
      { status: 'RUNNING', retryPolicy: { maxRetries: 2 } },
      'RUNNING',
      true,
      'attempt 1 is RUNNING; 2 of 2',
    ],
    ['no budget', { status: 'RUNNING' }, 'RUNNING', false, 'attempt 1 is RUNNING; maxRetries is 0'],
    ['a plan', { status: 'ERROR', retryPolicy: { maxRetries: 1 } }, 'WAITING_RETRY', true, 'as made for a test: SCHED'],
    [
      'a hold',
      { status: 'ERROR', retryPolicy: { maxRetries: 1 }, phase: 'HELD' },
      'HELD',
      true,
      'held: the limit of p',
    ],
    [
      'no judgement',
      { status: 'ERROR', phase: null, retryPolicy: { maxRetries: 1 } },
      'RUNNING',
      true,
      'attempt 1 is over',
    ],
    ['nothing left', { status: 'ERROR', phase: 'EXHAUSTED' }, 'FAILED', false, 'as made for a test: EXHAUSTED'],
    ['a success', { status: 'TERMINATED' }, 'SUCCEEDED', false, 'as made for a test: SUCCEEDED'],
    [
      'a service',
      { status: 'RUNNING', sessionType: 'INFERENCE' },
      'RUNNING',
      false,
      'INFERENCE sessions are never retried',
    ],
  ] as const)('with %s', async (_name, spec, state, willRetry, reason) => {
    const { id } = await server.factory.session(spec)
    const found = await chain({ id })
    expect(found).toMatchObject({ state, outlook: { willRetry } })
    expect(found.outlook.reason).toContain(reason)
    expect(found.outlook.at !== null).toBe(state === 'WAITING_RETRY' || state === 'HELD')
  })
})

test('epochs show who started them, and which fields were overridden', async () => {
  const created = await server.query(
    `mutation { createSession(input: { name: "epochs", command: ["true"], environ: [{ name: "LR", value: "0.5" }],
      resourceSlots: [{ slot: "mem", amount: "1g" }] }) { ... on CreateSessionPayload { session { sessionId } } } }`,
  )
  const first = { ...(await server.factory.session()), id: created.data.createSession.session.sessionId as string }
  await server.db.query(
    `UPDATE sessions SET status = 'ERROR', result = 'FAILURE', terminated_at = now() WHERE id = $1`,
    [first.id],
  )
  const parent = { ...first, chainId: first.id, attempt: 1 }
  const second = await server.factory.session({ parent, status: 'PENDING' })
  await server.db.query(`UPDATE sessions SET origin = 'RESUBMISSION', epoch = 1 WHERE id = $1`, [second.id])
  const overrides = { batchTimeout: 60, resourceSlots: { mem: '2147483648' }, environ: [{ name: 'LR', value: '0.1' }] }
  await insertRows(server.db, 'resubmissions', [
    {
      id: SOME_ID,
      client_key: 'k',
      request_hash: 'h',
      actor: 'anna',
      overrides,
      total: 1,
      done: 0,
      refused: 0,
      state: 'RUNNING',
    },
  ])
  await insertRows(server.db, 'resubmission_items', [
    { resubmission_id: SOME_ID, position: 0, session_id: first.id, status: 'DONE', child_session_id: second.id },
  ])
  expect((await chain({ id: first.id })).epochs).toMatchObject([
    {
      epoch: 0,
      by: 'ADMIN-token',
      attempt: 1,
      resubmissionId: null,
      overrides: [],
      firstSession: { sessionId: first.id },
    },
    {
      epoch: 1,
      by: 'anna',
      attempt: 2,
      resubmissionId: SOME_ID,
      overrides: [
        { field: 'batchTimeout', value: '60', before: null },
        { field: 'environ.LR', value: '0.1', before: '0.5' },
        { field: 'resourceSlots.mem', value: '2147483648', before: '1073741824' },
      ],
      firstSession: { sessionId: second.id },
    },
  ])
})

describe('attempts of a chain', () => {
  const TEXT = `query ($id: UUID!, $first: Int, $after: String, $last: Int, $before: String) { chain(id: $id) {
    sessions(first: $first, after: $after, last: $last, before: $before) { totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { cursor node { attempt kernels { role } } } } } }`

  async function page(variables: object) {
    const { data, errors } = await server.query(TEXT, variables)
    expect(errors).toBeUndefined()
    const { edges, ...rest } = data.chain.sessions
    return {
      attempts: edges.map(({ node }: any) => node.attempt),
      cursors: edges.map(({ cursor }: any) => cursor),
      ...rest,
    }
  }

  test('are read page by page from both ends', async () => {
    const [{ id } = { id: '' }] = await server.factory.chain(7, { status: 'RUNNING' })
    const first = await page({ id, first: 3 })
    expect(first).toMatchObject({
      attempts: [1, 2, 3],
      totalCount: 7,
      pageInfo: { hasNextPage: true, hasPreviousPage: false },
    })
    const second = await page({ id, first: 3, after: first.pageInfo.endCursor })
    expect(second).toMatchObject({ attempts: [4, 5, 6], pageInfo: { hasNextPage: true, hasPreviousPage: true } })
    const third = await page({ id, first: 3, after: second.pageInfo.endCursor })
    expect(third).toMatchObject({ attempts: [7], pageInfo: { hasNextPage: false } })
    const newest = await page({ id, last: 3 })
    expect(newest).toMatchObject({ attempts: [5, 6, 7], pageInfo: { hasNextPage: false, hasPreviousPage: true } })
    const older = await page({ id, last: 3, before: newest.pageInfo.startCursor })
    expect(older).toMatchObject({ attempts: [2, 3, 4], pageInfo: { hasNextPage: true, hasPreviousPage: true } })
    expect((await page({ id, last: 3, before: older.pageInfo.startCursor })).attempts).toEqual([1])
    expect((await page({ id, first: 10, after: first.cursors[0], before: first.cursors[2] })).attempts).toEqual([2])
    expect((await page({ id, after: third.pageInfo.endCursor })).attempts).toEqual([])
    expect((await page({ id, first: 0 })).pageInfo.hasNextPage).toBe(true)
    const { errors } = await server.query(TEXT, { id, before: 'nonsense' })
    expect(errors?.[0]?.message).toBe('`before` is not a cursor of this connection in this order.')
  })

  test('show what changed from one attempt to the next', async () => {
    const rows = await server.factory.chain(4, { status: 'RUNNING' })
    await server.db.query(
      `UPDATE sessions SET resource_slots = '{"cpu": "1", "mem": "2097152"}', batch_timeout = 120 WHERE id = $1`,
      [rows[2]!.id],
    )
    await server.db.query(
      `UPDATE sessions SET resource_slots = '{"cpu": "1", "mem": "2097152"}', batch_timeout = 120, image = 'new',
         environ = '[{"name": "LR", "value": "0.1"}]', retry_policy = retry_policy || '{"maxRetries": 9}' WHERE id = $1`,
      [rows[3]!.id],
    )
    const text = `query ($id: UUID!, $after: String) { chain(id: $id) { changes(first: 1, after: $after) { totalCount
      pageInfo { hasNextPage endCursor } edges { node { attempt session { attempt } differences { field before after } } } } } }`
    const { changes } = (await server.query(text, { id: rows[0]!.id })).data.chain
    expect(changes).toMatchObject({
      totalCount: 2,
      pageInfo: { hasNextPage: true },
      edges: [
        {
          node: {
            attempt: 3,
            session: { attempt: 3 },
            differences: [
              { field: 'batchTimeout', before: null, after: '120' },
              { field: 'resourceSlots.mem', before: '1048576', after: '2097152' },
            ],
          },
        },
      ],
    })
    const next = (await server.query(text, { id: rows[0]!.id, after: changes.pageInfo.endCursor })).data.chain.changes
    expect(next.pageInfo.hasNextPage).toBe(false)
    expect(next.edges[0].node.differences).toEqual([
      { field: 'environ.GREETING', before: 'hello', after: null },
      { field: 'environ.LR', before: null, after: '0.1' },
      { field: 'image', before: null, after: 'new' },
      { field: 'retryPolicy.maxRetries', before: '4', after: '9' },
    ])
  })

  test('have their logs', async () => {
    const rows = await server.factory.chain(2, { status: 'RUNNING' })
    for (const { kernelIds, attempt } of rows) await server.factory.log(kernelIds[0]!, `of attempt ${attempt}\n`)
    const text = `query ($id: UUID!) { chain(id: $id) { sessions { edges { node { kernels { logs { edges { node { text } } } } } } } } }`
    const { edges } = (await server.query(text, { id: rows[0]!.id })).data.chain.sessions
    const texts = edges.map(({ node }: any) => node.kernels[0].logs.edges[0].node.text)
    expect(texts).toEqual(['of attempt 1\n', 'of attempt 2\n'])
  })
})
