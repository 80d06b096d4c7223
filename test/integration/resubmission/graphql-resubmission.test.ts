/** Mutations, queries and subscriptions on resubmissions. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { exhaustedSessions } from '../../support/sessions/due-retries.ts'
import { createFactories, DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { testServer } from '../../support/servers/test-server.ts'

let server: TestServer
let factory: TestServer['factory']
let member: string
let viewer: string
beforeAll(async () => {
  server = await startGraphQLServer()
})
beforeEach(async () => {
  await server.database.fresh()
  // Knows no agent of the test before.
  factory = createFactories(server.db)
  member = await factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
  viewer = await factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })
})
afterAll(() => server?.close())

const RESUBMIT = `mutation ($input: ResubmitSessionsInput!) { resubmitSessions(input: $input) { __typename
  ... on ResubmitSessionsPayload {
    resubmission { resubmissionId clientKey actor overrides filter state total done refusedCount pending createdAt finishedAt
      items { totalCount edges { cursor node { position sessionId status code childSession { sessionId origin } } } } }
    sessions { sessionId epoch attempt retryCount origin parentSession { sessionId } retryState { label }
      retryPolicy { maxRetries retryDelay sources { field source } } resourceSlots { slot amount } }
    refused { sessionId code message } }
  ... on Error { code message } ... on ValidationError { issues { path message } } } }`

const failed = () =>
  factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 2, retryDelay: 7 }, phase: 'EXHAUSTED' })

async function resubmit(input: object, token = member) {
  const { data, errors } = await server.query(RESUBMIT, { input }, token)
  expect(errors).toBeUndefined()
  return data.resubmitSessions
}

describe('resubmitSessions', () => {
  test('is shown by the chain: its state, its epochs with overridden fields, and the change', async () => {
    const { id } = await factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 2 }, phase: 'SCHEDULED' })
    const text = `query ($id: UUID!) { chain(id: $id) { state attempts epochs { epoch by resubmissionId overrides { field value } }
      changes { edges { node { attempt differences { field before after } } } } } }`

    expect((await server.query(text, { id }, member)).data.chain).toMatchObject({ state: 'WAITING_RETRY', attempts: 1 })
    const overrides = {
      retryPolicy: { maxRetries: 5 },
      resourceSlots: [{ slot: 'mem', amount: '2g' }],
      batchTimeout: 60,
    }
    const { resubmission } = await resubmit({ sessionIds: [id], overrides })
    expect((await server.query(text, { id }, member)).data.chain).toEqual({
      state: 'QUEUED',
      attempts: 2,
      epochs: [
        { epoch: 0, by: null, resubmissionId: null, overrides: [] },
        {
          epoch: 1,
          by: 'MEMBER-token',
          resubmissionId: resubmission.resubmissionId,
          overrides: [
            { field: 'batchTimeout', value: '60' },
            { field: 'resourceSlots.mem', value: '2147483648' },
            { field: 'retryPolicy.maxRetries', value: '5' },
          ],
        },
      ],
      changes: {
        edges: [
          {
            node: {
              attempt: 2,
              differences: [
                { field: 'batchTimeout', before: null, after: '60' },
                { field: 'resourceSlots.mem', before: '1048576', after: '2147483648' },
                { field: 'retryPolicy.maxRetries', before: '2', after: '5' },
              ],
            },
          },
        ],
      },
    })
  })

  test('answers with the resubmission, the new sessions, and the refusals', async () => {
    const [good, running] = [await failed(), await factory.session({ status: 'RUNNING' })]
    const result = await resubmit({
      sessionIds: [good.id, running.id],
      clientKey: 'k',
      overrides: { retryPolicy: { maxRetries: 5 }, resourceSlots: [{ slot: 'mem', amount: '2g' }], priority: null },
    })
    const child = result.sessions[0].sessionId
    expect(result).toMatchObject({
      __typename: 'ResubmitSessionsPayload',
      resubmission: {
        clientKey: 'k',
        actor: 'MEMBER-token',
        overrides: expect.stringContaining('"maxRetries":5'),
        filter: null,
        state: 'COMPLETED',
        total: 2,
        done: 1,
        refusedCount: 1,
        pending: 0,
        items: {
          totalCount: 2,
          edges: [
            { node: { position: 0, sessionId: good.id, status: 'DONE', childSession: { sessionId: child } } },
            { node: { position: 1, status: 'REFUSED', code: 'SESSION_NOT_FINISHED', childSession: null } },
          ],
        },
      },
      sessions: [
        {
          epoch: 1,
          attempt: 2,
          retryCount: 0,
          origin: 'RESUBMISSION',
          parentSession: { sessionId: good.id },
          retryState: { label: 'attempt 1 of 6' },
          retryPolicy: { maxRetries: 5, retryDelay: 7 },
          resourceSlots: [
            { slot: 'cpu', amount: '1' },
            { slot: 'mem', amount: '2147483648' },
          ],
        },
      ],
      refused: [{ sessionId: running.id, code: 'SESSION_NOT_FINISHED' }],
    })
    const sources: { field: string; source: string }[] = result.sessions[0].retryPolicy.sources
    expect(sources.find(({ field }) => field === 'maxRetries')).toMatchObject({ source: 'SESSION' })
    expect(await resubmit({ sessionIds: [good.id, running.id], clientKey: 'k', overrides: {} })).toMatchObject({
      __typename: 'ConflictError',
      code: 'CLIENT_KEY_REUSED',
    })
  })

  test('takes a filter as `sessions` does, and refuses an empty one', async () => {
    const [one] = [await failed(), await factory.session({ status: 'TERMINATED' })]
    expect(await resubmit({ filter: {} })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: 'filter' }],
    })
    const result = await resubmit({
      filter: { status: ['ERROR'], retryPhase: ['EXHAUSTED'], createdAt: { lt: '2100-01-01T00:00:00Z', gt: null } },
    })
    expect(result.sessions.map((session: any) => session.parentSession.sessionId)).toEqual([one.id])
    expect(JSON.parse(result.resubmission.filter)).toEqual({
      status: ['ERROR'],
      retryPhase: ['EXHAUSTED'],
      createdAt: { lt: '2100-01-01T00:00:00.000Z' },
    })
  })

  test('reports how many dependents could come back, and brings them back on request', async () => {
    const { id } = await failed()
    const waiting = await factory.session({ status: 'CANCELLED', phase: 'NONE' })
    await server.db.query(
      `UPDATE sessions SET status_data = '{"error": {"name": "dependency-failed", "message": "m"}}'
      WHERE id = $1`,
      [waiting.id],
    )
    await server.db.query('INSERT INTO session_dependencies (session_id, chain_id) VALUES ($1, $2)', [waiting.id, id])
    const text = `mutation ($input: ResubmitSessionsInput!) { resubmitSessions(input: $input) {
      ... on ResubmitSessionsPayload { cancelledDependents sessions { parentSession { sessionId } dependsOn { sessionId } } }
      ... on DryRun { total count cancelledDependents } } }`
    const ask = async (input: object) => {
      const { data, errors } = await server.query(text, { input: { sessionIds: [id], ...input } }, member)
      expect(errors).toBeUndefined()
      return data.resubmitSessions
    }

    expect(await ask({ dryRun: true })).toEqual({ total: 1, count: 1, cancelledDependents: 1 })
    expect(await ask({ dryRun: true, includeDependents: true })).toEqual({ total: 2, count: 2, cancelledDependents: 1 })
    expect(await ask({})).toMatchObject({ cancelledDependents: 1, sessions: [{ parentSession: { sessionId: id } }] })
    expect(await ask({ includeDependents: true })).toEqual({
      cancelledDependents: 0,
      sessions: [{ parentSession: { sessionId: waiting.id }, dependsOn: [{ sessionId: expect.any(String) }] }],
    })
  })

  test('is not for a VIEWER', async () => {
    expect(await resubmit({ sessionIds: [(await failed()).id] }, viewer)).toMatchObject({
      __typename: 'ForbiddenError',
      code: 'FORBIDDEN',
    })
  })

  test('does not find sessions of another project', async () => {
    const theirs = await factory.session({ status: 'ERROR', projectId: await factory.project() })
    const { sessions, refused } = await resubmit({ sessionIds: [theirs.id] })
    expect([sessions, refused]).toEqual([[], [expect.objectContaining({ code: 'SESSION_NOT_FOUND' })]])
  })

  /** Statements of background work: followers of events, and recorded uses of tokens. */
  const BEHIND = /pg_notify|api_tokens|FROM session_events e/

  test('costs as many statements for 50 sessions as for one', async () => {
    const counts = []
    for (const count of [1, 50]) {
      const sessionIds = (await Promise.all(Array.from({ length: count }, failed))).map(({ id }) => id)
      await resubmit({ sessionIds: [(await failed()).id] })
      const { statements } = await recordStatements(() => resubmit({ sessionIds }))
      counts.push(statements.filter((text) => !BEHIND.test(text)).length)
    }
    expect(counts[1]).toBe(counts[0])
  })
})

