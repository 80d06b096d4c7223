/** Plans of the statements on sessions, deployments and the scheduler: their cost follows the living rows. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { statementsWithKeptPlans } from '../../../src/store/database.ts'
import { setQuota } from '../../../src/services/quota.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { analysedPlanOf, genericPlanOf, planOf, readWhole, rowsRead } from '../../support/database/plans.ts'
import { recordQueries } from '../../support/database/record-statements.ts'
import { recordedDatabase, type RecordedStatement } from '../../support/database/recorded-database.ts'
import { deploymentServer, type DeploymentServer } from '../../support/servers/deployment-server.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { ALL_SERVICES, type TestServer as ServicesServer, testServer } from '../../support/servers/test-server.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { addManyChains, withoutTriggers } from '../../support/sessions/many-chains.ts'
import { addManyDeployments } from '../../support/sessions/many-deployments.ts'
import { addRowsOfPeople, addRowsOfSessions } from '../../support/sessions/leftover-rows.ts'

describe('plans on sessions', () => {
  const SESSIONS = 40_000
  const RETRIED = 40
  const HELD = RETRIED / 2
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer()
    const { db } = server
    await addManyChains(db, SESSIONS, 3)
    await withoutTriggers(
      db,
      `UPDATE sessions SET retry_count = 7, max_retries = 9 WHERE id IN (
       SELECT id FROM sessions WHERE status = 'ERROR' ORDER BY created_at LIMIT ${RETRIED})`,
    )
    await withoutTriggers(
      db,
      `UPDATE retry_decisions SET phase = 'SCHEDULED', due_at = now(), ready_at = now(), child_session_id = NULL
     WHERE session_id IN (SELECT id FROM sessions WHERE retry_count = 7)`,
    )
    await withoutTriggers(
      db,
      `UPDATE sessions SET attempt = attempt + 7, epoch = 2 WHERE id IN (
       SELECT id FROM sessions WHERE status = 'ERROR' AND attempt > 1 ORDER BY created_at LIMIT ${RETRIED})`,
    )
    await withoutTriggers(
      db,
      `UPDATE retry_decisions SET phase = 'HELD', hold_reason = 'QUOTA' WHERE session_id IN (
       SELECT id FROM sessions WHERE retry_count = 7 ORDER BY id LIMIT ${HELD})`,
    )
    for (let n = 0; n < 5; n++) await server.factory.session({ status: 'PENDING' })
    await db.query('VACUUM ANALYZE sessions, retry_decisions')
  })
  afterAll(() => server?.close())

  /** Runs a query, and then the plans of all that it asked of tables that grow. */
  async function plansOf(query: string): Promise<{ data: any; whole: string[]; rows: number; indexes: Set<string> }> {
    const { result, queries } = await recordQueries(() => server.query(query))
    expect(result.errors).toBeUndefined()
    const asked = queries.filter(({ text }) => /FROM "public"\."(sessions|retry_decisions)"/.test(text))
    const nodes = []
    for (const { text, values } of asked) nodes.push(...(await analysedPlanOf(server.db, { text, values })))
    return {
      data: result.data,
      whole: readWhole(nodes),
      rows: rowsRead(nodes),
      indexes: new Set(nodes.flatMap((node) => node['Index Name'] ?? [])),
    }
  }

  test('statements whose plans are kept find their rows by indexes, whatever their values are', async () => {
    await withoutTriggers(
      server.db,
      `INSERT INTO kernels (id, session_id, role, index, resource_slots, status, confirmed_gone)
       SELECT gen_random_uuid(), id, 'main', 2, '{}', 'TERMINATED', true FROM sessions`,
    )
    await server.db.query('VACUUM ANALYZE kernels')
    const statements = statementsWithKeptPlans()
    expect(statements.length).toBeGreaterThan(20)
    const growing = new Set(['sessions', 'chains', 'kernels', 'retry_decisions', 'session_events'])
    const whole: Record<string, string[]> = {}
    for (const text of statements) {
      const read = readWhole(await genericPlanOf(server.db, text)).filter((table) => growing.has(table))
      if (read.length > 0) whole[text.trim().slice(0, 300)] = read
    }
    expect(whole).toEqual({})
  })

  const LIVE = SESSIONS / 400

  describe.each([
    ['PENDING', '[PENDING]', 5, /^sessions_(active|demands)$/],
    ['RUNNING', '[RUNNING]', LIVE, /^sessions_active$/],
    ['several', '[PENDING, SCHEDULED, PREPARING, RUNNING]', LIVE + 5, /^sessions_active$/],
  ])('sessions that are %s', (_name, status, about, index) => {
    test('a page and its count read no more than those', async () => {
      const { data, whole, rows, indexes } = await plansOf(
        `{ sessions(first: 20, filter: { status: ${status} }) { totalCount edges { node { sessionId status } } } }`,
      )
      expect(data.sessions.totalCount).toBeGreaterThan(about / 2)
      expect(whole).toEqual([])
      expect([...indexes].filter((name) => index.test(name))).not.toEqual([])
      expect(rows).toBeLessThanOrEqual(4 * about)
    })
  })

  test.each([
    ['sessions', '{ status: [TERMINATED] }'],
    ['sessions', '{ name: { contains: "common" } }'],
    ['sessions', '{}'],
    ['retryDecisions', '{}'],
  ])('%s by %s: counting stops at 10,000, and reports that', async (field, filter) => {
    const { data, rows } = await plansOf(`{ ${field}(first: 0, filter: ${filter}) { totalCount totalCountIsExact } }`)
    expect(data[field]).toEqual({ totalCount: 10_000, totalCountIsExact: false })
    expect(rows).toBeLessThan(15_000)
  })

  test('a complete count is marked as complete', async () => {
    const { data } = await plansOf('{ sessions(first: 0, filter: { status: [RUNNING] }) { totalCountIsExact } }')
    expect(data.sessions).toEqual({ totalCountIsExact: true })
  })

  test('decisions that wait: a page and its count read no more than those', async () => {
    const { data, whole, rows, indexes } = await plansOf(
      `{ retryDecisions(first: 20, filter: { phase: [SCHEDULED, HELD] }) { totalCount edges { node { phase } } } }`,
    )
    expect(data.retryDecisions.totalCount).toBe(RETRIED)
    expect(whole).toEqual([])
    // Each of them has what waits, and no more.
    expect(
      [...indexes].filter(
        (index) => !['retry_decisions_queue', 'retry_decisions_due', 'retry_decisions_held'].includes(index),
      ),
    ).toEqual([])
    expect(indexes.size).toBeGreaterThan(0)
    expect(rows).toBeLessThanOrEqual(4 * RETRIED)
  })

  test.each([
    ['retryCount', '{ retryCount: { min: 5 } }', 'sessions_retried'],
    ['retryCount, exactly', '{ retryCount: { min: 7, max: 7 } }', 'sessions_retried'],
    ['attempt', '{ attempt: { gte: 7 } }', 'sessions_later_attempts'],
    ['epoch', '{ epoch: { gt: 1 } }', 'sessions_later_epochs'],
    ['maxRetries', '{ maxRetries: { min: 3 } }', 'sessions_with_retries'],
  ])('sessions by %s', async (_what, filter, index) => {
    const { data, whole, rows, indexes } = await plansOf(
      `{ sessions(first: 20, filter: ${filter}) { totalCount edges { node { sessionId } } } }`,
    )
    expect(data.sessions.totalCount).toBe(RETRIED)
    expect(whole).toEqual([])
    expect(indexes).toContain(index)
    expect(rows).toBeLessThanOrEqual(4 * RETRIED)
  })

  test.each([
    ['end', '{ project: "many-1", terminatedAt: { gte: $from, lt: $to } }'],
    ['start', '{ project: "many-1", startedAt: { gte: $from, lt: $to } }'],
  ])('sessions by their %s: a page and its count read about those', async (_what, filter) => {
    const { rows: found } = await server.db.query<{ to: Date; from: Date }>(
      `SELECT max(terminated_at) - interval '1 hour' AS to, max(terminated_at) - interval '6 hours' AS from FROM sessions`,
    )
    const { from, to } = found[0]!
    const between = filter.replace('$from', `"${from.toISOString()}"`).replace('$to', `"${to.toISOString()}"`)
    const { data, rows, whole } = await plansOf(
      `{ sessions(first: 20, filter: ${between}) { totalCount edges { node { sessionId } } } }`,
    )
    expect(data.sessions.totalCount).toBeGreaterThan(20)
    expect(whole).toEqual([])
    expect(rows).toBeLessThan(SESSIONS / 3)
  })

  test('sessions by the reason of a hold', async () => {
    const { data, whole, rows } = await plansOf(
      '{ sessions(first: 20, filter: { holdReason: [QUOTA] }) { totalCount edges { node { sessionId } } } }',
    )
    expect(data.sessions.totalCount).toBe(HELD)
    expect(whole).toEqual([])
    expect(rows).toBeLessThanOrEqual(8 * RETRIED)
  })

  test('sessions by parent', async () => {
    const { rows: found } = await server.db.query<{ parent: string }>(
      'SELECT parent_session_id AS parent FROM sessions WHERE parent_session_id IS NOT NULL LIMIT 1',
    )
    const { data, whole, rows } = await plansOf(
      `{ sessions(filter: { parentSessionId: "${found[0]!.parent}" }) { totalCount edges { node { sessionId } } } }`,
    )
    expect(data.sessions.totalCount).toBe(1)
    expect(whole).toEqual([])
    expect(rows).toBeLessThanOrEqual(4)
  })
})

