/** Schedules through REST. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

async function ask(method: string, path: string, body?: unknown, token = server.adminToken) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  // Answers are read by tests that know what they asked for.
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

const NIGHTLY = {
  name: 'nightly',
  cron: '30 2 * * *',
  time_zone: 'Europe/Berlin',
  overlap: 'queue',
  catch_up: 3,
  session: { name: 'report', command: ['true'], retry_policy: { max_retries: 2 }, batch_timeout: 60 },
}

test('a schedule is created, read, changed, paused, run, and deleted', async () => {
  const made = await ask('POST', '/v2/schedules', NIGHTLY)
  expect([made.status, made.body]).toEqual([
    201,
    expect.objectContaining({
      name: 'nightly',
      project: 'default',
      cron: '30 2 * * *',
      every: null,
      time_zone: 'Europe/Berlin',
      overlap: 'QUEUE',
      catch_up: 3,
      paused: false,
      session: expect.objectContaining({ command: ['true'], max_retries: 2, batch_timeout: 60 }),
    }),
  ])
  const path = `/v2/schedules/${made.body.id}`
  expect(made.headers.get('location')).toBe(path)
  expect(made.body.next_runs).toHaveLength(5)
  expect(await ask('POST', '/v2/schedules', NIGHTLY)).toMatchObject({ status: 409, body: { code: 'NAME_TAKEN' } })
  const changed = await ask('PATCH', path, { every: 60, jitter: 5 })
  expect(changed).toMatchObject({ status: 200, body: { cron: null, every: 60, jitter: 5, catch_up: 3 } })
  const paused = await ask('POST', `${path}/pause`, { reason: 'holidays' })
  expect(paused.body).toMatchObject({ paused: true, pause_reason: 'holidays', next_run_at: null })
  expect((await ask('GET', '/v2/schedules?paused=true&name=nightly')).body.items).toHaveLength(1)
  expect(await ask('POST', `${path}/run`)).toMatchObject({ status: 201, body: { outcome: 'STARTED', count: 1 } })
  expect(await ask('POST', `${path}/run`)).toMatchObject({ status: 201, body: { outcome: 'QUEUED', chain_id: null } })
  expect((await ask('POST', `${path}/resume`)).body).toMatchObject({ paused: false, queued: 1 })
  const runs = await ask('GET', `${path}/runs?outcome=started`)
  expect(runs.body.items).toEqual([expect.objectContaining({ outcome: 'STARTED' })])
  expect((await ask('GET', `/v2/sessions/${runs.body.items[0].chain_id}`)).body.name).toBe('report')
  expect((await ask('DELETE', path)).status).toBe(204)
  expect(await ask('GET', path)).toMatchObject({ status: 404, body: { code: 'SCHEDULE_NOT_FOUND' } })
})

test.each([
  ['POST', '', {}, ['cron', 'name', 'session']],
  ['POST', '', { ...NIGHTLY, name: 5, paused: 'yes', session: null }, ['name', 'paused', 'session']],
  ['POST', '', { ...NIGHTLY, name: 'x', session: { name: 'x', command: 'true' } }, ['session.command']],
  ['POST', '', { ...NIGHTLY, name: 'x', session: [] }, ['session.command', 'session.name']],
])('%s /v2/schedules%s %j is refused', async (method, path, body, paths) => {
  const answer = await ask(method, `/v2/schedules${path}`, body)
  expect([answer.status, answer.body.code]).toEqual([422, 'VALIDATION_FAILED'])
  const named = answer.body.issues.map((issue: { path: string }) => issue.path) as string[]
  expect(paths.filter((each) => !named.includes(each))).toEqual([])
})

test('a change or a pause with what is not known is refused', async () => {
  const { body } = await ask('POST', '/v2/schedules', { ...NIGHTLY, name: 'strict' })
  const path = `/v2/schedules/${body.id}`
  expect(await ask('PATCH', path, { paused: true })).toMatchObject({ status: 422 })
  expect(await ask('PATCH', path, { name: 7 })).toMatchObject({ status: 422 })
  expect(await ask('PATCH', path, { cron: 5 })).toMatchObject({ status: 422 })
  expect(await ask('POST', `${path}/pause`, { reason: 5 })).toMatchObject({ status: 422 })
  expect(await ask('POST', `${path}/pause`, { until: 'tomorrow' })).toMatchObject({ status: 422 })
})

test('a token of another project finds none of them', async () => {
  const { body } = await ask('POST', '/v2/schedules', { ...NIGHTLY, name: 'private' })
  const token = await server.factory.token({ role: 'MEMBER', projectId: await server.factory.project() })
  const path = `/v2/schedules/${body.id}`
  for (const [method, below, given] of [
    ['GET', '', undefined],
    ['PATCH', '', { every: 5 }],
    ['DELETE', '', undefined],
    ['GET', '/runs', undefined],
    ['POST', '/pause', {}],
    ['POST', '/resume', undefined],
    ['POST', '/run', undefined],
  ] as const) {
    const { status } = await ask(method, `${path}${below}`, given, token)
    expect([method, below, status]).toEqual([method, below, 404])
  }
  expect((await ask('GET', '/v2/schedules', undefined, token)).body.items).toEqual([])
})
