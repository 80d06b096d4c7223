/** Handlers of routes: their effects on a route in each state, and on its session and deployment. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RouteStatus } from '../../../src/domain/deployment/lifecycle.ts'
import { createWakeHub } from '../../../src/events/wake-hub.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import type { DeploymentRow } from '../../support/sessions/deployment-factories.ts'
import {
  deploymentRow,
  deploymentServer,
  type DeploymentServer,
  routeRows,
} from '../../support/servers/deployment-server.ts'
import { createFactories } from '../../support/sessions/factories.ts'

let database: TestDatabase
let server: DeploymentServer
let deployment: DeploymentRow
let woken: Set<string>

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.fresh()
  woken = new Set()
  const hub = createWakeHub()
  for (const topic of ['sync-discovery', 'terminate-sessions', 'drive-deployments'] as const) {
    hub.on(topic, () => woken.add(topic))
  }
  server = deploymentServer(database.db, { hub })
  deployment = await createFactories(database.db).deployment({ status: 'SCALING' })
})

/** Columns of the route, of its session and its kernel, as SQL. */
interface Scene {
  route?: Record<string, string>
  session?: Record<string, string>
  kernel?: Record<string, string>
}

async function routeIn(status: RouteStatus, scene: Scene = {}): Promise<string> {
  const { id, session } = await createFactories(database.db).route(deployment, { status })
  await change('routes', 'id', id, scene.route)
  await change('sessions', 'id', session.id, scene.session)
  await change('kernels', 'session_id', session.id, scene.kernel)
  return id
}

async function change(table: string, key: string, id: string, columns: Record<string, string> = {}): Promise<void> {
  const sets = Object.entries(columns).map(([column, value]) => `${column} = ${value}`)
  if (sets.length > 0) await database.db.query(`UPDATE ${table} SET ${sets.join(', ')} WHERE ${key} = $1`, [id])
}

async function rowOf(id: string) {
  return (await routeRows(database.db, deployment.id)).find((row) => row.id === id)!
}

async function storyOf(id: string): Promise<string[]> {
  const { rows } = await database.db.query<{ line: string }>(
    `SELECT concat(phase, ' ', result, ' ', to_status, ': ' || message) AS line FROM scheduling_history
     WHERE entity_id = $1 ORDER BY id`,
    [id],
  )
  return rows.map(({ line }) => line)
}

const AGO = (seconds: number) => `now() - interval '${seconds} seconds'`
const RUNNING: Scene = { session: { status: `'RUNNING'` }, kernel: { status: `'RUNNING'`, started_at: 'now()' } }
const OVER: Scene = {
  session: { status: `'ERROR'`, status_reason: `'exited with 7'`, terminated_at: 'now()' },
  kernel: { status: `'ERROR'`, terminated_at: 'now()' },
}

