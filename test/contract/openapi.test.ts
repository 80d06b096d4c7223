import { validate } from '@readme/openapi-parser'
import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tableRows } from '../guard/document-tables.ts'
import { startGraphQLServer, type TestServer } from '../support/servers/graphql-server.ts'
import { endSession } from '../support/sessions/end-session.ts'

/** The OpenAPI document is valid, and true to what the server answers to its own examples. */

let server: TestServer
let document: any

beforeAll(async () => {
  server = await startGraphQLServer()
  document = await (await fetch(`${server.url}/v2/openapi.json`)).json()
})
afterAll(() => server?.close())

test('is valid OpenAPI 3.1', async () => {
  const result = await validate(structuredClone(document))
  expect(result).toMatchObject({ valid: true })
})

test('describes each operation, under a unique name', () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path as object))
  expect(operations.length).toBeGreaterThanOrEqual(5)
  for (const { summary, operationId } of operations)
    expect([typeof summary, typeof operationId]).toEqual(['string', 'string'])
  const names = operations.map(({ operationId }) => operationId)
  expect(new Set(names).size).toBe(names.length)
})

test('shows a table of delays in seconds, and takes text as well', () => {
  const { RetryPolicy, SessionInput } = document.components.schemas
  const itemsOf = ({ delays }: any) => (delays.anyOf ?? [delays]).find(({ items }: any) => items !== undefined).items
  expect(itemsOf(RetryPolicy.properties)).toEqual({ type: 'number' })
  expect(itemsOf(SessionInput.properties.retry_policy.properties)).toEqual({ type: ['number', 'string'] })
})

test('takes text for durations, and shows seconds', () => {
  const { RetryPolicy, SessionInput, SessionsWaitInput, ScheduleInput, DeploymentInput } = document.components.schemas
  const either = ['number', 'string']
  const { retry_policy, batch_timeout, stop_grace } = SessionInput.properties
  const { retry_delay, max_elapsed, rules } = retry_policy.properties
  expect([retry_delay.type, max_elapsed.type.toSorted()]).toEqual([either, ['null', ...either]])
  expect([rules.items.properties.delay.type, rules.items.properties.scale_timeout.properties.max.type]).toEqual([
    either,
    either,
  ])
  for (const { anyOf } of [batch_timeout, stop_grace]) expect(anyOf[0].type).toEqual(either)
  expect(SessionsWaitInput.properties.timeout).toEqual({ minimum: 0, maximum: 60, type: either })
  expect([ScheduleInput.properties.jitter.type, DeploymentInput.properties.drain.type]).toEqual([either, either])
  expect(RetryPolicy.properties.retry_delay.type).toBe('number')
})

test('docs/rest.md has a table of its operations, with their summaries', async () => {
  const operations = Object.entries<Record<string, { summary: string }>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary }]) => [method.toUpperCase(), `\`${path}\``, summary]),
  )
  expect((await tableRows('docs/rest.md')).toSorted(inOrder)).toEqual(operations.toSorted(inOrder))
})

const inOrder = (one: readonly string[], other: readonly string[]) => (one.join(' ') < other.join(' ') ? -1 : 1)