test('resubmissions are listed, newest first, to those who may see them', async () => {
  const stranger = await factory.token({ role: 'MEMBER', projectId: await factory.project() })
  const ids: string[] = []
  for (let n = 0; n < 3; n++) {
    const { resubmission } = await resubmit({ sessionIds: [(await failed()).id] })
    ids.unshift(resubmission.resubmissionId)
  }
  const LIST = `query ($after: String) { resubmissions(first: 2, after: $after) { totalCount pageInfo { hasNextPage endCursor }
    edges { node { resubmissionId items(first: 1) { edges { node { status session { sessionId } } } } } } } }`
  const page = (await server.query(LIST, {}, viewer)).data.resubmissions
  expect(page.totalCount).toBe(3)
  const next = (await server.query(LIST, { after: page.pageInfo.endCursor }, viewer)).data.resubmissions
  const listed = [...page.edges, ...next.edges].map(({ node }: any) => node.resubmissionId)
  expect([listed, next.pageInfo.hasNextPage]).toEqual([ids, false])
  expect((await server.query(LIST, {}, stranger)).data.resubmissions).toMatchObject({ totalCount: 0, edges: [] })

  const ONE = `query ($id: UUID!, $node: ID!) { resubmission(id: $id) { state } node(id: $node) { __typename } }`
  const variables = { id: ids[0], node: Buffer.from(`Resubmission:${ids[0]}`).toString('base64') }
  expect((await server.query(ONE, variables, viewer)).data).toEqual({
    resubmission: { state: 'COMPLETED' },
    node: { __typename: 'Resubmission' },
  })
  expect((await server.query(ONE, variables, stranger)).data).toEqual({ resubmission: null, node: null })
})