describe.each<[what: string, RouteStatus, Scene, story: string[]]>([
  ['waits for its port', 'PROVISIONING', RUNNING, []],
  ['waits for its session', 'PROVISIONING', {}, []],
  [
    'ended before it served',
    'PROVISIONING',
    OVER,
    [
      'provisioning-route FAILURE FAILED_TO_START: its session ended before it served: exited with 7',
      'running-route FAILURE TERMINATING: its session ended before it served: exited with 7',
      'terminating-route SUCCESS TERMINATED: its session ended before it served: exited with 7',
    ],
  ],
  [
    'has not begun in time',
    'PROVISIONING',
    { route: { created_at: AGO(301) }, session: { pending_reason: `'no capacity'` } },
    [
      'provisioning-route FAILURE FAILED_TO_START: its session is PENDING after 300 s: no capacity',
      'running-route FAILURE TERMINATING: its session is PENDING after 300 s: no capacity',
      'terminating-route SUCCESS TERMINATED: its session is PENDING after 300 s: no capacity',
    ],
  ],
  [
    'runs without a port for too long',
    'PROVISIONING',
    { ...RUNNING, route: { created_at: AGO(301) } },
    [
      'provisioning-route FAILURE FAILED_TO_START: its agent has reported no port for it',
      'running-route FAILURE TERMINATING: its agent has reported no port for it',
    ],
  ],
  [
    'never answers well',
    'DEGRADED',
    { route: { created_at: AGO(301), last_check_fault: `'the connection was refused'` } },
    ['running-route FAILURE TERMINATING: it was not healthy within 300 s: the connection was refused'],
  ],
  ['does not answer well yet', 'DEGRADED', { route: { created_at: AGO(290) } }, []],
  ['was well before, and may be again', 'DEGRADED', { route: { created_at: AGO(301), first_healthy_at: AGO(90) } }, []],
  [
    'lost its session while it was healthy',
    'HEALTHY',
    { ...OVER, route: { first_healthy_at: AGO(60) } },
    [
      'running-route FAILURE TERMINATING: its session ended: exited with 7',
      'terminating-route SUCCESS TERMINATED: its session ended: exited with 7',
    ],
  ],
  [
    'was checked too long ago',
    'HEALTHY',
    { route: { last_check_at: AGO(22), successes: '5' } },
    ['health-check-route STALE DEGRADED: its last health check is too old'],
  ],
  ['was checked in time', 'HEALTHY', { route: { last_check_at: AGO(12), successes: '5' } }, []],
  [
    'is not told of to clients yet',
    'HEALTHY',
    { route: { published_at: 'NULL' } },
    ['service-discovery-sync SUCCESS HEALTHY: clients are sent to it'],
  ],
  ['may recover', 'UNHEALTHY', { route: { failures: '9', status_changed_at: AGO(4) } }, []],
  [
    'recovers at the last moment',
    'UNHEALTHY',
    { route: { successes: '1', status_changed_at: AGO(11) } },
    [
      'health-check-route SUCCESS HEALTHY: a health check succeeded',
      'service-discovery-sync SUCCESS HEALTHY: clients are sent to it',
    ],
  ],
  [
    'does not recover',
    'UNHEALTHY',
    { route: { failures: '9', status_changed_at: AGO(11), last_check_fault: `'it answered 500'` } },
    ['route-eviction SUCCESS TERMINATING: it was unhealthy for 10 s: it answered 500'],
  ],
])('a route that %s', (_what, status, scene, story) => {
  test(`${status}: ${story.length} steps`, async () => {
    const id = await routeIn(status, scene)
    server = deploymentServer(database.db, { watchedMs: 60_000 })
    for (let look = 0; look < 5; look++) await server.run('drive-routes')
    expect(await storyOf(id)).toEqual(story)
  })
})

test.each<RouteStatus>(['PROVISIONING', 'HEALTHY', 'TERMINATING'])(
  'whose session ended and has no kernels left, comes to its end from %s',
  async (status) => {
    const id = await routeIn(status, OVER)
    await database.db.query('DELETE FROM kernels')
    for (let look = 0; look < 3; look++) await server.run('drive-routes')
    expect((await rowOf(id)).status).toBe('TERMINATED')
  },
)

test('a server that has just come gives each route its full age again', async () => {
  const id = await routeIn('HEALTHY', { route: { last_check_at: AGO(3600) } })
  await server.run('drive-routes')
  expect((await rowOf(id)).status).toBe('HEALTHY')
})

test('results of too long ago are not counted', async () => {
  const id = await routeIn('HEALTHY', { route: { last_check_at: AGO(22), successes: '5' } })
  server = deploymentServer(database.db, { watchedMs: 60_000 })
  await server.run('drive-routes')
  expect(await rowOf(id)).toMatchObject({ status: 'DEGRADED', successes: 0, published: false })
})

describe('on its way out', () => {
  test('clients are no longer sent there, and its session ends once they have had time to notice', async () => {
    const id = await routeIn('UNHEALTHY', {
      ...RUNNING,
      route: { status_changed_at: AGO(11), first_healthy_at: AGO(60), failures: '3' },
    })
    await server.run('drive-routes', 'drive-routes')
    expect(await rowOf(id)).toMatchObject({ status: 'TERMINATING', session: 'RUNNING' })
    await database.db.query(`UPDATE routes SET status_changed_at = ${AGO(2)} WHERE id = $1`, [id])
    await server.run('drive-routes')
    expect(await rowOf(id)).toMatchObject({ status: 'TERMINATING', session: 'TERMINATING' })
    expect(woken).toContain('terminate-sessions')
    const { rows } = await database.db.query(
      `SELECT s.terminated_by, s.status_reason, (SELECT count(*)::int FROM audit_log) AS audited
       FROM sessions s JOIN routes r ON r.session_id = s.id WHERE r.id = $1`,
      [id],
    )
    expect(rows).toEqual([{ terminated_by: null, status_reason: 'its route has ended', audited: 0 }])
  })

  test('one that never served needs no time', async () => {
    const id = await routeIn('PROVISIONING', { route: { created_at: AGO(301) } })
    await server.run('drive-routes', 'drive-routes')
    expect(await rowOf(id)).toMatchObject({ status: 'TERMINATED', session: 'CANCELLED' })
  })

  test('it leaves service discovery as it leaves HEALTHY', async () => {
    const id = await routeIn('HEALTHY', { route: { failures: '3', successes: '0' } })
    await server.run('drive-routes')
    expect(await rowOf(id)).toMatchObject({ status: 'UNHEALTHY', published: false })
    expect(woken).toContain('sync-discovery')
  })
})

