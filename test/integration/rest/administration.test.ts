/** REST: tokens, webhooks and quotas. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
const tokens: Record<'viewer' | 'member' | 'administrator', string> = { viewer: '', member: '', administrator: '' }
let projectId: string

beforeAll(async () => {
  server = await startGraphQLServer()
  projectId = await server.factory.project('administered')
  for (const [who, role] of [
    ['viewer', 'VIEWER'],
    ['member', 'MEMBER'],
    ['administrator', 'ADMIN'],
  ] as const)
    tokens[who] = await server.factory.token({ role, projectId })
})
afterAll(() => server?.close())

interface Answer {
  status: number
  // Answers are read by tests that know what they asked for.
  body: any
}

async function ask(method: string, path: string, body?: unknown, token = server.adminToken): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

const audited = async (action: string) =>
  (
    await server.db.query<{ reason: string | null }>('SELECT reason FROM audit_log WHERE action = $1 ORDER BY id', [
      action,
    ])
  ).rows

describe('tokens', () => {
  test('are created, listed and revoked by administrators', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const input = { name: 'notebooks', role: 'member', project: 'administered', expires_at, reason: 'for a course' }
    const made = await ask('POST', '/v2/tokens', input)
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'notebooks', role: 'MEMBER', project: 'administered', user: null, expires_at, revoked_at: null },
    })
    const { secret, ...shown } = made.body
    expect(secret.startsWith(shown.prefix)).toBe(true)
    expect((await ask('GET', '/v2/sessions', undefined, secret)).status).toBe(200)
    const listed = await ask('GET', '/v2/tokens?role=MEMBER&project=administered&limit=1')
    expect(listed.body.items).toMatchObject([{ id: shown.id }])
    expect(listed.body.items[0]).not.toHaveProperty('secret')
    expect(listed.body.next_cursor).toEqual(expect.any(String))

    expect((await ask('DELETE', `/v2/tokens/${shown.id}?reason=over`)).status).toBe(204)
    expect((await ask('GET', '/v2/tokens?limit=1')).body.items[0].revoked_at).toEqual(expect.any(String))
    expect((await ask('DELETE', `/v2/tokens/${randomUUID()}`)).body.code).toBe('TOKEN_NOT_FOUND')
    expect([await audited('token.create'), await audited('token.revoke')]).toEqual([
      [{ reason: 'for a course' }],
      [{ reason: 'over' }],
    ])
  })

  test('of a project are seen and made by its administrator alone', async () => {
    const { body } = await ask('GET', '/v2/tokens', undefined, tokens.administrator)
    expect(new Set(body.items.map(({ project }: any) => project))).toEqual(new Set(['administered']))
    const made = await ask('POST', '/v2/tokens', { name: 'own', role: 'VIEWER' }, tokens.administrator)
    expect(made).toMatchObject({ status: 201, body: { project: 'administered' } })
    const other = await ask(
      'POST',
      '/v2/tokens',
      { name: 'x', role: 'VIEWER', project: 'default' },
      tokens.administrator,
    )
    expect(other.body.code).toBe('PROJECT_NOT_FOUND')
    const foreign = (await ask('POST', '/v2/tokens', { name: 'x', role: 'VIEWER', project: 'default' })).body.id
    expect((await ask('DELETE', `/v2/tokens/${foreign}`, undefined, tokens.administrator)).status).toBe(404)
    for (const token of [tokens.viewer, tokens.member]) {
      expect((await ask('GET', '/v2/tokens', undefined, token)).body.code).toBe('FORBIDDEN')
      expect((await ask('POST', '/v2/tokens', { name: 'x', role: 'ADMIN' }, token)).body.code).toBe('FORBIDDEN')
      expect((await ask('DELETE', `/v2/tokens/${foreign}`, undefined, token)).body.code).toBe('FORBIDDEN')
    }
    for (const method of ['GET', 'POST'])
      expect((await ask(method, '/v2/tokens', method === 'POST' ? {} : undefined, 'rpr_x')).status).toBe(401)
  })

  test.each([
    {},
    { name: 'x' },
    { name: 5, role: 'ADMIN' },
    { name: '', role: 'ADMIN' },
    { name: 'x', role: 'OWNER' },
    { name: 'x', role: 'VIEWER' },
    { name: 'x', role: 'ADMIN', expires_at: 'tomorrow' },
    { name: 'x', role: 'ADMIN', expires_at: '2001-01-01T00:00:00Z' },
    { name: 'x', role: 'AGENT', resource_groups: 'all' },
    { name: 'x', role: 'ADMIN', secret: 'mine' },
    { name: 'x', role: 'ADMIN', reason: 5 },
    { name: 'x'.repeat(100_000), role: 'ADMIN' },
  ])('refuse bad input (%#)', async (body) => {
    expect((await ask('POST', '/v2/tokens', body)).body).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' })
  })
})

describe('webhooks', () => {
  const input = { url: 'https://example.com/hook', event_types: ['group.ended', 'chain.*'], project: 'administered' }

  test('are created, changed, tested and deleted', async () => {
    const made = await ask('POST', '/v2/webhooks', { ...input, labels: [{ key: 'someKey', value: 'v' }] })
    const { secret, ...shown } = made.body
    expect([made.status, secret]).toEqual([201, expect.stringMatching(/^whsec_/)])
    expect(shown).toMatchObject({
      url: input.url,
      event_types: input.event_types,
      project: 'administered',
      labels: [{ key: 'someKey', value: 'v' }],
      enabled: true,
      skip_group_members: false,
      description: '',
    })
    const path = `/v2/webhooks/${shown.id}`
    expect((await ask('GET', path)).body).toEqual(shown)
    const changed = await ask('PATCH', path, { description: 'ends', labels: null, skip_group_members: true })
    expect(changed.body).toEqual({ ...shown, description: 'ends', labels: [], skip_group_members: true })
    expect(await ask('POST', `${path}/test`)).toEqual({ status: 202, body: { delivery_id: expect.any(String) } })
    expect((await ask('PATCH', path, { enabled: false })).body).toMatchObject({ enabled: false })
    expect((await ask('POST', `${path}/test`)).body).toMatchObject({ status: 409, code: 'WEBHOOK_DISABLED' })
    const listed = await ask('GET', '/v2/webhooks?enabled=false&project=administered')
    expect(listed.body).toEqual({ items: [expect.objectContaining({ id: shown.id })], next_cursor: null })
    expect((await ask('GET', '/v2/webhooks?enabled=true&project=administered')).body.items).toEqual([])
    expect((await ask('DELETE', path)).status).toBe(204)
    for (const [method, at] of [
      ['GET', path],
      ['PATCH', path],
      ['DELETE', path],
      ['POST', `${path}/test`],
    ] as const)
      expect((await ask(method, at, method === 'PATCH' ? {} : undefined)).body.code).toBe('WEBHOOK_NOT_FOUND')
  })

  test('are seen by their project alone, and changed by nobody without the right', async () => {
    const { id } = (await ask('POST', '/v2/webhooks', { ...input, project: 'default' })).body
    const own = (await ask('POST', '/v2/webhooks', { ...input, project: null }, tokens.member)).body
    expect(own.project).toBe('administered')
    const listed = await ask('GET', '/v2/webhooks', undefined, tokens.viewer)
    expect(listed.body.items.map((webhook: any) => webhook.id)).toEqual([own.id])
    for (const [method, suffix] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/test'],
    ] as const) {
      const body = method === 'PATCH' ? {} : undefined
      expect((await ask(method, `/v2/webhooks/${id}${suffix}`, body, tokens.member)).status).toBe(404)
      const seen = await ask(method, `/v2/webhooks/${own.id}${suffix}`, body, tokens.viewer)
      expect([method, seen.status]).toEqual([method, method === 'GET' ? 200 : 403])
    }
    expect((await ask('POST', '/v2/webhooks', input, tokens.viewer)).body.code).toBe('FORBIDDEN')
    expect((await ask('GET', '/v2/webhooks', undefined, 'rpr_x')).status).toBe(401)
  })

  test('refuse bad input', async () => {
    for (const wrong of [
      {},
      { ...input, url: 'ftp://x' },
      { ...input, event_types: [] },
      { ...input, project: 5 },
      { ...input, labels: {} },
      { ...input, secret: 'x' },
    ])
      expect((await ask('POST', '/v2/webhooks', wrong)).body.code).toBe('VALIDATION_FAILED')
    const { id } = (await ask('POST', '/v2/webhooks', input)).body
    for (const wrong of [{ enabled: 'no' }, { url: '' }, { project: 'default' }, { webhook_id: id }, []])
      expect((await ask('PATCH', `/v2/webhooks/${id}`, wrong)).body.code).toBe('VALIDATION_FAILED')
  })
})

describe('quotas', () => {
  const path = '/v2/quotas/project/administered'

  test('are set, replaced and removed by administrators of the cluster', async () => {
    const limits = { slots: [{ slot: 'mem', amount: '64g' }], max_running: 10, max_output_bytes: '1k', reason: 'busy' }
    const set = await ask('PUT', path, limits)
    expect(set).toEqual({
      status: 200,
      body: {
        scope: 'PROJECT',
        name: 'administered',
        slots: [{ slot: 'mem', amount: '68719476736' }],
        max_running: 10,
        max_pending: null,
        max_checkpoint_bytes: null,
        max_output_bytes: 1024,
        usage: { slots: [], running: 0, pending: 0, checkpoint_bytes: 0, output_bytes: 0 },
      },
    })
    for (const token of [server.adminToken, tokens.viewer])
      expect((await ask('GET', '/v2/quotas', undefined, token)).body).toEqual({ items: [set.body] })
    expect((await ask('PUT', path, { max_pending: 3 })).body).toMatchObject({
      slots: [],
      max_running: null,
      max_pending: 3,
    })
    expect((await ask('DELETE', path)).status).toBe(204)
    expect((await ask('GET', '/v2/quotas')).body).toEqual({ items: [] })
    expect((await ask('GET', path)).body).toMatchObject({ max_pending: null })
    expect(await audited('quota.set')).toEqual([{ reason: 'busy' }, { reason: null }, { reason: null }])
  })

  test('need the right, an owner and good input', async () => {
    for (const token of Object.values(tokens)) {
      expect((await ask('PUT', path, { max_pending: 3 }, token)).body.code).toBe('FORBIDDEN')
      expect((await ask('DELETE', path, undefined, token)).body.code).toBe('FORBIDDEN')
    }
    expect((await ask('GET', '/v2/quotas/project/default', undefined, tokens.viewer)).body.code).toBe(
      'PROJECT_NOT_FOUND',
    )
    expect((await ask('GET', '/v2/quotas', undefined, 'rpr_x')).status).toBe(401)
    for (const method of ['GET', 'PUT', 'DELETE'] as const)
      expect((await ask(method, '/v2/quotas/user/nobody', method === 'PUT' ? {} : undefined)).body.code).toBe(
        'USER_NOT_FOUND',
      )
    expect((await ask('PUT', '/v2/quotas/team/administered', {})).status).toBe(422)
    for (const wrong of [
      { max_running: -1 },
      { max_running: '5' },
      { slots: {} },
      { max_output_bytes: 'much' },
      { scope: 'USER' },
      { limit: 1 },
      [],
    ])
      expect((await ask('PUT', path, wrong)).body.code).toBe('VALIDATION_FAILED')
  })
})
