import { afterAll, beforeAll, expect, test } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { textOfAnswer } from '../../support/servers/event-source.ts'
import { startFuzzServer, type FuzzServer } from './fuzz-server.ts'
import { hostileValues } from './hostile-places.ts'
import { plainOperations, type PlainOperation } from './input-places.ts'
import { openSocket, type OperationSocket } from './operation-socket.ts'
import { internalsIn } from './verdict.ts'

/** Every argument and every input field of the schema, with every hostile value, one at a time. */

let server: FuzzServer
let operations: PlainOperation[]
let sockets: OperationSocket[]

beforeAll(async () => {
  server = await startFuzzServer()
  operations = plainOperations(schema, server.tenant.values)
  sockets = await Promise.all(Array.from({ length: 4 }, () => openSocket(server.url, server.adminToken)))
})
afterAll(async () => {
  for (const socket of sockets ?? []) socket.close()
  await server?.close()
})

/** More than any list may have, and as many as a request may have. */
function longLists(value: unknown): unknown[][] {
  const fit = Math.floor(200_000 / (JSON.stringify(value).length + 1))
  return [201, Math.min(19_000, fit)].map((length) => Array.from({ length }, () => value))
}

test('no value in any place is a fault of the server', { timeout: 1_200_000 }, async () => {
  const asked = operations.filter(({ name }) => !name.startsWith('subscription')).flatMap(requestsOf)
  expect(asked.length).toBeGreaterThan(2_000)
  const faults: string[] = []
  await Promise.all(
    sockets.map(async (socket, index) => {
      for (const { place, payload } of asked.filter((_, number) => number % sockets.length === index)) {
        const text = await socket.ask(payload)
        const found = internalsIn(text, payload)
        if (text.startsWith('closed')) found.push(text)
        faults.push(...found.map((fault) => `${place} ${payload.slice(-100)}: ${fault.slice(0, 300)}`))
      }
    }),
  )
  expect(faults).toEqual([])
  await server.expectWell()
})

function requestsOf({ name, query, places }: PlainOperation): { place: string; payload: string }[] {
  return places.flatMap(({ name: place, type, listed, put }) => {
    const values = hostileValues(type)
    const lists = listed ? longLists(values[0]) : []
    return [...values.map((value) => [value]), ...lists].map((given) => ({
      place: `${name} ${place}`,
      payload: JSON.stringify({ query, variables: put(given) }),
    }))
  })
}

test('no parameter of a URL and no field of a body either', { timeout: 1_200_000 }, async () => {
  const texts = ['%00', 'a%00b', '%ED%A0%80', '%FF', '%25_%5C', 'x'.repeat(3_000), '']
  const document: any = await (await fetch(`${server.url}/v2/openapi.json`)).json()
  const asked = Object.entries<any>(document.paths).flatMap(([path, methods]) =>
    Object.entries<any>(methods).flatMap(([method, { parameters = [], requestBody }]) => {
      const known = path.replace(
        '{id}',
        String(server.tenant.values[path.includes('deploy') ? 'deploymentId' : 'sessionId']),
      )
      const inQuery = parameters.filter((each: any) => each.in === 'query').map(({ name }: { name: string }) => name)
      const urls = [
        ...inQuery.flatMap((name: string) => texts.map((text) => `${known}?${name}=${text}`)),
        ...inQuery.map((name: string) => `${known}?label=a%00%3Db&${name}=a%00=`),
        ...(path.includes('{id}') ? texts.map((text) => path.replace('{id}', text)) : []),
      ]
      const bodies = requestBody ? fieldsOf(document, requestBody).flatMap(bodiesWith) : []
      return [
        ...urls.map((url) => ({ method, url, body: undefined })),
        ...bodies.map((body) => ({ method, url: known, body: JSON.stringify(body) })),
      ]
    }),
  )
  expect(asked.length).toBeGreaterThan(200)
  const faults: string[] = []
  for (const { method, url, body } of asked) {
    const headers = { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' }
    const response = await fetch(server.url + url, { method: method.toUpperCase(), headers, body: body ?? null })
    const text = await textOfAnswer(response)
    const found = internalsIn(text, `${decodeURIComponent(url.replaceAll(/%(ED|A0|80|FF)/g, ''))}${body}`)
    if (response.status >= 500) found.push(`status ${response.status}`)
    faults.push(...found.map((fault) => `${method} ${url.slice(0, 100)} ${body?.slice(0, 100)}: ${fault}`))
  }
  expect(faults).toEqual([])
  await server.expectWell()
})

function fieldsOf(document: any, body: any): string[] {
  const { 'application/json': json } = body.content
  // Uploads have no fields.
  if (json === undefined) return []
  const name = json.schema.$ref.split('/').at(-1)
  return Object.keys(document.components.schemas[name].properties)
}

function bodiesWith(field: string): object[] {
  const texts = ['a\0b', 'a\udfffb', 'x'.repeat(3_000)]
  const values = [
    ...texts,
    ...texts.map((text) => [text]),
    texts,
    [{ name: texts[0], value: texts[1] }],
    -1,
    1e308,
    { a: 1 },
  ]
  return values.map((value) => ({ name: 'swept', command: ['true'], [field]: value }))
}
