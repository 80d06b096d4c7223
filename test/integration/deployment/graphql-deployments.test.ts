/** Mutations, queries and subscriptions on deployments. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { removeOldRevisions } from '../../../src/store/sql/retention.sql.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { writeDeploymentEvents, writeEvents } from '../../support/database/outbox.ts'
import { recordStatements } from '../../support/database/record-statements.ts'

let server: TestServer
const connections: { close(): unknown }[] = []

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.close()
})
afterAll(() => server?.close())

const SHOWN = `deploymentId name status statusReason replicas minHealthy maxSurge createdBy project { name }
  revision { number resourceGroup image command environ { name value } resourceSlots { slot amount } priority
    labels { key value } agentLabels { key value } portVariable startTimeout evictAfter drain
    healthCheck { path interval timeout healthyThreshold unhealthyThreshold initialDelay staleAfter } }`

async function mutate(name: string, input: object, selection = SHOWN): Promise<any> {
  const type = name[0]!.toUpperCase() + name.slice(1)
  const more = name === 'createDeployment' ? 'created' : ''
  const text = `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename
    ... on ${type}Payload { ${more} deployment { ${selection} } } ... on ValidationError { issues { path } }
    ... on Error { code message } } }`
  const { data, errors } = await server.query(text, { input })
  expect(errors).toBeUndefined()
  return data[name]
}

async function read(text: string, variables: object = {}): Promise<any> {
  const { data, errors } = await server.query(text, variables)
  expect(errors).toBeUndefined()
  return data
}

const API = {
  name: 'api',
  command: ['serve'],
  replicas: 4,
  environ: [{ name: 'MODE', value: 'live' }],
  resourceSlots: [{ slot: 'mem', amount: '1g' }],
  labels: [{ key: 'team', value: 'a' }],
  healthCheck: { path: '/healthz', interval: 1.5 },
  creationId: 'api-1',
}

describe('mutations', () => {
  test('create, scale, update and destroy, each with the resulting deployment', async () => {
    const created = await mutate('createDeployment', API)
    expect(created).toMatchObject({ __typename: 'CreateDeploymentPayload', created: true })
    const { deploymentId } = created.deployment
    expect(created.deployment).toEqual({
      deploymentId,
      name: 'api',
      status: 'PENDING',
      statusReason: null,
      replicas: 4,
      minHealthy: 3,
      maxSurge: 1,
      createdBy: 'ADMIN-token',
      project: { name: 'default' },
      revision: {
        number: 1,
        resourceGroup: 'default',
        image: null,
        command: ['serve'],
        environ: [{ name: 'MODE', value: 'live' }],
        resourceSlots: [
          { slot: 'cpu', amount: '1' },
          { slot: 'mem', amount: '1073741824' },
        ],
        priority: 10,
        labels: [{ key: 'team', value: 'a' }],
        agentLabels: [],
        portVariable: 'PORT',
        startTimeout: 300,
        evictAfter: 10,
        drain: 2,
        healthCheck: {
          path: '/healthz',
          interval: 1.5,
          timeout: 2,
          healthyThreshold: 1,
          unhealthyThreshold: 3,
          initialDelay: 0,
          staleAfter: 10.5,
        },
      },
    })
    expect(await mutate('createDeployment', API)).toMatchObject({ created: false, deployment: { name: 'api' } })
    for (const other of [
      { replicas: 2 },
      { command: ['x'] },
      { secretEnviron: [{ name: 'KEY', value: 'k' }] },
      { labels: [] },
    ]) {
      expect(await mutate('createDeployment', { ...API, ...other })).toMatchObject({
        __typename: 'ConflictError',
        code: 'CREATION_ID_REUSED',
        message: expect.stringContaining(deploymentId) as string,
      })
    }
    expect(await mutate('createDeployment', { name: 'api', command: ['x'] })).toMatchObject({
      __typename: 'ConflictError',
      code: 'NAME_TAKEN',
    })

    expect(await mutate('scaleDeployment', { deploymentId, replicas: 2, minHealthy: 1 })).toMatchObject({
      __typename: 'ScaleDeploymentPayload',
      deployment: { replicas: 2, minHealthy: 1, maxSurge: 1 },
    })
    const updated = await mutate('updateDeployment', { deploymentId, image: 'node', healthCheck: { timeout: 0.5 } })
    expect(updated.deployment.revision).toMatchObject({
      number: 2,
      image: 'node',
      healthCheck: { path: '/healthz', interval: 1.5, timeout: 0.5, staleAfter: 6 },
    })
    expect(await mutate('updateDeployment', { deploymentId, image: null })).toMatchObject({
      deployment: { revision: { number: 3, image: null } },
    })
    expect(await mutate('destroyDeployment', { deploymentId, reason: 'enough' })).toMatchObject({
      __typename: 'DestroyDeploymentPayload',
      deployment: { status: 'DESTROYING', statusReason: 'enough' },
    })
    for (const name of ['scaleDeployment', 'updateDeployment']) {
      expect(await mutate(name, { deploymentId })).toMatchObject({
        __typename: 'InvalidStateError',
        code: 'DEPLOYMENT_DESTROYED',
      })
    }
    expect(await mutate('destroyDeployment', { deploymentId: randomUUID() })).toMatchObject({
      __typename: 'NotFoundError',
      code: 'DEPLOYMENT_NOT_FOUND',
    })
  })

  test('of one request see the changes of those before them', async () => {
    const { id } = await server.factory.deployment()
    const data = await read(
      `mutation ($id: UUID!) {
        a: scaleDeployment(input: { deploymentId: $id, replicas: 2 }) { ... on ScaleDeploymentPayload { deployment { replicas } } }
        b: scaleDeployment(input: { deploymentId: $id, replicas: 3 }) { ... on ScaleDeploymentPayload { deployment { replicas } } } }`,
      { id },
    )
    expect(data).toEqual({ a: { deployment: { replicas: 2 } }, b: { deployment: { replicas: 3 } } })
  })
})

const ROUTES = `totalCount pageInfo { hasNextPage endCursor } edges { node { routeId status host port
  session { sessionId route { routeId } } deployment { name } revision { number } schedulingHistory { edges { node { result } } } } }`

describe('a deployment', () => {
  test('shows its routes, counts, endpoints, revisions and history', async () => {
    const web = await server.factory.deployment({ name: 'shown', replicas: 2 })
    const gone = await server.factory.route(web, { status: 'TERMINATED' })
    const healthy = await server.factory.route(web, { host: '10.0.0.1', port: 9_001 })
    const six = await server.factory.route(web, { host: 'fd00::1', port: 9_002 })
    const fresh = await server.factory.route(web, { status: 'PROVISIONING' })
    // Healthy, but not told to service discovery yet.
    const unpublished = await server.factory.route(web, { published: false })
    for (const [entity, id, result] of [
      ['DEPLOYMENT', web.id, 'SUCCESS'],
      ['ROUTE', healthy.id, 'STALE'],
    ])
      await server.db.query(
        `INSERT INTO scheduling_history (entity, entity_id, phase, result) VALUES ($1, $2, 'p', $3)`,
        [entity, id, result],
      )
    const { deployment } = await read(
      `query ($id: UUID!) { deployment(id: $id) { id name healthyReplicas routeCounts { status count }
        endpoints { url host port route { routeId } } revisions { totalCount edges { node { number command } } }
        schedulingHistory { edges { node { phase result } } }
        routes { ${ROUTES} } healthy: routes(status: [HEALTHY], first: 2) { ${ROUTES} } none: routes(status: []) { totalCount } } }`,
      { id: web.id },
    )
    expect(deployment).toMatchObject({
      name: 'shown',
      healthyReplicas: 3,
      routeCounts: [
        { status: 'PROVISIONING', count: 1 },
        { status: 'HEALTHY', count: 3 },
        { status: 'TERMINATED', count: 1 },
      ],
      endpoints: [
        { url: 'http://10.0.0.1:9001', host: '10.0.0.1', port: 9_001, route: { routeId: healthy.id } },
        { url: 'http://[fd00::1]:9002', host: 'fd00::1', port: 9_002, route: { routeId: six.id } },
      ],
      revisions: { totalCount: 1, edges: [{ node: { number: 1, command: ['serve'] } }] },
      schedulingHistory: { edges: [{ node: { phase: 'p', result: 'SUCCESS' } }] },
      none: { totalCount: 0 },
    })
    const ids = ({ edges }: any) => edges.map(({ node }: any) => node.routeId)
    expect(ids(deployment.routes)).toEqual([unpublished, fresh, six, healthy, gone].map(({ id }) => id))
    expect(deployment.routes.totalCount).toBe(5)
    expect(deployment.routes.edges[3].node).toMatchObject({
      deployment: { name: 'shown' },
      revision: { number: 1 },
      session: { sessionId: healthy.session.id, route: { routeId: healthy.id } },
      schedulingHistory: { edges: [{ node: { result: 'STALE' } }] },
    })
    expect(ids(deployment.healthy)).toEqual([unpublished.id, six.id])
    expect(deployment.healthy).toMatchObject({ totalCount: 3, pageInfo: { hasNextPage: true } })
    const next = await read(
      `query ($id: UUID!, $after: String) { deployment(id: $id) { routes(status: [HEALTHY], first: 2, after: $after) { ${ROUTES} } } }`,
      { id: web.id, after: deployment.healthy.pageInfo.endCursor },
    )
    expect(ids(next.deployment.routes)).toEqual([healthy.id])
    expect(next.deployment.routes.pageInfo.hasNextPage).toBe(false)
    const { node } = await read('query ($id: ID!) { node(id: $id) { ... on Deployment { name } } }', {
      id: deployment.id,
    })
    expect(node).toEqual({ name: 'shown' })
  })

  test('costs as many statements among twenty as alone', async () => {
    for (let n = 0; n < 20; n++) {
      const one = await server.factory.deployment({ name: `many-${n}` })
      await server.factory.route(one)
    }
    const ask = async (first: number) => {
      const { result, statements } = await recordStatements(() =>
        read(
          `query ($first: Int) { deployments(first: $first, filter: { name: { startsWith: "many-" } }) { edges { node {
            name healthyReplicas revision { command } endpoints { url } project { name } revisions { edges { node { number } } }
            routes { totalCount edges { node { status session { status route { port } } deployment { name } } } }
            schedulingHistory { totalCount edges { node { phase } } } } } } }`,
          { first },
        ),
      )
      expect(result.deployments.edges).toHaveLength(first)
      expect(result.deployments.edges[0].node.routes.edges[0].node.session.route.port).toBe(8_080)
      return statements.filter((sql) => !/session_events|api_tokens/.test(sql)).length
    }
    const alone = await ask(1)
    expect(await ask(20)).toBe(alone)
  })
})

test('revisions that retention has removed are not counted', async () => {
  const projectId = await server.factory.project('revised')
  const { id: deploymentId } = await server.factory.deployment({ projectId, name: 'revised' })
  for (const command of [['second'], ['third']]) await mutate('updateDeployment', { deploymentId, command })
  const before = new Date(Date.now() + 60_000)
  expect(await removeOldRevisions(server.db, { projectId, before }, 1)).toBe(1)
  const { deployment } = await read(
    'query ($id: UUID!) { deployment(id: $id) { revisions { totalCount edges { node { number } } } } }',
    { id: deploymentId },
  )
  expect(deployment.revisions).toEqual({ totalCount: 2, edges: [{ node: { number: 2 } }, { node: { number: 3 } }] })
})

test('deployments are listed by filter and order, page by page', async () => {
  const projectId = await server.factory.project('listed')
  const at = (n: number) => new Date(Date.UTC(2026, 0, n))
  await server.factory.deployment({ projectId, name: 'b', createdAt: at(1) })
  await server.factory.deployment({ projectId, name: 'c', createdAt: at(2), status: 'DESTROYED' })
  await server.factory.deployment({ projectId, name: 'a', createdAt: at(3), status: 'SCALING' })
  const list = async (rest: string) => {
    const { deployments } = await read(
      `{ deployments(${rest}) { totalCount pageInfo { hasNextPage endCursor } edges { node { name } } } }`,
    )
    return { ...deployments, names: deployments.edges.map(({ node }: any) => node.name).join('') }
  }
  expect((await list('filter: { project: "listed" }')).names).toBe('acb')
  expect((await list('filter: { project: "listed" }, orderBy: { field: NAME }')).names).toBe('abc')
  expect((await list('filter: { project: "listed", status: [SCALING, READY] }')).names).toBe('ab')
  expect((await list('filter: { project: "listed", createdAt: { gt: "2026-01-02T00:00:00Z" } }')).names).toBe('a')
  const first = await list('filter: { project: "listed" }, first: 2')
  expect(first).toMatchObject({ names: 'ac', totalCount: 3, pageInfo: { hasNextPage: true } })
  expect((await list(`filter: { project: "listed" }, after: "${first.pageInfo.endCursor}"`)).names).toBe('b')
})

describe('deploymentEvents', () => {
  const EVENTS = `subscription ($filter: DeploymentEventFilter, $after: String) { deploymentEvents(filter: $filter, after: $after) {
    cursor type deploymentId deployment { name replicas } routeId route { status } sessionId fromStatus toStatus fromReplicas
    toReplicas fromRevision revision host port reason } }`

  function open() {
    const connection = connect(server.url, server.adminToken)
    connections.push(connection)
    return connection
  }

  /** Live subscriptions begin when the server has them, which it does not tell. */
  async function subscribed(count: number) {
    await vi.waitFor(() => expect(server.bus.subscribers).toBe(count), { timeout: 120_000, interval: 5 })
  }

  test('deliver the events of a deployment and its routes, and start behind a cursor', async () => {
    const web = await server.factory.deployment({ name: 'followed' })
    const other = await server.factory.deployment()
    const route = await server.factory.route(web)
    const { deployment } = await mutate('createDeployment', { name: 'own', command: ['x'], replicas: 3 })
    const live = open().subscribe(EVENTS, { filter: { deploymentId: web.id } })
    const heard = live.take(3)
    await subscribed(1)
    await writeEvents(server.db, [{ type: 'session.created', sessionId: route.session.id }])
    await writeDeploymentEvents(server.db, [
      { type: 'deployment.scaled', deploymentId: other.id, data: { from: 1, to: 2 } },
      { type: 'deployment.updated', deploymentId: web.id, data: { from: 1, to: 2 } },
      {
        type: 'route.status_changed',
        deploymentId: web.id,
        routeId: route.id,
        data: {
          from: 'DEGRADED',
          to: 'HEALTHY',
          sessionId: route.session.id,
          revision: 1,
          host: '127.0.0.1',
          port: 8_080,
        },
      },
    ])
    await mutate('destroyDeployment', { deploymentId: web.id, reason: 'over' })
    server.wake.wake('events')
    const events = (await heard).map(({ deploymentEvents }) => deploymentEvents)
    expect(events).toMatchObject([
      { type: 'UPDATED', fromRevision: 1, revision: 2, fromReplicas: null, fromStatus: null, routeId: null },
      {
        type: 'ROUTE_STATUS_CHANGED',
        deployment: { name: 'followed' },
        routeId: route.id,
        route: { status: 'HEALTHY' },
        sessionId: route.session.id,
        fromStatus: 'DEGRADED',
        toStatus: 'HEALTHY',
        revision: 1,
        host: '127.0.0.1',
        port: 8_080,
      },
      { type: 'STATUS_CHANGED', fromStatus: 'READY', toStatus: 'DESTROYING', reason: 'over', toReplicas: null },
    ])
    const behind = open().subscribe(EVENTS, { filter: { deploymentId: web.id }, after: events[0].cursor })
    const [next] = await behind.take(1)
    expect(next.deploymentEvents).toEqual(events[1])
    const typed = open().subscribe(EVENTS, {
      filter: { deploymentId: deployment.deploymentId, types: ['CREATED'] },
      after: btoa('0:0').replaceAll('=', ''),
    })
    expect((await typed.take(1))[0].deploymentEvents).toMatchObject({
      type: 'CREATED',
      toReplicas: 3,
      revision: 1,
      fromReplicas: null,
    })
  })

  test('are none of sessionEvents and retryEvents, which are none of theirs', async () => {
    const web = await server.factory.deployment()
    const session = await server.factory.session()
    const sessions = open().subscribe('subscription { sessionEvents { type sessionId } }')
    const deployments = open().subscribe('subscription { deploymentEvents { type deploymentId } }')
    const first = [sessions.take(1), deployments.take(1)]
    await subscribed(2)
    await writeDeploymentEvents(server.db, [
      { type: 'deployment.scaled', deploymentId: web.id, data: { from: 1, to: 2 } },
    ])
    await writeEvents(server.db, [
      { type: 'session.created', sessionId: session.id, data: { from: null, to: 'PENDING' } },
    ])
    server.wake.wake('events')
    const [[ofSession], [ofDeployment]] = (await Promise.all(first)) as [any[], any[]]
    expect(ofSession.sessionEvents).toEqual({ type: 'CREATED', sessionId: session.id })
    expect(ofDeployment.deploymentEvents).toEqual({ type: 'SCALED', deploymentId: web.id })
  })
})
