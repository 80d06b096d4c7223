/** Types that several parts of the schema share: events, enums, orders. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertRows } from '../../support/database/insert-rows.ts'
import { writeDeploymentEvents, writeEvents } from '../../support/database/outbox.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

test('one fragment reads all kinds of events, with attempt, cause and due time', async () => {
  const { id, chainId } = await server.factory.session({
    status: 'ERROR',
    failureCause: 'OOM_KILLED',
    retryPolicy: { maxRetries: 2 },
  })
  const gone = randomUUID()
  const retry = {
    attempt: 1,
    maxAttempts: 3,
    cause: 'OOM_KILLED',
    delaySeconds: 60,
    scheduledAt: '2026-01-01T00:00:00.000Z',
    childSessionId: null,
    reason: 'retry 1 of 2',
  }
  const about = { sessionId: id, chainId }
  await writeEvents(server.db, [
    { ...about, type: 'session.created', data: { from: null, to: 'PENDING' } },
    { ...about, type: 'session.error', data: { from: 'RUNNING', to: 'ERROR', reason: 'killed' } },
    { ...about, type: 'session.retry_scheduled', data: retry },
    { type: 'session.error', sessionId: gone, data: { from: 'RUNNING', to: 'ERROR' } },
  ])
  // Transactions of other databases may hold back for a while what has just been written.
  await eventually(async () => {
    const { data: read } = await server.query('{ events(last: 4) { edges { node { sessionId } } } }')
    return read.events.edges.at(-1)?.node.sessionId === gone
  })
  const shared = `fragment shared on Event {
    sessionId chainId attempt maxAttempts cause delaySeconds dueAt childSessionId reason }`
  const { data, errors } = await server.query(
    `${shared} { events(last: 4) { edges { node { __typename ...shared } } } __type(name: "Event") { possibleTypes { name } } }`,
  )
  expect(errors).toBeUndefined()
  expect(data.__type.possibleTypes.map(({ name }: any) => name).toSorted()).toEqual(['RetryEvent', 'SessionEvent'])
  const { scheduledAt: dueAt, ...shown } = retry
  const none = { delaySeconds: null, dueAt: null, childSessionId: null }
  const first = { __typename: 'SessionEvent', ...about, attempt: 1, maxAttempts: 3 }
  expect(data.events.edges.map(({ node }: any) => node)).toEqual([
    { ...first, ...none, cause: null, reason: null },
    { ...first, ...none, cause: 'OOM_KILLED', reason: 'killed' },
    { ...first, ...shown, dueAt },
    // The session has been removed meanwhile.
    {
      ...first,
      ...none,
      sessionId: gone,
      chainId: gone,
      attempt: null,
      maxAttempts: null,
      cause: null,
      reason: null,
    },
  ])
  const socket = connect(server.url, server.adminToken)
  try {
    const stream = socket.subscribe(
      `${shared} subscription ($after: String) { retryEvents(after: $after) { __typename ...shared scheduledAt } }`,
      { after: btoa('0:0').replaceAll('=', '') },
    )
    const [{ retryEvents }] = await stream.take(1)
    expect(retryEvents).toEqual({ ...first, __typename: 'RetryEvent', ...shown, dueAt, scheduledAt: dueAt })
  } finally {
    await socket.close()
  }
})

test('past events of deployments can be read, page by page, and only with the token of their project', async () => {
  const projectId = await server.factory.project('past')
  const token = await server.factory.token({ role: 'VIEWER', projectId: await server.factory.project('foreign') })
  const web = await server.factory.deployment({ projectId })
  const scaled = (from: number) => ({
    type: 'deployment.scaled' as const,
    deploymentId: web.id,
    projectId,
    data: { from, to: from + 1 },
  })
  await writeDeploymentEvents(server.db, [scaled(1), scaled(2), scaled(3)])
  await writeEvents(server.db, [{ type: 'session.created', projectId }])
  const PAST = `query ($filter: DeploymentEventFilter, $last: Int, $before: String) {
    deploymentEvents(filter: $filter, last: $last, before: $before) {
      totalCount pageInfo { hasPreviousPage startCursor } edges { cursor node { cursor type toReplicas } } } }`
  const filter = { deploymentId: web.id, project: 'past' }
  const page = async (last: number, before?: string) => {
    const { data, errors } = await server.query(PAST, { filter, last, before })
    expect(errors).toBeUndefined()
    return data.deploymentEvents
  }
  // Transactions of other databases may hold back for a while what has just been written.
  await eventually(async () => (await page(10)).edges.length === 3)
  const newest = await page(2)
  expect(newest.totalCount).toBe(3)
  expect(newest.edges.map(({ node }: any) => node.toReplicas)).toEqual([3, 4])
  expect(newest.edges.every(({ cursor, node }: any) => cursor === node.cursor)).toBe(true)
  expect((await page(2, newest.pageInfo.startCursor)).edges).toMatchObject([
    { node: { type: 'SCALED', toReplicas: 2 } },
  ])
  const theirs = await server.query(PAST, { filter: { deploymentId: web.id }, last: 10 }, token)
  expect(theirs.data.deploymentEvents).toMatchObject({ totalCount: 0, edges: [] })
  const [past] = newest.edges
  const socket = connect(server.url, server.adminToken)
  try {
    const text =
      'subscription ($after: String) { deploymentEvents(filter: { project: "past" }, after: $after) { toReplicas } }'
    expect(await socket.subscribe(text, { after: past.cursor }).take(1)).toEqual([
      { deploymentEvents: { toReplicas: 4 } },
    ])
  } finally {
    await socket.close()
  }
})

test('retry decisions can be ordered by due time in both directions, those without one last', async () => {
  const { factory, db } = server
  const projectId = await factory.project('ordered')
  for (const [name, minutes, phase] of [
    ['late', 30, 'SCHEDULED'],
    ['early', 10, 'SCHEDULED'],
    ['none', null, 'NOT_ELIGIBLE'],
    ['none either', null, 'NOT_ELIGIBLE'],
  ] as const) {
    const { id } = await factory.session({ name, status: 'ERROR', phase, projectId, retryPolicy: { maxRetries: 3 } })
    await db.query(`UPDATE retry_decisions SET due_at = now() + make_interval(mins => $2) WHERE session_id = $1`, [
      id,
      minutes,
    ])
  }
  const text = `query ($direction: OrderDirection!, $first: Int, $after: String, $last: Int, $before: String) {
    retryDecisions(filter: { project: "ordered" }, orderBy: { field: DUE_AT, direction: $direction },
      first: $first, after: $after, last: $last, before: $before) {
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage } edges { node { session { name } } } } }`
  const nameOf = ({ node }: any) => String(node.session.name).split(' ')[0]
  for (const [direction, expected] of [
    ['ASC', ['early', 'late', 'none', 'none']],
    ['DESC', ['late', 'early', 'none', 'none']],
  ] as const) {
    const forward: unknown[] = []
    let after: string | null = null
    do {
      const { data, errors }: any = await server.query(text, { direction, first: 1, after })
      expect(errors).toBeUndefined()
      const { edges, pageInfo } = data.retryDecisions
      forward.push(...edges.map(nameOf))
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null
    } while (after !== null)
    expect([direction, forward]).toEqual([direction, expected])
    const backward: unknown[] = []
    let before: string | null = null
    do {
      const { data, errors }: any = await server.query(text, { direction, last: 1, before })
      expect(errors).toBeUndefined()
      const { edges, pageInfo } = data.retryDecisions
      backward.unshift(...edges.map(nameOf))
      before = pageInfo.hasPreviousPage ? pageInfo.startCursor : null
    } while (before !== null)
    expect([direction, backward]).toEqual([direction, expected])
  }
})

test('handlers, statuses and roles are enums, with the values that are stored', async () => {
  const { id, kernelIds } = await server.factory.session({ status: 'RUNNING', clusterSize: 2 })
  const agentId = await server.factory.agent('enumerated')
  await insertRows(server.db, 'scheduling_history', [
    {
      entity: 'SESSION',
      entity_id: id,
      phase: 'schedule-sessions',
      from_status: 'PENDING',
      to_status: 'SCHEDULED',
      result: 'SUCCESS',
    },
    {
      entity: 'KERNEL',
      entity_id: kernelIds[0]!,
      phase: 'of-another-version',
      from_status: null,
      to_status: 'RUNNING',
      result: 'SUCCESS',
    },
    {
      entity: 'AGENT',
      entity_id: agentId,
      phase: 'watch-agents',
      from_status: 'ALIVE',
      to_status: 'LOST',
      result: 'EXPIRED',
    },
  ])
  const ENTRY = 'schedulingHistory { edges { node { handler phase fromStatus toStatus } } }'
  const { data, errors } = await server.query(
    `query ($id: UUID!) { session(id: $id) { ${ENTRY} kernels { role ${ENTRY} }
      retryPolicy { sources { field } } }
      agents { edges { node { name ${ENTRY} } } }
      __type(name: "SchedulingHistory") { fields { name type { kind ofType { kind name } } } } }`,
    { id },
  )
  expect(errors).toBeUndefined()
  const entryOf = ({ schedulingHistory }: any) => schedulingHistory.edges[0].node
  const agent = data.agents.edges.find((edge: { node: { name: string } }) => edge.node.name === 'enumerated').node
  expect([data.session, data.session.kernels[0], agent].map(entryOf)).toEqual([
    { handler: 'SCHEDULE_SESSIONS', phase: 'schedule-sessions', fromStatus: 'PENDING', toStatus: 'SCHEDULED' },
    { handler: 'OTHER', phase: 'of-another-version', fromStatus: null, toStatus: 'RUNNING' },
    { handler: 'WATCH_AGENTS', phase: 'watch-agents', fromStatus: 'ALIVE', toStatus: 'LOST' },
  ])
  expect(data.session.kernels.map(({ role }: { role: string }) => role)).toEqual(['main', 'sub'])
  expect(data.session.retryPolicy.sources.map(({ field }: { field: string }) => field)).toContain('maxRetries')
  const { type } = data.__type.fields.find(({ name }: { name: string }) => name === 'handler')
  expect(type.ofType).toEqual({ kind: 'ENUM', name: 'SchedulingHandler' })
})

test('further details of the audit log are a JSON value', async () => {
  await server.query('mutation { setQuota(input: { scope: PROJECT, name: "default", maxPending: 9 }) { __typename } }')
  const { data, errors } = await server.query('{ auditLog(first: 1) { edges { node { action data details } } } }')
  expect(errors).toBeUndefined()
  const [{ node }] = data.auditLog.edges
  expect(node).toMatchObject({ action: 'quota.set', data: { name: 'default', after: { maxPending: 9 } } })
  expect(node.data).toEqual(JSON.parse(node.details))
})
