import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { checkProperty, forEachSeed, type SeededTask } from '../../support/seeds.ts'
import { ANSWER_WITHIN_MS, type FuzzServer, startFuzzServer } from './fuzz-server.ts'
import { hostileAnything, hostileCursor, hostileDate, hostileId, hostileNumber, hostileText } from './hostile-values.ts'
import { arbitraryOperation, innerTargets, type Operation, rootTargets, type Target } from './operations.ts'
import { internalsIn } from './verdict.ts'

/** Every route of the OpenAPI document, and paths around them, with requests of every kind that sockets can carry. */
describe('REST', () => {
  const RUNS = 500

  interface Sent {
    method: string
    path: string
    headers: Record<string, string>
    body: Buffer | null
    chunked: boolean
  }

  interface Route {
    method: string
    path: string
    parameters: string[]
    /** The fields of its body; empty if it takes none. */
    fields: string[]
  }

  let server: FuzzServer
  let routes: Route[]

  beforeAll(async () => {
    server = await startFuzzServer()
    const document: any = await (await fetch(`${server.url}/v2/openapi.json`)).json()
    routes = Object.entries<any>(document.paths).flatMap(([path, methods]) =>
      Object.entries<any>(methods).map(([method, { parameters = [], requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        parameters: parameters.filter((each: any) => each.in === 'query').map(({ name }: { name: string }) => name),
        fields: fieldsOf(document, requestBody),
      })),
    )
  })
  afterAll(() => server?.close())

  function fieldsOf(document: any, body: any): string[] {
    const name = body?.content['application/json']?.schema.$ref.split('/').at(-1)
    return name === undefined ? [] : Object.keys(document.components.schemas[name].properties)
  }

  /** A body that the route takes as it is. */
  function plainBody({ path, fields }: Route): object {
    if (fields.includes('name'))
      return { name: path.includes('deployments') ? 'fuzzed' : 'a session', command: ['true'] }
    return fields.includes('replicas') ? { replicas: 1 } : {}
  }

  function arbitraryRequest(): fc.Arbitrary<Sent> {
    const { adminToken, tenant } = server
    const known = fc.constantFrom(
      ...['sessionId', 'deploymentId'].map((name) => String(tenant.values[name])),
      tenant.project,
      'default',
      ...server.cursors,
    )
    const ids = ['sessionId', 'deploymentId'].map((name) => String(tenant.values[name]))
    const id = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...ids) }, hostileId)
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND')
    const given = fc.oneof(
      { weight: 2, arbitrary: known },
      fc.oneof(hostileText, hostileCursor, hostileDate, hostileId),
    )
    const short = given.filter((text) => text.length < 4_000)
    const query = (names: string[]) =>
      fc
        .array(
          fc.tuple(
            fc.constantFrom(...names, 'unknown', '__proto__'),
            fc.oneof(
              short,
              hostileNumber.map((value) => JSON.stringify(value)),
            ),
          ),
          {
            maxLength: 4,
          },
        )
        .map((pairs) => pairs.map(([name, value]) => `${name}=${escaped(value)}`).join('&'))
    // Few requests with a body are as their route takes them.
    const withBody = routes.filter(({ fields }) => fields.length > 0)
    return fc.constantFrom(...routes, ...withBody, ...withBody).chain((route) =>
      fc.record({
        method: fc.oneof({ weight: 6, arbitrary: fc.constant(route.method) }, method),
        path: fc
          .tuple(
            id.filter((text) => text.length < 4_000),
            query(route.parameters),
            fc.constantFrom('', '', '', '/', '//', '/..', '%00', ';a=b'),
          )
          .map(([segment, search, tail]) => {
            const path = route.path.replace('{id}', escaped(segment)) + tail
            return search === '' ? path : `${path}?${search}`
          }),
        headers: arbitraryHeaders(adminToken, tenant.member),
        body: arbitraryBody(route),
        chunked: fc.boolean(),
      }),
    )
  }

  /** Half of a surrogate pair has no form in a URL. */
  function escaped(text: string): string {
    return encodeURIComponent(text.toWellFormed())
  }

  function arbitraryHeaders(...tokens: string[]): fc.Arbitrary<Record<string, string>> {
    const printable = fc.string({ unit: 'grapheme-ascii', maxLength: 200 })
    return fc
      .record(
        {
          authorization: fc.oneof(
            { weight: 8, arbitrary: fc.constantFrom(...tokens.map((token) => `Bearer ${token}`)) },
            fc.constantFrom('Bearer', 'Bearer  ', 'Basic YTpi', `Bearer ${'x'.repeat(5_000)}`, 'Bearer rpr_'),
          ),
          'content-type': fc.oneof(
            { weight: 8, arbitrary: fc.constant('application/json') },
            fc.constantFrom(
              'text/plain',
              'application/json; charset=utf-16',
              'multipart/form-data',
              'application/xml',
              ';',
            ),
          ),
          'content-encoding': fc.constantFrom('gzip', 'br', 'identity', 'nonsense', 'gzip, gzip'),
          accept: fc.constantFrom('*/*', 'application/xml', 'text/html', ';;;q=x'),
          'if-none-match': fc.oneof(fc.constantFrom('*', '"', 'W/""', ','.repeat(3_000)), printable),
          'x-request-id': printable,
          host: fc.constantFrom(
            'localhost',
            'a b',
            '[::1',
            'a/b',
            'é'.normalize('NFD').slice(0, 1),
            'x'.repeat(300),
            '@:99999',
          ),
          'x-forwarded-for': printable,
          range: fc.constantFrom('bytes=0-1', 'bytes=-'),
          expect: fc.constantFrom('100-continue'),
        },
        { requiredKeys: [] },
      )
      .chain((headers) =>
        // Most say who they are and what they send, so that the rest is reached.
        fc.nat(3).map((style) => {
          const { host: _host, 'content-encoding': _encoding, ...others } = headers
          const sound = { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' }
          return style > 0 ? { ...others, ...sound } : headers
        }),
      )
  }

  function arbitraryBody(route: Route): fc.Arbitrary<Buffer | null> {
    const plain = plainBody(route)
    const input = fc
      .dictionary(fc.constantFrom(...route.fields, 'unknown', '__proto__'), hostileAnything, { maxKeys: 3 })
      .map((given) => ({ ...plain, ...given }))
    const json = fc
      .oneof({ weight: 9, arbitrary: input }, fc.constant(plain), hostileAnything)
      .map((value) => JSON.stringify(value))
    const text = fc.oneof(
      { weight: 6, arbitrary: json },
      fc.constantFrom(
        '',
        '{',
        '{"name":',
        '\ufeff{}',
        'null',
        '[]',
        '"',
        '{"a":1,"a":2}',
        '['.repeat(100_000),
        '{"__proto__":{"a":1}}',
      ),
      fc.tuple(json, fc.nat(30)).map(([whole, cut]) => whole.slice(0, cut)),
    )
    return fc.oneof(
      { weight: 12, arbitrary: text.map((each) => Buffer.from(each)) },
      text.map((each) => gzipSync(each)),
      text.map((each) => Buffer.from(each, 'utf16le')),
      fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(null),
    )
  }

  interface Answer {
    status: number
    type: string
    text: string
  }

  async function send({ method, path, headers, body, chunked }: Sent): Promise<Answer> {
    const { hostname, port } = new URL(server.url)
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const framed = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body?.length) }
    const length = body === null ? {} : framed
    const { expect: _, ...sent } = headers
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
    const outgoing = request({ hostname, port, method, path, headers: { ...sent, ...length }, agent: false, signal })
    outgoing.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      const type = response.headers['content-type'] ?? ''
      const answer = () => resolve({ status: response.statusCode!, type, text: Buffer.concat(chunks).toString() })
      response.on('end', answer)
      // It need not end.
      if (type.startsWith('text/event-stream')) response.once('data', () => (answer(), response.destroy()))
    })
    if (body !== null) outgoing.write(body)
    outgoing.end()
    return promise
  }

  test('no request to a route brings the server to a fault', { timeout: 600_000 }, async () => {
    const statuses = new Map<number, number>()
    await checkProperty(
      fc.asyncProperty(arbitraryRequest(), async (sent) => {
        const { status, type, text } = await send(sent)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        const asked = `${decodeURIComponent(sent.path)}${sent.path}${String(sent.body)}${JSON.stringify(sent.headers)}`
        const faults = internalsIn(text, asked)
        if (status >= 500) faults.push(`status ${status}: ${text.slice(0, 500)}`)
        if (
          status >= 400 &&
          sent.method !== 'HEAD' &&
          sent.path.startsWith('/v2/') &&
          !type.startsWith('application/problem+json')
        ) {
          faults.push(`${status} is no problem+json but ${type}: ${text.slice(0, 200)}`)
        }
        expect(faults).toEqual([])
      }),
      { numRuns: RUNS },
    )
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 201, 400, 401, 404, 405, 422]))
    await server.expectWell()
  })
})

