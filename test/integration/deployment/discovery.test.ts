/** Service discovery over HTTP and as files. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createWakeHub } from '../../../src/events/wake-hub.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createDiscoveryService, writeDiscovery } from '../../../src/scheduler/deployment/discovery-service.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
let parent: string
let directory: string

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())
beforeEach(async () => {
  await server.db.query('TRUNCATE deployments, sessions CASCADE')
  parent = await mkdtemp(join(tmpdir(), 'discovery-'))
  directory = join(parent, 'made', 'by itself')
})
afterEach(() => rm(parent, { recursive: true, force: true }))

async function files() {
  const [targets, services] = await Promise.all(
    ['prometheus.json', 'traefik.yml'].map((name) => readFile(join(directory, name), 'utf8')),
  )
  return { targets: JSON.parse(targets!), services: parse(services!) }
}

async function get(path: string, headers: Record<string, string> = {}, token = server.adminToken) {
  const response = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

async function web() {
  const deployment = await server.factory.deployment({ name: 'web', labels: { team: 'a' } })
  const route = await server.factory.route(deployment, { port: 9_001 })
  await server.factory.route(deployment, { status: 'UNHEALTHY', port: 9_002 })
  await server.factory.route(deployment, { published: false, port: 9_003 })
  return { deployment, route }
}

describe('over HTTP', () => {
  test('names published ports, and nothing else', async () => {
    expect((await get('/v2/discovery/prometheus')).body).toEqual([])
    expect((await get('/v2/discovery/traefik')).body).toEqual({})
    const { deployment, route } = await web()
    await server.factory.deployment({ name: 'gone', status: 'DESTROYED' })
    await server.factory.route(await server.factory.deployment({ name: 'going', status: 'DESTROYING' }))
    const prometheus = await get('/v2/discovery/prometheus')
    expect(prometheus.headers.get('content-type')).toBe('application/json')
    expect(prometheus.body).toMatchObject([
      {
        targets: ['127.0.0.1:9001'],
        labels: { deployment: 'web', project: 'default', __meta_reprise_route_id: route.id },
      },
    ])
    expect((await get('/v2/discovery/traefik')).body.http.services).toEqual({
      'web.default': { loadBalancer: { passHostHeader: true, servers: [{ url: 'http://127.0.0.1:9001' }] } },
    })
    expect((await get(`/v2/deployments/${deployment.id}/endpoints`)).body.items).toMatchObject([
      { route_id: route.id, host: '127.0.0.1', port: 9_001, url: 'http://127.0.0.1:9001' },
    ])
  })

  test('is all that a METRICS token reads, of its project or of all', async () => {
    await web()
    const [own, all] = [
      await server.factory.token({ role: 'METRICS', projectId: await server.factory.project() }),
      await server.factory.token({ role: 'METRICS' }),
    ]
    expect((await get('/v2/discovery/prometheus', {}, own)).body).toEqual([])
    expect((await get('/v2/discovery/prometheus', {}, all)).body).toHaveLength(1)
    expect((await get('/v2/discovery/traefik', {}, all)).status).toBe(200)
    expect((await get('/v2/sessions', {}, all)).status).toBe(403)
    expect(await server.query('{ viewer { role } }', {}, all)).toMatchObject({ status: 403 })
    expect(await server.query('mutation { createDomain(input: { name: "x" }) { __typename } }', {}, all)).toMatchObject(
      { status: 403 },
    )
  })

  test('shows a tenant its own, and answers with 304 while nothing has changed', async () => {
    await web()
    const projectId = await server.factory.project()
    const token = await server.factory.token({ role: 'VIEWER', projectId })
    expect((await get('/v2/discovery/prometheus', {}, token)).body).toEqual([])
    await server.factory.route(await server.factory.deployment({ projectId, name: 'own' }), { port: 9_005 })
    const first = await get('/v2/discovery/prometheus', {}, token)
    expect(first.body.map(({ targets }: any) => targets)).toEqual([['127.0.0.1:9005']])
    const tag = first.headers.get('etag')!
    expect((await get('/v2/discovery/prometheus', { 'if-none-match': tag }, token)).status).toBe(304)
    await server.db.query(`UPDATE routes SET published_at = NULL WHERE port = 9005`)
    const later = await get('/v2/discovery/prometheus', { 'if-none-match': tag }, token)
    expect([later.status, later.body]).toEqual([200, []])
  })
})

describe('as files', () => {
  test('are written, replaced only on a change, and written again after somebody removed them', async () => {
    const { route } = await web()
    expect(await writeDiscovery(server.db, directory)).toEqual({ done: 2 })
    const { targets, services } = await files()
    expect(targets).toEqual((await get('/v2/discovery/prometheus')).body)
    expect(services).toEqual((await get('/v2/discovery/traefik')).body)
    const before = await stat(join(directory, 'prometheus.json'))
    expect(await writeDiscovery(server.db, directory)).toEqual({ done: 0 })
    expect((await stat(join(directory, 'prometheus.json'))).ino).toBe(before.ino)

    await server.db.query(`UPDATE routes SET published_at = NULL WHERE id = $1`, [route.id])
    expect(await writeDiscovery(server.db, directory)).toEqual({ done: 2 })
    expect(await files()).toEqual({
      targets: [],
      services: { http: { services: { 'web.default': { loadBalancer: { passHostHeader: true } } } } },
    })
    await rm(join(directory, 'traefik.yml'))
    expect(await writeDiscovery(server.db, directory)).toEqual({ done: 1 })
    // No template of Traefik's begins in it.
    expect(await readFile(join(directory, 'traefik.yml'), 'utf8')).not.toContain('{{')
    expect((await readdir(directory)).toSorted()).toEqual(['prometheus.json', 'traefik.yml'])
  })

  test('are never seen half written', async () => {
    await web()
    await writeDiscovery(server.db, directory)
    let reads = 0
    const over = new AbortController()
    const reader = (async () => {
      while (!over.signal.aborted) {
        const { targets, services } = await files()
        expect([Array.isArray(targets), typeof services]).toEqual([true, 'object'])
        reads++
      }
    })()
    for (let n = 0; n < 40; n++) {
      await server.db.query('UPDATE deployment_revisions SET labels = $1', [
        JSON.stringify(n % 2 === 0 ? { long: 'x'.repeat(200) } : {}),
      ])
      await server.db.query('UPDATE routes SET port = $1 WHERE published_at IS NOT NULL', [9_100 + n])
      expect(await writeDiscovery(server.db, directory)).toEqual({ done: 2 })
    }
    over.abort()
    await reader
    expect(reads).toBeGreaterThan(10)
  })

  test('follow a wake at once, and a failed write is repeated when it is possible', async () => {
    const wake = createWakeHub()
    const warnings: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(JSON.parse(line).msg) })
    // A file is in the place of the directory.
    await mkdir(join(parent, 'made'))
    await writeFile(directory, '')
    const service = createDiscoveryService({ db: server.db, log, metrics: createMetrics(), directory })
    wake.on('sync-discovery', service.wake)
    void service.start()
    try {
      await eventually(async () => warnings.some((line) => line.startsWith('sync-discovery failed')))
      await rm(directory)
      await eventually(async () => (await files().catch(() => undefined))?.targets.length === 0)
      await web()
      wake.wake('sync-discovery')
      await eventually(async () => (await files()).targets.length === 1)
    } finally {
      await service.stop()
    }
  })
})
