import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { forEachSeed, type Random, randomOf } from '../../support/seeds.ts'
import { textOfAnswer } from '../../support/servers/event-source.ts'
import { threadTimeOf, watchEventLoop } from '../../support/servers/event-loop-delay.ts'
import { startSecondServer } from '../../support/servers/second-server.ts'
import { type FuzzServer, startFuzzServer } from './fuzz-server.ts'
import { HOSTILE_TEXTS, hostileValues } from './hostile-places.ts'
import { type PlainOperation, plainOperations } from './input-places.ts'
import { openSocket, type OperationSocket } from './operation-socket.ts'
import { bent, randomDocuments } from './random-inputs.ts'
import { internalsIn } from './verdict.ts'

/**
 * Every argument and every input field of the schema, with every hostile value, one at a time. Where several places
 * have the same field of the same input type, each value goes into one of them, and each of them gets a value.
 */
describe('hostile values in every place', () => {
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
    await forEachSeed(async (seed) => expect(await faultsOfAll(requestsOf(randomOf(seed)))).toEqual([]))
    await server.expectWell()
  })

  interface Asked {
    place: string
    payload: string
  }

  async function faultsOfAll(asked: readonly Asked[]): Promise<string[]> {
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
    return faults
  }

  function requestsOf(random: Random): Asked[] {
    const places = operations
      .filter(({ name }) => !name.startsWith('subscription'))
      .flatMap(({ name, query, places: own }) =>
        own.map((place) => ({ ...place, query, name: `${name} ${place.name}` })),
      )
    const alike = Map.groupBy(places, ({ name, field }) => field ?? name)
    return [...alike.values()].flatMap((group) => {
      const { type, listed } = group[0]!
      const values = hostileValues(type)
      const given = [...values.map((value) => [value]), ...(listed ? longLists(values[0]) : [])]
      const turn = random.below(group.length)
      return Array.from({ length: Math.max(group.length, given.length) }, (_, n) => {
        const { name, query, put } = group[(turn + n) % group.length]!
        return { place: name, payload: JSON.stringify({ query, variables: put(given[n % given.length]!) }) }
      })
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
})

describe('random inputs', () => {
  /** Inputs by the thousand from one who may only read. Each sender has a sequence of its own, which its seed reproduces. */
  const INPUTS = 4_000
  const SENDERS = 4
  /** Before that, most of the time goes into compiling what they run. */
  const WARM_UP = 400
  const ASKED_LENGTH_MAX = 60_000
  /** Most of it are the documents that a server remembers; three times as many inputs need no more. */
  const RESIDENT_GROWTH_MAX_BYTES = 1024 * 1024 * 1024

  let server: FuzzServer
  /** On the same database, in a process of its own: what the test does itself must not count. */
  let target: ServerProcess
  const complaints: string[] = []
  /** What a server says of this database at any time after its start. */
  const ABOUT_THE_DATABASE = /REVOKE CONNECT|is a superuser/
  let viewer: string
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS })

  beforeAll(async () => {
    server = await startFuzzServer()
    viewer = await server.factory.token({ role: 'VIEWER', projectId: server.tenant.projectId })
    target = await startSecondServer(
      server.database,
      (line) => void (/"level":[4-6]0/.test(line) && !ABOUT_THE_DATABASE.test(line) && complaints.push(line)),
    )
    complaints.length = 0
  })
  afterAll(async () => {
    agent.destroy()
    await target?.stop()
    await server?.close()
  })

  interface Answered {
    status: number
    text: string
  }

  function send(method: string, path: string, body: string | null): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${viewer}`,
        'content-type': 'application/json',
        'x-graphql-yoga-csrf': '1',
      }
      const asked = request(target.url + path, { method, agent, headers }, (response) => {
        if (response.headers['content-type']?.startsWith('text/event-stream')) {
          // It need not end.
          response.destroy()
          return resolve({ status: response.statusCode!, text: '' })
        }
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve({ status: response.statusCode!, text: Buffer.concat(chunks).toString() }))
      })
      asked
        .on('error', (error: NodeJS.ErrnoException) => {
          // The server closes idle connections, at the same moment as one is used again.
          if (asked.reusedSocket && error.code === 'ECONNRESET') resolve(send(method, path, body))
          else reject(error)
        })
        .end(body)
    })
  }

  /** The faults of an answer: it must have a known form, and show no internals. */
  function faultsOf({ status, text }: Answered, asked: string): string[] {
    const faults = internalsIn(text, asked)
    if (status >= 500) faults.push(`status ${status}`)
    if (text.includes('originalError') && !asked.includes('originalError')) faults.push('an original error')
    if (text === '') return faults
    try {
      const answer: any = JSON.parse(text)
      const untyped = (answer.errors ?? []).filter((error: any) => typeof error.extensions?.code !== 'string')
      if (untyped.length > 0) faults.push(`without a code: ${JSON.stringify(untyped[0]).slice(0, 300)}`)
    } catch {
      faults.push(`no JSON: ${text.slice(0, 200)}`)
    }
    return faults
  }

  interface RestPaths {
    paths: string[]
    parameters: string[]
  }

  async function readRest(): Promise<RestPaths> {
    const document: any = await (await fetch(`${target.url}/v2/openapi.json`)).json()
    const operations = Object.values<any>(document.paths).flatMap((methods) => Object.values<any>(methods))
    const named = operations.flatMap(({ parameters = [] }) => parameters.map(({ name }: { name: string }) => name))
    return { paths: Object.keys(document.paths), parameters: [...new Set<string>(named)] }
  }

  function restRequest({ paths, parameters }: RestPaths, random: Random) {
    const { below, chance, pick } = random
    const text = () =>
      encodeURIComponent(pick([...HOSTILE_TEXTS, '1', 'RUNNING', 'a=b']).replaceAll(/[\ud800-\udfff]/g, '?'))
    const id = chance(0.5) ? String(server.tenant.values['sessionId']) : text()
    const path = pick(paths).replaceAll(/\{\w+\}/g, id)
    const given = Array.from({ length: below(4) }, () => `${chance(0.95) ? pick(parameters) : text()}=${text()}`)
    const method = chance(0.8) ? 'GET' : pick(['POST', 'PATCH', 'DELETE', 'PUT'])
    const search = given.length > 0 ? `?${given.join('&')}` : ''
    const body = method === 'GET' ? null : bent('{"name":"fuzzed","command":["true"],"replicas":1}', random)
    return { method, path: path + search, body }
  }

  function residentBytes(): number {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${target.pid}/status`, 'utf8'))![1]) * 1024
  }

  async function counts(): Promise<object> {
    const tables = [
      'sessions',
      'chains',
      'retry_decisions',
      'resubmissions',
      'webhooks',
      'deployments',
      'api_tokens',
      'users',
      'projects',
    ]
    const columns = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`)
    return (await server.db.query(`SELECT ${columns.join(', ')}`)).rows[0]!
  }

  test(
    `${INPUTS} random inputs: each is answered as it should be, and none keeps others waiting`,
    { timeout: INPUTS * 60 },
    () =>
      forEachSeed(async (seed) => {
        const rest = await readRest()
        const before = await counts()
        const faults: string[] = []
        const seen = { executed: 0, refused: 0 }
        const loop = watchEventLoop(target.url, threadTimeOf(target.pid))
        onTestFinished(() => loop.stop())

        async function sender(number: number): Promise<void> {
          const random = randomOf(seed * SENDERS + number)
          const document = randomDocuments(schema, server.tenant.values, random)
          let socket = await openSocket(target.url, viewer)
          const overSocket = async (payload: string): Promise<string> => {
            const text = await socket.ask(payload)
            if (text.startsWith('closed')) {
              faults.push(`${text}: ${payload.slice(0, 300)}`)
              socket = await openSocket(target.url, viewer)
            }
            return text
          }
          for (let n = number; n < INPUTS; n += SENDERS) {
            if (n === WARM_UP) await loop.begin()
            const way = random.below(20)
            const given = document()
            let asked = JSON.stringify(way < 10 ? given : { ...given, query: bent(given.query, random) })
            let found: string[]
            // A longer one closes the connection, as it should.
            if (asked.length > ASKED_LENGTH_MAX) continue
            if (way < 16) {
              const text = await overSocket(asked)
              if (/^\{"id":"\d+","type":"next","payload":\{"data":\{/.test(text)) seen.executed++
              else seen.refused++
              found = internalsIn(text, asked)
              if (text.includes('originalError')) found.push('an original error')
            } else if (way < 18) {
              if (random.chance(0.7)) asked = bent(asked, random)
              found = faultsOf(await send('POST', '/graphql', asked), asked)
            } else {
              const { method, path, body } = restRequest(rest, random)
              asked = `${method} ${path} ${body}`
              found = faultsOf(await send(method, path, body), decodeURIComponent(asked))
            }
            faults.push(...found.map((fault) => `input ${n}: ${fault.slice(0, 400)} ${asked.slice(0, 600)}`))
          }
          socket.close()
        }

        const resident = residentBytes()
        await Promise.all(Array.from({ length: SENDERS }, (_, number) => sender(number)))
        expect(faults.slice(0, 10)).toEqual([])
        loop.expectFree()
        // Enough of it comes to where it is executed.
        expect(Math.min(seen.executed, seen.refused)).toBeGreaterThan(INPUTS / 20)
        expect(residentBytes() - resident).toBeLessThan(RESIDENT_GROWTH_MAX_BYTES)
        expect(await counts()).toEqual(before)
        expect(complaints).toEqual([])
        await server.expectWell()
      }),
  )
})