/** Every field that takes arguments, with random and hostile ones, over real HTTP. */
describe('GraphQL', () => {
  const RUNS_PER_FIELD = 6
  const ROUNDS_MAX = 40

  let server: FuzzServer

  beforeAll(async () => {
    server = await startFuzzServer()
  })
  afterAll(() => server?.close())

  const targets = [
    ...rootTargets(schema, schema.getMutationType()!, 'mutation'),
    ...rootTargets(schema, schema.getQueryType()!, 'query'),
  ]

  async function send(operation: Operation, token: string): Promise<{ faults: string[]; answer: any }> {
    const body = JSON.stringify(operation)
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const text = await response.text()
    const faults = [...(response.status >= 500 ? [`status ${response.status}`] : []), ...internalsIn(text, body)]
    return { faults, answer: JSON.parse(text) }
  }

  async function fuzz(target: Target, task: SeededTask): Promise<void> {
    await forEachSeed(async (seed) => {
      let reached = false
      // At least one request is executed, or nothing would be tested: a large input needs more tries.
      for (let round = 0; !reached && round < ROUNDS_MAX; round++) reached = await sendMany(target, seed + round)
      expect([target.name, reached]).toEqual([target.name, true])
    }, task)
  }

  /** @returns whether any of them was executed */
  async function sendMany(target: Target, seed: number): Promise<boolean> {
    const { adminToken, tenant, cursors } = server
    const known = { values: tenant.values, cursors }
    let reached = false
    await fc.assert(
      fc.asyncProperty(
        arbitraryOperation(target, known),
        fc.constantFrom(adminToken, tenant.member),
        async (operation, token) => {
          const { faults, answer } = await send(operation, token)
          reached ||= answer.data != null
          expect(faults).toEqual([])
        },
      ),
      { seed, numRuns: RUNS_PER_FIELD, endOnFailure: true },
    )
    return reached
  }

  describe.concurrent('arguments of', () => {
    // oxlint-disable-next-line vitest/valid-title -- a name is a string
    for (const target of targets) test(target.name, { timeout: 600_000 }, ({ task }) => fuzz(target, task))

    test('fields further in', { timeout: 600_000 }, async ({ task }) => {
      const inner = innerTargets(schema, server.tenant.values)
      expect(inner.length).toBeGreaterThan(6)
      for (const target of inner) await fuzz(target, task)
    })
  })

  test('afterwards the server is well', () => server.expectWell())
})