describe('bulk actions', () => {
  const SHOWN = 'bulkActionId clientKey action actor state total done pending refusedCount filter overrides'

  test('are records of all actions, by action, state and time, with JSON values', async () => {
    await factory.session({ name: 'one', status: 'ERROR', phase: 'EXHAUSTED' })
    const overridden = await resubmit({ filter: { name: { equals: 'one' } }, overrides: { priority: 7 } })
    const { data } = await server.query(
      `mutation ($ids: [UUID!]) { terminateSessions(input: { sessionIds: $ids, reason: "enough" }) {
        ... on TerminateSessionsPayload { bulkAction { ${SHOWN} } resubmission { resubmissionId } } } }`,
      { ids: [(await factory.session({ status: 'RUNNING' })).id] },
      member,
    )
    const { bulkAction, resubmission } = data.terminateSessions
    expect(resubmission.resubmissionId).toBe(bulkAction.bulkActionId)
    expect(bulkAction).toMatchObject({
      action: 'TERMINATE',
      state: 'COMPLETED',
      done: 1,
      filter: null,
      overrides: { reason: 'enough' },
    })
    const LIST = `query ($filter: BulkActionFilter) { bulkActions(filter: $filter) { totalCount edges { node { ${SHOWN}
      refusals { code count } items { edges { node { id status code session { sessionId } } } } } } } }`
    const list = async (filter: object) => {
      const answer = await server.query(LIST, { filter }, viewer)
      expect(answer.errors).toBeUndefined()
      return answer.data.bulkActions.edges.map(({ node }: any) => node)
    }
    const [resubmitted] = await list({ action: ['RESUBMIT'] })
    expect(resubmitted).toMatchObject({
      bulkActionId: overridden.resubmission.resubmissionId,
      filter: { name: { equals: 'one' } },
      overrides: { priority: 7 },
      items: { edges: [{ node: { status: 'DONE', code: null } }] },
    })
    expect(await list({})).toHaveLength(2)
    expect(await list({ state: ['RUNNING'] })).toEqual([])
    expect(await list({ createdAt: { lt: '2026-01-01T00:00:00Z' } })).toEqual([])
    expect(await list({ idPrefix: resubmitted.bulkActionId.slice(0, 30), action: ['RESUBMIT'] })).toEqual([resubmitted])
  })

  test('are followed and aborted', async () => {
    const sessionIds = await exhaustedSessions(testServer(server.db).context, { count: 501 })
    const id = (await resubmit({ sessionIds })).resubmission.resubmissionId
    const connection = connect(server.url, viewer)
    const stream = connection.subscribe(
      'subscription ($id: UUID!) { bulkActionProgress(id: $id) { bulkActionId state abortedBy } }',
      { id },
    )
    expect((await stream.take(1))[0].bulkActionProgress).toEqual({
      bulkActionId: id,
      state: 'RUNNING',
      abortedBy: null,
    })
    const ABORT = `mutation ($id: UUID!) { abortBulkAction(input: { bulkActionId: $id }) { __typename
      ... on AbortBulkActionPayload { bulkAction { state pending } } ... on Error { code } } }`
    expect((await server.query(ABORT, { id }, viewer)).data.abortBulkAction).toMatchObject({ code: 'FORBIDDEN' })
    expect((await server.query(ABORT, { id }, member)).data.abortBulkAction).toEqual({
      __typename: 'AbortBulkActionPayload',
      bulkAction: { state: 'ABORTED', pending: 501 },
    })
    expect((await stream.take(1))[0].bulkActionProgress).toMatchObject({ state: 'ABORTED', abortedBy: 'MEMBER-token' })
    await connection.close()
    const ONE = 'query ($id: UUID!, $node: ID!) { bulkAction(id: $id) { state } node(id: $node) { __typename } }'
    const variables = { id, node: Buffer.from(`BulkAction:${id}`).toString('base64') }
    expect((await server.query(ONE, variables, viewer)).data).toEqual({
      bulkAction: { state: 'ABORTED' },
      node: { __typename: 'BulkAction' },
    })
    const stranger = await factory.token({ role: 'MEMBER', projectId: await factory.project() })
    expect((await server.query(ONE, variables, stranger)).data).toEqual({ bulkAction: null, node: null })
  })
})