describe('is true', () => {
  let matches: (schema: object, value: unknown) => string[]

  beforeAll(() => {
    const ajv = addFormats.default(new Ajv2020.default({ strict: false, allErrors: true }))
    ajv.addSchema({ $id: 'doc', ...document })
    matches = (schema, value) => {
      const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc#/components'))
      const check = ajv.compile(local)
      if (check(value)) return []
      return check.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`)
    }
  })

  async function call(method: string, path: string, init: RequestInit = {}) {
    const headers = { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' }
    const response = await fetch(`${server.url}${path}`, { method, headers, ...init })
    return { response, body: await response.json() }
  }

  /** Each answer has a status that the document knows, and is as it says. */
  function assertAsDocumented(template: string, method: string, response: Response, body: unknown): void {
    const operation = document.paths[template][method]
    const documented = operation.responses[response.status]
    expect(documented, `${method} ${template} ${response.status}`).toBeDefined()
    const type = response.headers.get('content-type')!.split(';')[0]!
    const { schema } = documented.content[type]
    expect(matches(schema, body)).toEqual([])
  }

  test('of the example of POST, and of everything about the session that it makes', async () => {
    const template = '/v2/sessions'
    const { schema, example } = document.paths[template].post.requestBody.content['application/json']
    expect(matches(schema, example)).toEqual([])
    const created = await call('POST', template, { body: JSON.stringify(example) })
    expect(created.response.status).toBe(201)
    assertAsDocumented(template, 'post', created.response, created.body)
    const again = await call('POST', template, { body: JSON.stringify(example) })
    expect(again.response.status).toBe(200)
    assertAsDocumented(template, 'post', again.response, again.body)

    const { id } = created.body
    for (const [method, path] of [
      ['get', '/v2/sessions'],
      ['get', '/v2/sessions/{id}'],
      ['get', '/v2/sessions/{id}/attempts'],
      ['get', '/v2/sessions/{id}/kernels'],
      ['get', '/v2/sessions/{id}/retry'],
      ['get', '/v2/chains'],
      ['get', '/v2/chains/{id}'],
      ['get', '/v2/agents'],
      ['get', '/v2/volumes'],
      ['delete', '/v2/sessions/{id}'],
      ['delete', '/v2/sessions/{id}'],
    ] as const) {
      const { response, body } = await call(method.toUpperCase(), path.replace('{id}', id))
      assertAsDocumented(path, method, response, body)
    }
  })

  test('of the example about a retry, and of its outcome', async () => {
    const { id } = await server.factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 } })
    const template = '/v2/sessions/{id}/retry'
    const { schema, example } = document.paths[template].patch.requestBody.content['application/json']
    const { components } = document
    expect(matches({ ...schema, components }, example)).toEqual([])
    for (const [method, path] of [
      ['patch', template],
      ['post', `${template}/now`],
      ['delete', template],
      ['delete', template],
      ['patch', template],
    ] as const) {
      const init = method === 'patch' ? { body: JSON.stringify(example) } : {}
      const { response, body } = await call(method.toUpperCase(), path.replace('{id}', id), init)
      assertAsDocumented(path, method, response, body)
    }
  })

  test('of the examples about resubmission, and of their results', async () => {
    const [one, another] = [
      await server.factory.session({ status: 'ERROR' }),
      await server.factory.session({ status: 'ERROR', phase: 'SCHEDULED', retryPolicy: { maxRetries: 1 } }),
    ]
    const single = '/v2/sessions/{id}/resubmit'
    const many = '/v2/bulk-actions'
    for (const [template, id] of [
      [single, one.id],
      [single, one.id],
      [many, ''],
    ] as const) {
      const { schema, example } = document.paths[template].post.requestBody.content['application/json']
      expect(matches(schema, example)).toEqual([])
      const answer = await call('POST', template.replace('{id}', id), { body: JSON.stringify(example) })
      assertAsDocumented(template, 'post', answer.response, answer.body)
    }
    const body = { session_ids: [one.id, another.id] }
    const dry = await call('POST', many, { body: JSON.stringify({ ...body, dry_run: true }) })
    assertAsDocumented(many, 'post', dry.response, dry.body)
    const { response, body: made } = await call('POST', many, { body: JSON.stringify(body) })
    assertAsDocumented(many, 'post', response, made)
    for (const [method, template] of [
      ['get', many],
      ['get', `${many}/{id}`],
      ['get', `${many}/{id}/items`],
      ['post', `${many}/{id}/abort`],
    ] as const) {
      const answer = await call(method.toUpperCase(), template.replace('{id}', made.id))
      assertAsDocumented(template, method, answer.response, answer.body)
    }
    const retry = await call('GET', `/v2/sessions/${another.id}/retry`)
    assertAsDocumented('/v2/sessions/{id}/retry', 'get', retry.response, retry.body)
  })

  test('of the examples about deployments, and of everything about the one that is made', async () => {
    const template = '/v2/deployments'
    const exampleOf = (path: string, method: string) => {
      const { schema, example } = document.paths[path][method].requestBody.content['application/json']
      expect(matches(schema, example)).toEqual([])
      return JSON.stringify(example)
    }
    const created = await call('POST', template, { body: exampleOf(template, 'post') })
    expect(created.response.status).toBe(201)
    expect(created.response.headers.get('location')).toBe(`/v2/deployments/${created.body.id}`)
    assertAsDocumented(template, 'post', created.response, created.body)
    const again = await call('POST', template, { body: exampleOf(template, 'post') })
    expect(again.response.status).toBe(200)

    const one = '/v2/deployments/{id}'
    for (const [method, path] of [
      ['get', template],
      ['get', one],
      ['patch', one],
      ['post', `${one}/scale`],
      ['get', `${one}/endpoints`],
      ['delete', one],
      ['delete', one],
      ['get', '/v2/discovery/prometheus'],
      ['get', '/v2/discovery/traefik'],
    ] as const) {
      const body = method === 'patch' || method === 'post' ? { body: exampleOf(path, method) } : {}
      const answer = await call(method.toUpperCase(), path.replace('{id}', created.body.id), body)
      expect([path, answer.response.ok]).toEqual([path, true])
      assertAsDocumented(path, method, answer.response, answer.body)
    }
    const late = await call('PATCH', one.replace('{id}', created.body.id), { body: '{"priority": 1}' })
    expect(late.response.status).toBe(409)
    assertAsDocumented(one, 'patch', late.response, late.body)
  })

  test('of the examples about many sessions, groups, webhooks, tokens and quotas', async () => {
    const asked = async (method: string, template: string, id = '', other?: object) => {
      const path = template
        .replace('{id}', id)
        .replace('{scope}/{name}', 'project/default')
        .replace('{project}', 'default')
      const { schema, example } = document.paths[template][method].requestBody?.content['application/json'] ?? {}
      const given = other ?? example
      if (schema) expect(matches(schema, given)).toEqual([])
      const answer = await call(method.toUpperCase(), path, given && { body: JSON.stringify(given) })
      assertAsDocumented(template, method, answer.response, answer.body)
      return answer.body
    }
    const { results, group } = await asked('post', '/v2/sessions/bulk')
    const refused = { sessions: [{ name: 'x', command: ['true'], project: 'nowhere' }] }
    expect((await asked('post', '/v2/sessions/bulk', '', refused)).results).toMatchObject([{ status: 404 }])
    const ids = results.map(({ session }: any) => session.id)
    await endSession(server, ids[0], 0)
    const waited = await asked('post', '/v2/sessions/wait', '', { session_ids: ids, timeout: '0s', any: true })
    expect([waited.ended.length, waited.pending.length]).toEqual([1, 1])
    await asked('post', '/v2/sessions/wait')
    for (const path of ['/v2/groups', '/v2/groups/{id}', '/v2/groups/{id}/members']) await asked('get', path, group.id)
    const found = await call('GET', '/v2/groups/by-key?key=shards-2026-11-30')
    assertAsDocumented('/v2/groups/by-key', 'get', found.response, found.body)
    for (const what of ['sessions', 'resubmit', 'cancel', 'cancel'])
      await asked('post', `/v2/groups/{id}/${what}`, group.id)
    await asked('post', '/v2/groups/{id}/wait', group.id, { timeout: 0 })

    const webhook = (await asked('post', '/v2/webhooks')).id
    for (const method of ['get', 'patch']) await asked(method, '/v2/webhooks/{id}', webhook)
    await asked('get', '/v2/webhooks')
    await asked('post', '/v2/webhooks/{id}/test', webhook)
    await asked('post', '/v2/tokens')
    await asked('get', '/v2/tokens')
    for (const method of ['put', 'get']) await asked(method, '/v2/quotas/{scope}/{name}')
    expect((await asked('get', '/v2/quotas')).items).toHaveLength(1)
    for (const method of ['put', 'get']) {
      expect((await asked(method, '/v2/failure-rules/{project}')).rules).toHaveLength(1)
    }
  })

  test('of deployments with routes', async () => {
    for (const status of ['READY', 'DESTROYED'] as const) {
      const deployment = await server.factory.deployment({ status, labels: { team: 'a' } })
      await server.factory.route(deployment, { published: status === 'READY' })
      const endpoints = await call('GET', `/v2/deployments/${deployment.id}/endpoints`)
      expect(endpoints.body.items).toHaveLength(status === 'READY' ? 1 : 0)
      assertAsDocumented('/v2/deployments/{id}/endpoints', 'get', endpoints.response, endpoints.body)
    }
    for (const path of ['/v2/deployments', '/v2/discovery/prometheus', '/v2/discovery/traefik']) {
      const { response, body } = await call('GET', path)
      assertAsDocumented(path, 'get', response, body)
    }
  })

  test('of sessions in every status, and of a chain', async () => {
    for (const status of ['PENDING', 'RUNNING', 'TERMINATED', 'ERROR', 'CANCELLED'] as const) {
      await server.factory.session({ status, retryPolicy: { maxRetries: 1 } })
    }
    const chain = await server.factory.chain(3)
    const list = await call('GET', '/v2/sessions?limit=100')
    expect(list.body.items.length).toBeGreaterThan(8)
    assertAsDocumented('/v2/sessions', 'get', list.response, list.body)
    const attempts = await call('GET', `/v2/sessions/${chain[0]!.id}/attempts`)
    assertAsDocumented('/v2/sessions/{id}/attempts', 'get', attempts.response, attempts.body)
    for (const query of ['', `?with=${chain[2]!.id}`]) {
      const compared = await call('GET', `/v2/sessions/${chain[1]!.id}/comparison${query}`)
      expect(compared.response.status).toBe(200)
      assertAsDocumented('/v2/sessions/{id}/comparison', 'get', compared.response, compared.body)
    }
  })

  test.each([
    ['post', '/v2/sessions', '/v2/sessions', '{'],
    ['post', '/v2/sessions', '/v2/sessions', '{"name":""}'],
    ['post', '/v2/sessions', '/v2/sessions', '{"name":"x","command":["a"],"project":"none"}'],
    ['get', '/v2/sessions', '/v2/sessions?limit=0', undefined],
    ['get', '/v2/sessions/{id}', '/v2/sessions/nonsense', undefined],
    ['get', '/v2/sessions/{id}', '/v2/sessions/00000000-0000-4000-8000-000000000000', undefined],
    ['delete', '/v2/sessions/{id}', '/v2/sessions/00000000-0000-4000-8000-000000000000', undefined],
    ['patch', '/v2/sessions/{id}/retry', '/v2/sessions/nonsense/retry', '{}'],
    ['post', '/v2/sessions/{id}/retry/now', '/v2/sessions/00000000-0000-4000-8000-000000000000/retry/now', undefined],
    ['post', '/v2/deployments', '/v2/deployments', 'null'],
    ['post', '/v2/deployments', '/v2/deployments', '{"name":"A"}'],
    ['get', '/v2/deployments', '/v2/deployments?status=GONE', undefined],
    ['patch', '/v2/deployments/{id}', '/v2/deployments/00000000-0000-4000-8000-000000000000', '{}'],
    ['patch', '/v2/deployments/{id}', '/v2/deployments/00000000-0000-4000-8000-000000000000', '[]'],
    ['delete', '/v2/deployments/{id}', '/v2/deployments/nonsense', undefined],
  ])('of the refusal of %s %s (%s)', async (method, template, path, body) => {
    const { response, body: answer } = await call(method.toUpperCase(), path, body === undefined ? {} : { body })
    expect(response.status).toBeGreaterThanOrEqual(400)
    assertAsDocumented(template, method, response, answer)
  })

  test('of the inputs of the service: the document refuses the same', () => {
    const { schema } = document.paths['/v2/sessions'].post.requestBody.content['application/json']
    for (const wrong of [
      {},
      { name: 1, command: ['a'] },
      { name: 'x', command: 'a' },
      { name: 'x', command: ['a'], priority: 101 },
    ]) {
      expect(matches(schema, wrong)).not.toEqual([])
    }
  })
})
