/** The metrics page: who may read it, its names and its figures, and the metrics of retries. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { cancelRetry } from '../../src/services/retry/change-retry.ts'
import { setRetrySwitch } from '../../src/services/retry/retry-switches.ts'
import { databaseOf } from '../../src/store/prisma.ts'
import { startGraphQLServer, type TestServer } from '../support/servers/graphql-server.ts'
import { metricValue, sampleIn } from '../support/servers/metric-value.ts'
import { DEFAULT_PROJECT_ID, testServer } from '../support/servers/test-server.ts'
import { failWith, sessionIn } from '../support/sessions/drive-session.ts'
import { dueRetries } from '../support/sessions/due-retries.ts'
import { advanceClock } from '../support/sessions/advance-clock.ts'
import { useScheduling } from '../support/sessions/scheduling-fixture.ts'

describe('the metrics page', () => {
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

  it('shows the figures of the database', async () => {
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

  it('without a database it still has its counters, and marks the rest as missing', async () => {
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

  it('shows deployments and routes that differ from their target', async () => {
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

  it('counts each REST route and method under its own name, and unknown ones as other', async () => {
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
})

describe('metrics of retries', () => {
  const given = useScheduling()
  const RETRIED = { retryPolicy: { maxRetries: 1, retryDelay: 1, jitter: 'NONE' } } as const

  const counted = (sample: string) => metricValue(given.server.metrics.registry, `bai_session_retry_${sample}`)
  const nonzero = (cause: string) => `{cause="${cause}"}`

  /** The retry of what has failed, run until its own exit. */
  async function retryEnds(exitCode: number): Promise<void> {
    const { server, agent, db } = given
    await advanceClock(db, 5)
    await server.run('dispatch-retries', 'schedule-sessions')
    await agent.comply()
    await server.run('promote-to-prepared')
    await agent.comply()
    await server.run('promote-to-running')
    await failWith(server, agent, exitCode)
  }

  it('counts scheduled, dispatched, exhausted and successful retries', async () => {
    const { server, agent } = given
    await sessionIn(server, agent, 'RUNNING', RETRIED)
    await failWith(server, agent, 1)
    expect(await counted(`scheduled_total${nonzero('KERNEL_NONZERO_EXIT')}`)).toBe(1)
    expect(await counted('dispatched_total')).toBe(0)
    await retryEnds(2)
    expect(await counted('dispatched_total')).toBe(1)
    expect(await counted(`exhausted_total${nonzero('KERNEL_NONZERO_EXIT')}`)).toBe(1)
    expect(await counted('dispatch_lag_seconds_count')).toBe(1)
    expect(await counted('dispatch_lag_seconds_sum')).toBeGreaterThan(3.5)
    expect(await counted('succeeded_total')).toBe(0)

    await sessionIn(server, agent, 'RUNNING', RETRIED)
    await failWith(server, agent, 0)
    expect(await counted('succeeded_total'), 'a first attempt is no retry').toBe(0)
    await sessionIn(server, agent, 'RUNNING', RETRIED)
    await failWith(server, agent, 1)
    await retryEnds(0)
    expect(await counted('succeeded_total')).toBe(1)
  })

  it('counts a hold once per reason, and cancellations by people', async () => {
    const { server, db } = given
    const [id] = await dueRetries(server.context, { count: 2 })
    await setRetrySwitch(server.context, { scope: 'CLUSTER', disabled: true })
    for (let look = 0; look < 3; look++) {
      await server.run('dispatch-retries')
      await advanceClock(db, 1_000)
    }
    expect(await counted('held_total{reason="DISABLED"}')).toBe(2)
    await setRetrySwitch(server.context, {
      scope: 'CLUSTER',
      disabled: false,
      rateLimit: { perSecond: 0.001, burst: 1 },
    })
    await server.run('dispatch-retries')
    expect(await counted('held_total{reason="RATE_LIMITED"}')).toBe(1)
    expect(await counted('dispatch_lag_seconds_count'), 'what was held is not late').toBe(0)
    const [held] = await given.sql(`SELECT session_id AS id FROM retry_decisions WHERE phase = 'HELD'`)
    await cancelRetry(server.context, { sessionId: held!.id as string })
    expect(await counted('cancelled_total')).toBe(1)
    expect(id).toBeDefined()
  })

  it('every server counts for itself', async () => {
    const another = testServer(given.db)
    await dueRetries(given.server.context, { count: 3 })
    await another.run('dispatch-retries')
    expect(await counted('dispatched_total')).toBe(0)
    expect(await metricValue(another.metrics.registry, 'bai_session_retry_dispatched_total')).toBe(3)
  })

  it('looks of services are counted and timed by how they ended', async () => {
    const { server } = given
    await dueRetries(server.context, { count: 3 })
    await server.run('dispatch-retries', 'dispatch-retries')
    const of = (sample: string) => metricValue(server.metrics.registry, sample)
    expect(await of('bai_scheduler_run_seconds_count{service="dispatch-retries",outcome="done"}')).toBe(1)
    expect(await of('bai_scheduler_run_seconds_count{service="dispatch-retries",outcome="nothing"}')).toBe(1)
    expect(await of('bai_scheduler_done_total{service="dispatch-retries"}')).toBe(3)
  })
})