describe('plans on deployments', () => {
  const MANY = { living: 120, routes: 8, ended: 3, destroyed: 4_500 }
  const LIVE_ROUTES = MANY.living * MANY.routes
  const GROWING = new Set([
    'sessions',
    'kernels',
    'routes',
    'deployments',
    'deployment_revisions',
    'scheduling_history',
  ])

  let database: TestDatabase
  let server: DeploymentServer
  let statements: Map<string, RecordedStatement>

  beforeAll(async () => {
    database = await testDatabase()
    await addManyDeployments(database.db, MANY)
    const recorded = recordedDatabase(database.db)
    statements = recorded.statements
    server = deploymentServer(recorded.db, { watchedMs: 3_600_000, ask: () => Promise.resolve(null) })
  })
  afterAll(() => database?.close())

  function growing(tables: readonly string[]): string[] {
    return tables.filter((table) => GROWING.has(table))
  }

  test('a pass over settled deployments reads only living rows', async () => {
    expect(await server.run('drive-deployments', 'drive-routes', 'check-route-health')).toEqual([0, 0, 0])
    const read = []
    for (const statement of statements.values()) {
      const nodes = await analysedPlanOf(database.db, statement)
      read.push({ whole: growing(readWhole(nodes)), rows: rowsRead(nodes), text: statement.text })
    }
    expect(read.filter(({ whole }) => whole.length > 0)).toEqual([])
    // Each route with its session and its revision.
    expect(read.filter(({ rows }) => rows > 3 * LIVE_ROUTES)).toEqual([])
    expect(read.length).toBeGreaterThan(12)
  })

  test('when the next is due is known without the healthy ones', async () => {
    const outlook = [...statements.values()].find(
      ({ text }) => text.includes('drain_ms') && text.includes('min(due.at)'),
    )!
    expect(rowsRead(await analysedPlanOf(database.db, outlook))).toBeLessThan(10)
  })

  test('whatever moves them finds its rows by an index', async () => {
    const { db } = database
    await db.query(`UPDATE deployments SET replicas = replicas + 1 WHERE id IN (${some(0)})`)
    await db.query(`UPDATE deployments SET replicas = replicas - 2 WHERE id IN (${some(10)})`)
    await db.query(`UPDATE deployments SET status = 'DESTROYING' WHERE id IN (${some(20)})`)
    await db.query(`UPDATE deployments SET status = 'PENDING' WHERE id IN (${some(30)})`)
    await db.query(
      `UPDATE routes SET next_check_at = now() WHERE id IN (SELECT id FROM routes WHERE status = 'HEALTHY' LIMIT 50)`,
    )
    await db.query(`UPDATE sessions SET status = 'ERROR', result = 'FAILURE', terminated_at = now()
    WHERE id IN (SELECT session_id FROM routes WHERE deployment_id IN (${some(40)}) AND status = 'HEALTHY')`)
    for (let round = 0; round < 4; round++) await server.run('drive-deployments', 'drive-routes', 'check-route-health')
    await Promise.all(Object.values(server.services).map((service) => service.stop()))
    const read = []
    for (const statement of statements.values()) {
      const tables = growing(readWhole(await planOf(db, statement)))
      if (tables.length > 0) read.push({ tables, text: statement.text })
    }
    expect(read).toEqual([])
    // Statements of claims, moves, starts and ends of routes, checks and failure counts.
    expect(statements.size).toBeGreaterThan(20)
  })

  function some(from: number): string {
    return `SELECT id FROM deployments WHERE status = 'READY' ORDER BY id OFFSET ${from} LIMIT 5`
  }
})