describe('a large resubmission', () => {
  const worker = () => testServer(server.db)

  test('is followed to its end, and its items are read in pages and by status', async () => {
    const work = worker()
    const ids = await exhaustedSessions(work.context, { count: 620 })
    const running = await factory.session({ status: 'RUNNING' })
    const { resubmission, sessions } = await resubmit({ sessionIds: [...ids, running.id] })
    expect([resubmission.state, resubmission.pending, sessions]).toEqual(['RUNNING', 621, []])
    const id = resubmission.resubmissionId
    const connection = connect(server.url, viewer)
    const stream = connection.subscribe(
      `subscription ($id: UUID!) { resubmissionProgress(id: $id) { state total done refusedCount pending } }`,
      { id },
    )
    const seen: object[] = []
    const progress = { total: 621 }
    for (const _batch of [1, 2, 3]) {
      seen.push(...(await stream.take(1)).map(({ resubmissionProgress }) => resubmissionProgress))
      await work.run('resubmit-sessions')
    }
    expect(seen).toEqual([
      { ...progress, state: 'RUNNING', done: 0, refusedCount: 0, pending: 621 },
      { ...progress, state: 'RUNNING', done: 500, refusedCount: 0, pending: 121 },
      { ...progress, state: 'COMPLETED', done: 620, refusedCount: 1, pending: 0 },
    ])
    expect((await stream.next()).done).toBe(true)
    await connection.close()

    const ITEMS = `query ($id: UUID!, $after: String, $status: ResubmissionItemStatus) { resubmission(id: $id) {
      items(first: 100, after: $after, status: $status) { totalCount pageInfo { hasNextPage endCursor } edges { node { sessionId } } } } }`
    const paged: string[] = []
    for (let after: string | null = null; ;) {
      const answer = await server.query(ITEMS, { id, after, status: 'DONE' }, viewer)
      const { items } = answer.data.resubmission
      paged.push(...items.edges.map(({ node }: any) => node.sessionId))
      if (!items.pageInfo.hasNextPage) break
      after = items.pageInfo.endCursor
    }
    expect(paged).toEqual(ids)
    const refused = await server.query(ITEMS, { id, status: 'REFUSED' }, viewer)
    expect(refused.data.resubmission.items).toMatchObject({
      totalCount: 1,
      edges: [{ node: { sessionId: running.id } }],
    })
  })

  test('is aborted, and its followers see that', async () => {
    const sessionIds = await exhaustedSessions(worker().context, { count: 501 })
    const { resubmission } = await resubmit({ sessionIds })
    const id = resubmission.resubmissionId
    const connection = connect(server.url, viewer)
    const stream = connection.subscribe(
      `subscription ($id: UUID!) { resubmissionProgress(id: $id) { state abortedBy } }`,
      {
        id,
      },
    )
    await stream.take(1)
    const ABORT = `mutation ($id: UUID!) { abortResubmission(input: { resubmissionId: $id }) { __typename
      ... on AbortResubmissionPayload { resubmission { state pending } } ... on Error { code } } }`
    expect((await server.query(ABORT, { id }, viewer)).data.abortResubmission).toMatchObject({ code: 'FORBIDDEN' })
    expect((await server.query(ABORT, { id }, member)).data.abortResubmission).toEqual({
      __typename: 'AbortResubmissionPayload',
      resubmission: { state: 'ABORTED', pending: 501 },
    })
    expect((await stream.take(1))[0].resubmissionProgress).toEqual({ state: 'ABORTED', abortedBy: 'MEMBER-token' })
    expect((await server.query(ABORT, { id }, member)).data.abortResubmission).toMatchObject({
      __typename: 'InvalidStateError',
      code: 'RESUBMISSION_FINISHED',
    })
    await connection.close()
  })

  test('of others cannot be followed', async () => {
    const { resubmission } = await resubmit({ sessionIds: [(await failed()).id] })
    const stranger = await factory.token({ role: 'MEMBER', projectId: await factory.project() })
    const connection = connect(server.url, stranger)
    const stream = connection.subscribe(`subscription ($id: UUID!) { resubmissionProgress(id: $id) { state } }`, {
      id: resubmission.resubmissionId,
    })
    await expect(stream.take(1)).rejects.toThrow('no resubmission')
    await connection.close()
  })
})
