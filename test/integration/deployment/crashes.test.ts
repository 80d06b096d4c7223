/** Servers that are killed in the middle of work on a deployment. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { deploymentRow, deploymentServer, routeRows } from '../../support/servers/deployment-server.ts'
import { eventually } from '../../support/eventually.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { runProgram } from '../../support/programs/run-program.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())

const killedAt = (point: string) => runProgram('killed-in-deployment-program.ts', [database.connectionString, point])

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
  await database.fresh()
  const factory = createFactories(database.db)
  const deployment = await factory.deployment({ status: 'READY' })
  // Nobody listens there: it fails at once.
  const { id } = await factory.route(deployment, { port: 1 })
  await database.db.query('UPDATE deployment_revisions SET health_timeout_ms = 30000')
  await database.db.query(`UPDATE routes SET next_check_at = now() - interval '1 second'`)
  expect((await killedAt('health-check:before-settle')).status).toBeNull()
  const server = deploymentServer(database.db)
  const failures = async () => (await routeRows(database.db, deployment.id)).find((route) => route.id === id)!.failures
  expect(await failures()).toBe(0)
  expect(await server.run('check-route-health')).toEqual([0])
  await database.db.query(`UPDATE routes SET next_check_at = now() - interval '1 second'`)
  await eventually(async () => {
    await server.run('check-route-health')
    return (await failures()) === 1
  })
})
