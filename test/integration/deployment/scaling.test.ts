/** Handlers of deployments: each pass, several servers, and a server that was killed. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { runProgram } from '../../support/programs/run-program.ts'
import {
  deploymentRow,
  deploymentServer,
  type DeploymentServer,
  routeRows,
} from '../../support/servers/deployment-server.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { createFactories } from '../../support/sessions/factories.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())

describe('passes of the handlers', () => {
  let server: DeploymentServer
  beforeEach(async () => {
    await database.fresh()
    server = deploymentServer(database.db)
  })

  const historyOf = async (id: string) => {
    const { rows } = await database.db.query<{ line: string }>(
      `SELECT entity || ' ' || phase || ' ' || coalesce(from_status, 'new') || ' → ' || to_status || ' ' || result || ' ×' || attempts AS line
     FROM scheduling_history WHERE entity_id = $1 ORDER BY id`,
      [id],
    )
    return rows.map(({ line }) => line)
  }

  test('a new deployment begins its routes in one look, with their sessions, events and history', async () => {
    const id = await server.create({ replicas: 2, labels: [{ key: 'team', value: 'a' }], portVariable: 'WEB_PORT' })
    await server.run('drive-deployments')
    const routes = await routeRows(database.db, id)
    expect(routes).toMatchObject([
      { status: 'PROVISIONING', session: 'PENDING' },
      { status: 'PROVISIONING', session: 'PENDING' },
    ])
    expect(await deploymentRow(database.db, id)).toMatchObject({
      status: 'SCALING',
      reason: '0 of 2 replicas of revision 1 are healthy',
    })
    const { rows: sessions } = await database.db.query(
      `SELECT session_type, port_variable, labels, max_retries, cluster_size, created_by, retry_decided FROM sessions`,
    )
    expect(sessions).toEqual(
      Array.from({ length: 2 }, () => ({
        session_type: 'INFERENCE',
        port_variable: 'WEB_PORT',
        labels: { team: 'a' },
        max_retries: 0,
        cluster_size: 1,
        created_by: null,
        retry_decided: true,
      })),
    )
    const { rows: events } = await database.db.query<{ type: string; to: string }>(
      `SELECT type, data ->> 'to' AS to FROM session_events WHERE deployment_id = $1 ORDER BY id`,
      [id],
    )
    expect(events.map(({ type, to }) => `${type} ${to}`)).toEqual([
      'deployment.created null',
      'deployment.status_changed SCALING',
      'route.status_changed PROVISIONING',
      'route.status_changed PROVISIONING',
    ])
    expect(await historyOf(id)).toEqual([
      'DEPLOYMENT check-pending-deployment PENDING → SCALING SUCCESS ×1',
      'DEPLOYMENT scaling-deployment SCALING → SCALING FAILURE ×1',
    ])
    expect(await historyOf(routes[0]!.id)).toEqual(['ROUTE scaling-deployment new → PROVISIONING SUCCESS ×1'])
  })

  test('waiting writes nothing', async () => {
    const id = await server.create({ replicas: 2 })
    await server.run('drive-deployments')
    const before = await historyOf(id)
    expect(await server.run('drive-deployments', 'drive-deployments', 'drive-routes')).toEqual([0, 0, 0])
    expect(await historyOf(id)).toEqual(before)
  })

  test('two servers that look at once begin no route twice', async () => {
    const { sync, gates } = syncGates('deployment:after-claim')
    const other = deploymentServer(database.db, { sync })
    const id = await server.create({ replicas: 3 })
    const held = other.run('drive-deployments')
    await gates['deployment:after-claim']!.reached
    await server.run('drive-deployments')
    expect(await routeRows(database.db, id)).toHaveLength(0)
    gates['deployment:after-claim']!.open()
    await held
    await server.run('drive-deployments')
    expect(await routeRows(database.db, id)).toHaveLength(3)
  })

  test('a change by a person during a pass is not lost', async () => {
    const { sync, gates } = syncGates('deployment:before-commit')
    const other = deploymentServer(database.db, { sync })
    const id = await server.create({ replicas: 1 })
    const held = other.run('drive-deployments')
    await gates['deployment:before-commit']!.reached
    const scaled = database.db.query('UPDATE deployments SET replicas = 4 WHERE id = $1', [id])
    gates['deployment:before-commit']!.open()
    await Promise.all([held, scaled])
    await server.run('drive-deployments')
    expect(await routeRows(database.db, id)).toHaveLength(4)
  })

  test('a quota on pending sessions holds for routes, and the deployment reports that', async () => {
    await database.db.query(
      `INSERT INTO resource_policies (scope, scope_id, max_pending) SELECT 'PROJECT', id, 2 FROM projects WHERE name = 'default'`,
    )
    const id = await server.create({ replicas: 3 })
    await server.run('drive-deployments')
    expect(await routeRows(database.db, id)).toHaveLength(2)
    expect((await deploymentRow(database.db, id)).reason).toMatch(
      /^0 of 3 replicas of revision 1 are healthy; no more can be started: .*pending/,
    )
  })

  test('a resource group that is gone holds up its own deployments, and no others', async () => {
    await database.db.query(`INSERT INTO resource_groups (name) VALUES ('gone')`)
    const held = await server.create({ replicas: 1, resourceGroup: 'gone' })
    const other = await server.create({ replicas: 1 })
    await database.db.query(`UPDATE resource_groups SET deleted_at = now() WHERE name = 'gone'`)
    await server.run('drive-deployments')
    expect(await routeRows(database.db, other)).toHaveLength(1)
    expect(await routeRows(database.db, held)).toHaveLength(0)
    expect((await deploymentRow(database.db, held)).reason).toContain('resource group gone is gone')
  })

  describe('readiness', () => {
    async function ready(replicas: number) {
      const factory = createFactories(database.db)
      const deployment = await factory.deployment({ status: 'READY', replicas })
      const routes = []
      for (let n = 0; n < replicas; n++) routes.push(await factory.route(deployment))
      return { factory, deployment, routes }
    }
    const statusOf = async (id: string) => (await deploymentRow(database.db, id)).status

    test('stays so, and nothing is written', async () => {
      const { deployment } = await ready(2)
      expect(await server.run('drive-deployments')).toEqual([0])
      expect(await statusOf(deployment.id)).toBe('READY')
    })

    test('is not, where a route is missing', async () => {
      const { deployment, routes } = await ready(2)
      await database.db.query(`UPDATE routes SET status = 'TERMINATING', published_at = NULL WHERE id = $1`, [
        routes[0]!.id,
      ])
      await server.run('drive-deployments')
      expect(await deploymentRow(database.db, deployment.id)).toMatchObject({
        status: 'SCALING',
        reason: 'replicas: 2 wanted, 1 exist',
      })
      await server.run('drive-deployments')
      expect((await routeRows(database.db, deployment.id)).map(({ status }) => status)).toEqual([
        'TERMINATING',
        'HEALTHY',
        'PROVISIONING',
      ])
    })

    test('is not, where a route has been away from its health for longer than it may recover', async () => {
      const { deployment, routes } = await ready(1)
      const degrade = (seconds: number) =>
        database.db.query(
          `UPDATE routes SET status = 'DEGRADED', published_at = NULL,
           status_changed_at = now() - make_interval(secs => $2) WHERE id = $1`,
          [routes[0]!.id, seconds],
        )
      await degrade(5)
      await server.run('drive-deployments')
      expect(await statusOf(deployment.id)).toBe('READY')
      await degrade(15)
      await server.run('drive-deployments')
      expect(await deploymentRow(database.db, deployment.id)).toMatchObject({
        status: 'SCALING',
        reason: 'a route is DEGRADED',
      })
    })

    test('goes when it is to be destroyed, and is destroyed when all routes are over', async () => {
      const { deployment, routes } = await ready(2)
      await database.db.query(`UPDATE deployments SET status = 'DESTROYING' WHERE id = $1`, [deployment.id])
      await server.run('drive-deployments')
      expect(await routeRows(database.db, deployment.id)).toMatchObject([
        { status: 'TERMINATING', published: false },
        { status: 'TERMINATING', published: false },
      ])
      await database.db.query(`UPDATE routes SET status = 'TERMINATED', terminated_at = now() WHERE id = $1`, [
        routes[0]!.id,
      ])
      await server.run('drive-deployments')
      expect(await statusOf(deployment.id)).toBe('DESTROYING')
      await database.db.query(`UPDATE routes SET status = 'TERMINATED', terminated_at = now()`)
      await server.run('drive-deployments')
      expect(await statusOf(deployment.id)).toBe('DESTROYED')
    })

    test('is destroyed without its routes where they do not end for long', async () => {
      const { deployment } = await ready(1)
      await database.db.query(
        `UPDATE deployments SET status = 'DESTROYING', status_changed_at = now() - interval '11 minutes' WHERE id = $1`,
        [deployment.id],
      )
      await server.run('drive-deployments')
      expect(await deploymentRow(database.db, deployment.id)).toMatchObject({
        status: 'DESTROYED',
        reason: '1 of its routes had not ended in time',
      })
      expect(await historyOf(deployment.id)).toEqual([
        'DEPLOYMENT destroying-deployment DESTROYING → DESTROYED FAILURE ×1',
      ])
    })
  })
})

describe('killed servers', () => {
  const killedAt = (point: string) => runProgram('killed-in-deployment-program.ts', [database.connectionString, point])

  beforeEach(() => database.fresh())

  test('between beginning routes and the commit: nothing of them is there, and the next server begins them', async () => {
    const server = deploymentServer(database.db)
    const id = await server.create({ replicas: 3 })
    expect((await killedAt('deployment:before-commit')).status).toBeNull()
    // The connection of the dead is noticed, and what it had is rolled back.
    await eventually(async () => {
      await server.run('drive-deployments')
      return (await routeRows(database.db, id)).length > 0
    })
    const { rows } = await database.db.query<{ sessions: number; kernels: number; events: number; routes: number }>(
      `SELECT (SELECT count(*) FROM sessions) AS sessions, (SELECT count(*) FROM kernels) AS kernels,
       (SELECT count(*) FROM session_events WHERE type = 'route.status_changed') AS events,
       (SELECT count(*) FROM routes) AS routes`,
    )
    expect(rows).toEqual([{ sessions: 3, kernels: 3, events: 3, routes: 3 }])
    expect((await deploymentRow(database.db, id)).status).toBe('SCALING')
  })

  test('between an answer and its count: the check is made again when its lease is over', async () => {
    const factory = createFactories(database.db)
    const deployment = await factory.deployment({ status: 'READY' })
    // Nobody listens there: it fails at once.
    const { id } = await factory.route(deployment, { port: 1 })
    await database.db.query('UPDATE deployment_revisions SET health_timeout_ms = 30000')
    await database.db.query(`UPDATE routes SET next_check_at = now() - interval '1 second'`)
    expect((await killedAt('health-check:before-settle')).status).toBeNull()
    const server = deploymentServer(database.db)
    const failures = async () =>
      (await routeRows(database.db, deployment.id)).find((route) => route.id === id)!.failures
    expect(await failures()).toBe(0)
    expect(await server.run('check-route-health')).toEqual([0])
    await database.db.query(`UPDATE routes SET next_check_at = now() - interval '1 second'`)
    await eventually(async () => {
      await server.run('check-route-health')
      return (await failures()) === 1
    })
  })
})
