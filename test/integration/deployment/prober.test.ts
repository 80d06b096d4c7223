/** Health checks over real sockets: what they find, and that each is made once and on time. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createWakeHub } from '../../../src/events/wake-hub.ts'
import { askHealth } from '../../../src/scheduler/deployment/prober.ts'
import { claimHealthChecks } from '../../../src/store/sql/deployment/health-checks.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import type { DeploymentRow } from '../../support/sessions/deployment-factories.ts'
import { deploymentServer, type DeploymentServer, routeRows } from '../../support/servers/deployment-server.ts'
import { eventually } from '../../support/eventually.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'

const servers: Server[] = []

async function listening(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

describe('results of one check', () => {
  const ask = (port: number, path = '/', timeoutMs = 30_000) =>
    askHealth({ host: '127.0.0.1', port, path, timeoutMs }, new AbortController().signal)

  test.each([
    [200, null],
    [204, null],
    [299, null],
    [301, 'it answered 301'],
    [404, 'it answered 404'],
    [500, 'it answered 500'],
  ])('%i', async (status, fault) => {
    const seen: string[] = []
    const port = await listening((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers['user-agent']}`)
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    expect(await ask(port, '/health?deep=1')).toBe(fault)
    expect(seen).toEqual(['GET /health?deep=1 Reprise-Health'])
  })

  test('nothing within the time', async () => {
    expect(await ask(await listening(() => {}), '/', 500)).toBe('it did not answer within 0.5 s')
  })

  test('a beginning of an answer, and then nothing', async () => {
    const port = await listening((request) => request.socket.write('HTTP/1.1 200 OK\r\ncontent'))
    expect(await ask(port, '/', 500)).toBe('it did not answer within 0.5 s')
  })

  test('nobody', async () => {
    const port = await listening(() => {})
    servers[0]!.close()
    expect(await ask(port)).toBe('the connection was refused')
  })

  test('a connection that is cut', async () => {
    expect(await ask(await listening((request) => request.socket.destroy()))).toMatch(/cut|hang up/)
  })

  test('an answer that is not HTTP', async () => {
    const tcp = createTcpServer((socket: Socket) => socket.end('220 mail.example ESMTP\r\n')).listen(0, '127.0.0.1')
    await once(tcp, 'listening')
    expect(await ask((tcp.address() as AddressInfo).port)).toMatch(/Parse Error/)
    tcp.close()
  })

  test('an answer without end is not read', async () => {
    let sent = 0
    const closed = Promise.withResolvers<void>()
    const port = await listening((_request, response) => {
      response.on('close', closed.resolve)
      const more = () => {
        while (!response.closed && response.write(Buffer.alloc(65_536))) sent += 65_536
        if (!response.closed) response.once('drain', more)
      }
      more()
    })
    expect(await ask(port)).toBeNull()
    await closed.promise
    expect(sent).toBeLessThan(64 * 1024 * 1024)
  })
})

describe('the prober', () => {
  let database: TestDatabase
  let server: DeploymentServer
  let deployment: DeploymentRow

  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    await database.fresh()
    server = deploymentServer(database.db)
    deployment = await createFactories(database.db).deployment({ status: 'READY' })
    // A slow answer, as on a busy machine, still counts as an answer.
    await database.db.query('UPDATE deployment_revisions SET health_timeout_ms = 30000')
  })

  async function routes(count: number, port: number): Promise<string[]> {
    const factory = createFactories(database.db)
    const ids: string[] = []
    for (let n = 0; n < count; n++) ids.push((await factory.route(deployment, { port })).id)
    return ids
  }
  // The column's milliseconds are rounded: a moment ago is due for certain.
  const DUE = `now() - interval '1 second'`
  const due = () => database.db.query(`UPDATE routes SET next_check_at = ${DUE}`)
  const rows = () => routeRows(database.db, deployment.id)
  const counted = (what: 'successes' | 'failures', count: number) =>
    eventually(async () => (await rows()).every((row) => row[what] === count))

  test('counts consecutive results, and wakes the handlers only when the health changes', async () => {
    let status = 200
    const hub = createWakeHub()
    let woken = 0
    hub.on('drive-routes', () => (woken += 1))
    server = deploymentServer(database.db, { hub })
    await routes(1, await listening((_request, response) => response.writeHead(status).end()))
    for (const successes of [1, 2]) {
      await due()
      await server.run('check-route-health')
      await counted('successes', successes)
    }
    status = 500
    for (const failures of [1, 2]) {
      await due()
      await server.run('check-route-health')
      await counted('failures', failures)
    }
    expect(woken).toBe(0)
    await due()
    await server.run('check-route-health')
    await counted('failures', 3)
    await eventually(() => woken === 1)
    expect((await rows())[0]).toMatchObject({ successes: 0, failures: 3 })
    const page = await server.metrics.registry.metrics()
    expect(page).toContain('bai_route_check_seconds_count{outcome="well"} 2')
    expect(page).toContain('bai_route_check_seconds_count{outcome="fault"} 3')
  })

  test('of two servers that look at once, one makes each check', async () => {
    let asked = 0
    const port = await listening((_request, response) => {
      asked += 1
      response.end()
    })
    await routes(40, port)
    await due()
    const other = deploymentServer(database.db)
    const made = await Promise.all([server, other, server, other].map((one) => one.run('check-route-health')))
    expect(made.flat().reduce((sum, done) => sum + done, 0)).toBe(40)
    await counted('successes', 1)
    expect(asked).toBe(40)
  })

  test('of many that claim at once, one has each check', async () => {
    await routes(40, 1)
    for (let round = 0; round < 10; round++) {
      await due()
      const claims = await Promise.all(Array.from({ length: 8 }, () => claimHealthChecks(database.db, 100, 60_000)))
      expect(claims.flat().map(({ routeId }) => routeId)).toHaveLength(40)
    }
  })

  test('those that hang hold nobody up', async () => {
    const hanging = await listening(() => {})
    const well = await listening((_request, response) => response.end())
    const stuck = await routes(100, hanging)
    await due()
    await server.run('check-route-health')
    const [quick] = await routes(1, well)
    await database.db.query(`UPDATE routes SET next_check_at = ${DUE} WHERE id = $1`, [quick])
    await server.run('check-route-health')
    await eventually(async () => (await rows()).find(({ id }) => id === quick)!.successes === 1)
    // Before the first of them was given up.
    expect((await rows()).filter(({ id, failures }) => stuck.includes(id) && failures > 0)).toEqual([])
    // They are given up with the server, and nothing is counted for it.
    await server.services['check-route-health'].stop()
    expect((await rows()).filter(({ failures }) => failures > 0)).toEqual([])
  })

  test('a route that goes while it is asked is left alone', async () => {
    const { sync, gates } = syncGates('health-check:before-settle')
    server = deploymentServer(database.db, { sync })
    const [id] = await routes(1, await listening((_request, response) => response.end()))
    await due()
    await server.run('check-route-health')
    await gates['health-check:before-settle']!.reached
    await database.db.query(
      `UPDATE routes SET status = 'TERMINATING', published_at = NULL, next_check_at = NULL WHERE id = $1`,
      [id],
    )
    gates['health-check:before-settle']!.open()
    await server.services['check-route-health'].stop()
    const { rows: found } = await database.db.query('SELECT successes, last_check_at, next_check_at FROM routes')
    expect(found).toEqual([{ successes: 0, last_check_at: null, next_check_at: null }])
  })

  test('makes hundreds of checks, not all at once, each on its own time', async () => {
    let [open, most] = [0, 0]
    const port = await listening((_request, response) => {
      most = Math.max(most, (open += 1))
      setTimeout(() => {
        open -= 1
        response.end()
      }, 20)
    })
    await routes(1, port)
    // None is due again before all have been made, however busy the machine is.
    await database.db.query('UPDATE deployment_revisions SET health_interval_ms = 100000')
    await database.db.query(
      `WITH copies AS (SELECT gen_random_uuid() AS id FROM generate_series(1, 600)), made AS (
         SELECT json_populate_record(s, json_build_object('id', c.id, 'chain_id', c.id, 'creation_id', c.id)) AS session
         FROM copies c, sessions s
       ), sessions_made AS (INSERT INTO sessions SELECT (session).* FROM made RETURNING id)
       INSERT INTO routes (id, deployment_id, revision, session_id, status, host, port, next_check_at)
       SELECT id, $1, 1, id, 'DEGRADED', '127.0.0.1', $2, ${DUE} FROM sessions_made`,
      [deployment.id, port],
    )
    const hub = createWakeHub()
    const probe = deploymentServer(database.db, { hub }).services['check-route-health']
    // An answer frees a place for the next check: no interval has to pass.
    hub.on('check-route-health', () => void probe.runOnce())
    await probe.runOnce()
    const checked = async () => (await rows()).filter(({ successes }) => successes > 0).length >= 600
    await eventually(checked)
    await probe.stop()
    expect(most).toBeLessThanOrEqual(256)
    const { rows: spread } = await database.db.query<{ min: number; max: number }>(
      `SELECT min(extract(epoch FROM next_check_at - last_check_at))::float8 AS min,
         max(extract(epoch FROM next_check_at - last_check_at))::float8 AS max FROM routes WHERE successes = 1`,
    )
    expect(spread[0]!.min).toBeGreaterThan(88)
    expect(spread[0]!.max).toBeLessThan(112)
    expect(spread[0]!.max - spread[0]!.min).toBeGreaterThan(10)
  })
})