describe('failures', () => {
  const fail = async (count: number) => {
    for (let n = 0; n < count; n++) await routeIn('PROVISIONING', OVER)
    await server.run('drive-routes', 'drive-routes')
  }

  test('put off the next route, longer with each in a row', async () => {
    const waits: number[] = []
    for (const expected of [1, 2, 3, 4]) {
      await fail(1)
      const { failures, waitMs } = await deploymentRow(database.db, deployment.id)
      expect(failures).toBe(expected)
      waits.push(waitMs!)
    }
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(1_000 * 2 ** index)
      expect(wait).toBeLessThanOrEqual(1_250 * 2 ** index)
    }
    await database.db.query('UPDATE deployments SET replicas = 2 WHERE id = $1', [deployment.id])
    await server.run('drive-deployments')
    expect((await routeRows(database.db, deployment.id)).filter(({ status }) => status === 'PROVISIONING')).toEqual([])
    expect((await deploymentRow(database.db, deployment.id)).reason).toMatch(
      /the next is started \d+\.\d s after the last of 4 failures in a row$/,
    )
    await database.db.query(`UPDATE deployments SET next_route_at = now() - interval '1 second'`)
    await server.run('drive-deployments')
    expect(
      (await routeRows(database.db, deployment.id)).filter(({ status }) => status === 'PROVISIONING'),
    ).toHaveLength(2)
  })

  test('of routes that were begun together count as one', async () => {
    await fail(3)
    expect((await deploymentRow(database.db, deployment.id)).failures).toBe(1)
  })

  test('of routes that were begun together count as one, however late the second comes', async () => {
    const late = await routeIn('PROVISIONING')
    await fail(1)
    await database.db.query(
      `UPDATE sessions SET status = 'ERROR', terminated_at = now()
       WHERE id = (SELECT session_id FROM routes WHERE id = $1)`,
      [late],
    )
    await server.run('drive-routes', 'drive-routes')
    expect((await rowOf(late)).status).toBe('TERMINATED')
    expect((await deploymentRow(database.db, deployment.id)).failures).toBe(1)
  })

  test.each([
    ['that served for long', { first_healthy_at: AGO(31) }, 0],
    ['that served for a moment', { first_healthy_at: AGO(20) }, 1],
    ['of an earlier revision', { revision: '1' }, 0],
  ])('of a route %s', async (what, route, failures) => {
    if (what.includes('revision')) {
      await database.db.query(
        `INSERT INTO deployment_revisions SELECT (r).* FROM (
           SELECT json_populate_record(r, '{"revision": 2}') AS r FROM deployment_revisions r) AS next`,
      )
      await database.db.query('UPDATE deployments SET revision = 2')
    }
    await routeIn('HEALTHY', { ...OVER, route })
    await server.run('drive-routes')
    expect((await deploymentRow(database.db, deployment.id)).failures).toBe(failures)
  })

  test.each([
    ['begun before the failure', AGO(120), 3],
    ['begun after it', AGO(60), 0],
  ])('are forgotten when a route serves for long that was %s', async (_what, createdAt, failures) => {
    await database.db.query(
      `UPDATE deployments SET failures = 3, failed_at = ${AGO(90)}, next_route_at = now() + interval '1 minute'`,
    )
    await routeIn('HEALTHY', { route: { created_at: createdAt, first_healthy_at: AGO(31) } })
    await server.run('drive-deployments')
    expect((await deploymentRow(database.db, deployment.id)).failures).toBe(failures)
  })
})

test('two servers that judge the same routes move each once', async () => {
  for (let n = 0; n < 20; n++) await routeIn('PROVISIONING', OVER)
  const other = deploymentServer(database.db)
  await Promise.all([server, other, server, other].map((one) => one.run('drive-routes')))
  await server.run('drive-routes', 'drive-routes')
  const routes = await routeRows(database.db, deployment.id)
  for (const { id, status } of routes) {
    expect(status).toBe('TERMINATED')
    expect(await storyOf(id)).toHaveLength(3)
  }
  const { rows } = await database.db.query<{ count: number }>(
    `SELECT count(*) AS count FROM session_events WHERE type = 'route.status_changed'`,
  )
  expect(rows[0]!.count).toBe(60)
})