describe('plans of the scheduler', () => {
  const SESSIONS = 12_000
  /** Tables that grow with what has been. */
  const GROWING = new Set([
    'sessions',
    'session_dependencies',
    'kernels',
    'session_events',
    'scheduling_history',
    'retry_decisions',
    'chains',
    'resubmission_items',
    'audit_log',
  ])

  let database: TestDatabase
  let statements: Map<string, RecordedStatement>

  beforeAll(async () => {
    database = await testDatabase()
    await addManyChains(database.db, SESSIONS, 3)
    await addRowsOfSessions(database.db)
    await addRowsOfPeople(database.db)
    const recorded = recordedDatabase(database.db)
    statements = recorded.statements
    const server = testServer(recorded.db)
    const agent = fakeAgent(server.gateway, { slots: { cpu: '64' } })
    await agent.register()
    await server.run(...ALL_SERVICES)
    const retryPolicy = { maxRetries: 1, retryDelay: 0.001, jitter: 'NONE' as const }
    await server.create({ retryPolicy })
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    await server.run(...ALL_SERVICES)
    await server.settle()
    await agent.comply()
    await server.settle()
    const ended = await server.create({ clusterSize: 2 })
    await server.settle()
    await agent.comply()
    await server.settle()
    await agent.comply()
    await terminateSession(server.context, { sessionId: ended })
    await server.settle()
    await agent.comply()
    await server.settle()
    await underLimits(server, agent)
  })
  afterAll(() => database?.close())

  /** Quotas, shares, timeouts, rate limits, dependencies and resubmissions have statements of their own. */
  async function underLimits(server: ServicesServer, agent: FakeAgent): Promise<void> {
    const { context } = server
    await setQuota(context, { scope: 'PROJECT', name: 'default', maxRunning: 100, maxPending: 1_000 })
    await setRetrySwitch(context, { scope: 'PROJECT', name: 'default', rateLimit: { perSecond: 0.001, burst: 1 } })
    for (const sequencer of ['DRF', 'LIFO']) {
      await database.db.query('UPDATE resource_groups SET sequencer = $1, pending_timeout_ms = 3600000', [sequencer])
      const first = await server.create({
        batchTimeout: 60,
        retryPolicy: { maxRetries: 1, retryDelay: 0.001, jitter: 'NONE' },
      })
      await server.create({ dependsOn: [first] })
      for (let n = 0; n < 3; n++) await server.create({ resourceSlots: [{ slot: 'cpu', amount: '1000' }], priority: n })
      await driveAll(server, agent, 'RUNNING')
      await failWith(server, agent, 1)
      await server.settle()
    }
    await database.db.query(
      `WITH asked AS (
       INSERT INTO resubmissions (id, client_key, request_hash, actor, overrides, total)
       VALUES (gen_random_uuid(), 'again', '', 'ada', '{}', 2) RETURNING id)
     INSERT INTO resubmission_items (resubmission_id, position, session_id)
     SELECT asked.id, row_number() OVER () - 1, failed.id
     FROM asked, (SELECT session_id AS id FROM retry_decisions WHERE phase = 'EXHAUSTED' LIMIT 2) AS failed`,
    )
    await server.settle()
  }

  test('the functions of the clock are inlined in the plans of all statements', async () => {
    const timed = [...statements.values()].filter(({ text }) => /\breprise_(now|clock)\(\)/.test(text))
    expect(timed.length).toBeGreaterThan(30)
    for (const { text, values } of timed) {
      const { rows } = await database.db.query<{ 'QUERY PLAN': string }>(`EXPLAIN VERBOSE ${text}`, values)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).not.toMatch(/reprise_(now|clock)/)
    }
  })

  test('no statement reads a growing table from end to end', async () => {
    const read = []
    for (const statement of statements.values()) {
      const tables = readWhole(await planOf(database.db, statement)).filter((table) => GROWING.has(table))
      if (tables.length > 0) read.push({ tables, text: statement.text })
    }
    expect(read).toEqual([])
    // Statements of all services, of syncs of agents, of creation and termination, and of their limits.
    expect(statements.size).toBeGreaterThan(65)
  })
})
