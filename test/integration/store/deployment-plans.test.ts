/** Plans of the statements on deployments: they cost by what lives, however many have been. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { deploymentServer, type DeploymentServer } from '../../support/servers/deployment-server.ts'
import { addManyDeployments } from '../../support/sessions/many-deployments.ts'
import { analysedPlanOf, planOf, readWhole, rowsRead } from '../../support/database/plans.ts'
import { recordedDatabase, type RecordedStatement } from '../../support/database/recorded-database.ts'

const MANY = { living: 120, routes: 8, ended: 3, destroyed: 4_500 }
const LIVE_ROUTES = MANY.living * MANY.routes
const GROWING = new Set(['sessions', 'kernels', 'routes', 'deployments', 'deployment_revisions', 'scheduling_history'])

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

test('a look at what is as it should be reads no more than lives', async () => {
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
  // Of claims, moves, routes that begin and end, checks and what counts failures.
  expect(statements.size).toBeGreaterThan(20)
})

function some(from: number): string {
  return `SELECT id FROM deployments WHERE status = 'READY' ORDER BY id OFFSET ${from} LIMIT 5`
}
