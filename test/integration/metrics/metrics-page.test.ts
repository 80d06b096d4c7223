/** The metrics page: who may read it, its names and its figures. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { databaseOf } from '../../../src/store/prisma.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { sampleIn } from '../../support/servers/metric-value.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

async function scrape(
  from: TestServer,
  token?: string,
): Promise<{ status: number; page: string; type: string | null }> {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
  const response = await fetch(`${from.url}/metrics`, { headers })
  return { status: response.status, page: await response.text(), type: response.headers.get('content-type') }
}

describe('who may read it', () => {
  it.each([
    ['ADMIN', 200],
    ['VIEWER', 403],
    ['METRICS', 200],
    ['MEMBER', 403],
    ['AGENT', 403],
  ] as const)('%s: %i', async (role, status) => {
    const projectId = ['ADMIN', 'AGENT', 'METRICS'].includes(role) ? null : DEFAULT_PROJECT_ID
    expect((await scrape(server, await server.factory.token({ role, projectId }))).status).toBe(status)
  })

  it.each(['ADMIN', 'METRICS'] as const)('not %s of a project: the figures are of all', async (role) => {
    const { status, page } = await scrape(server, await server.factory.token({ role, projectId: DEFAULT_PROJECT_ID }))
    expect({ status, page }).toEqual({ status: 403, page: expect.not.stringContaining('bai_') })
  })

  it('strangers may not, unless it is public', async () => {
    expect((await scrape(server)).status).toBe(401)
    expect((await scrape(server, 'rps_made-up')).status).toBe(401)
    const open = await startGraphQLServer({ metricsPublic: true })
    expect((await scrape(open)).status).toBe(200)
    await open.close()
  })
})

it('has the names that dashboards are built on, before anything has happened', async () => {
  const { page, type } = await scrape(server, server.adminToken)
  expect(type).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(page).toContain('# TYPE bai_session_retry_scheduled_total counter')
  expect(page).toContain('# TYPE bai_session_retry_exhausted_total counter')
  expect(sampleIn(page, 'bai_session_retry_succeeded_total')).toBe(0)
})

it('tells what the database holds', async () => {
  const fresh = await startGraphQLServer()
  const { factory } = fresh
  await factory.session({ status: 'RUNNING' })
  await factory.session({ status: 'PENDING' })
  for (const phase of ['SCHEDULED', 'HELD', 'EXHAUSTED', 'EXHAUSTED'] as const) {
    await factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 }, phase })
  }
  await fresh.db.query(
    `INSERT INTO resubmissions (id, client_key, request_hash, actor, overrides, total, done, refused)
     VALUES (gen_random_uuid(), 'k', '', 'ada', '{}', 700, 500, 3)`,
  )
  const { page } = await scrape(fresh, fresh.adminToken)
  const found = (sample: string) => sampleIn(page, `bai_${sample}`)
  expect(found('database_up')).toBe(1)
  expect(found('session_resubmission_pending')).toBe(197)
  expect([found('sessions_active{status="RUNNING"}'), found('sessions_active{status="PENDING"}')]).toEqual([1, 1])
  expect(found('sessions_active{status="ERROR"}')).toBeUndefined()
  expect(found('agents{status="ALIVE"}')).toBe(1)
  expect([found('session_retry_queue{hold="NONE"}'), found('session_retry_queue{hold="QUOTA"}')]).toEqual([1, 1])
  expect(found('session_retry_decisions{phase="EXHAUSTED"}')).toBe(2)
  expect(found('session_retry_overdue_seconds')).toBe(0)
  await fresh.close()
})

it('counts requests by route, and whatever clients make up as one', async () => {
  await fetch(`${server.url}/made/up/by/somebody`)
  await server.query('{ __typename }')
  const { page } = await scrape(server, server.adminToken)
  const of = (labels: string) => sampleIn(page, `bai_http_request_seconds_count{${labels}}`)
  expect(of('route="other",method="GET",status="404"')).toBe(1)
  expect(of('route="/graphql",method="POST",status="200"')).toBeGreaterThan(0)
})

it('counts subscriptions while they last', async () => {
  const { subscriber, unsubscribe } = server.bus.subscribe({})
  expect(sampleIn((await scrape(server, server.adminToken)).page, 'bai_subscriptions')).toBe(1)
  unsubscribe()
  expect(sampleIn((await scrape(server, server.adminToken)).page, 'bai_subscriptions')).toBe(0)
  expect(subscriber).toBeDefined()
})

it('without a database it still has what was counted, and says that the rest is missing', async () => {
  const lonely = await startGraphQLServer({ metricsPublic: true })
  lonely.metrics.retries.dispatched.inc(3)
  await lonely.database.db.close()
  await databaseOf(lonely.prisma).close()
  const { status, page } = await scrape(lonely)
  expect(status).toBe(200)
  expect(sampleIn(page, 'bai_database_up')).toBe(0)
  expect(sampleIn(page, 'bai_session_retry_dispatched_total')).toBe(3)
  await lonely.server.close()
  await lonely.relay.stop()
  lonely.bus.close()
})

it('tells of deployments and routes what does not stand as it should', async () => {
  const fresh = await startGraphQLServer()
  const { factory } = fresh
  const short = await factory.deployment({ replicas: 3, status: 'SCALING' })
  await factory.route(short)
  await factory.route(short, { status: 'UNHEALTHY' })
  await factory.route(short, { status: 'TERMINATED' })
  await factory.route(await factory.deployment({ replicas: 0 }))
  await factory.deployment({ replicas: 5, status: 'DESTROYING' })
  await factory.deployment({ replicas: 5, status: 'DESTROYED' })
  const { page } = await scrape(fresh, fresh.adminToken)
  expect(sampleIn(page, 'bai_deployments{status="SCALING"}')).toBe(1)
  expect(sampleIn(page, 'bai_deployments{status="DESTROYED"}')).toBeUndefined()
  expect(sampleIn(page, 'bai_routes{status="HEALTHY"}')).toBe(2)
  expect(sampleIn(page, 'bai_routes{status="UNHEALTHY"}')).toBe(1)
  expect(sampleIn(page, 'bai_routes{status="TERMINATED"}')).toBeUndefined()
  expect(sampleIn(page, 'bai_deployment_replicas_missing')).toBe(2)
  await fresh.close()
})

it('counts each route and method of REST under its own name, and what is none as other', async () => {
  const headers = { authorization: `Bearer ${server.adminToken}` }
  const document = (await (await fetch(`${server.url}/v2/openapi.json`)).json()) as { paths: Record<string, object> }
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ path, method: method.toUpperCase() })),
  )
  expect(routes.map(({ method }) => method)).toContain('PATCH')
  const requests = [{ path: 'other', method: 'other' }]
  const streams: string[] = []
  for (const { path, method } of routes) {
    const address = `${server.url}${path.replaceAll(/\{\w+\}/g, '00000000-0000-7000-8000-00000000abcd')}`
    const { headers: answered, body } = await fetch(address, { method, headers })
    // A stream ends when it is left.
    const streaming = answered.get('content-type')?.startsWith('text/event-stream')
    await (streaming ? body!.cancel() : body?.pipeTo(new WritableStream()))
    if (streaming) streams.push(path)
    else requests.push({ path, method })
  }
  await (await fetch(`${server.url}/v2/made/up`, { method: 'PROPFIND', headers })).arrayBuffer()
  expect(streams).toEqual(['/v2/events'])
  const areCounted = async () => {
    const { page } = await scrape(server, server.adminToken)
    for (const { path, method } of requests) {
      expect(page).toContain(`\nbai_http_request_seconds_count{route="${path}",method="${method}"`)
    }
    for (const path of streams) expect(page).toContain(`\nbai_http_streams_total{route="${path}"`)
  }
  await vi.waitFor(areCounted, { timeout: 120_000, interval: 100 })
})
