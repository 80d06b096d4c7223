/** Events as server-sent events: their content, start, receivers and end. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/domain/events.ts'
import { writeDeploymentEvents, writeEvents, type WrittenEvent } from '../../support/database/outbox.ts'
import { eventually } from '../../support/eventually.ts'
import { type EventSource, openEventSource } from '../../support/servers/event-source.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
/** Nothing happens in its project: opened first, so that it has been silent for long when it is looked at. */
let silent: EventSource

beforeAll(async () => {
  server = await startGraphQLServer()
  const projectId = await server.factory.project('silent')
  const token = await server.factory.token({ role: 'VIEWER', projectId })
  silent = await openEventSource(`${server.url}/v2/events`, { token })
})
afterAll(async () => {
  await silent?.close()
  await server?.close()
})

const follow = (query = '', options: { token?: string; lastEventId?: string | undefined } = {}) =>
  openEventSource(`${server.url}/v2/events${query}`, { token: server.adminToken, ...options })

async function happen(...events: WrittenEvent[]): Promise<void> {
  await writeEvents(server.db, events)
  server.wake.wake('events')
}

const created = (chainId: string): WrittenEvent => ({
  sessionId: chainId,
  chainId,
  data: { from: null, to: 'PENDING' },
})

test('an event has its name, its cursor as id, and its data', async () => {
  const source = await follow()
  const chainId = randomUUID()
  const retry = {
    attempt: 1,
    maxAttempts: 3,
    cause: 'OOM_KILLED',
    delaySeconds: 60,
    scheduledAt: '2026-11-21T12:00:00.000Z',
    childSessionId: null,
    reason: 'retry 1 of 2',
  }
  const end = { epoch: 0, attempts: 2, cause: null, reason: 'exit code 0', runningSeconds: 2.5, waitingSeconds: 1 }
  await happen(
    created(chainId),
    { type: 'session.retry_scheduled', sessionId: chainId, chainId, data: retry },
    { type: 'chain.succeeded', sessionId: chainId, chainId, data: end },
  )
  const deploymentId = randomUUID()
  const scaled = { type: 'deployment.scaled', deploymentId, data: { from: 1, to: 3 } } as const
  await writeDeploymentEvents(server.db, [scaled])
  server.wake.wake('events')
  const events = await source.take(4)
  await source.close()
  expect(source.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(source.response.headers.get('cache-control')).toBe('no-store')
  expect(new Set(events.map(({ id }) => id)).size).toBe(4)
  expect(events.map(({ event, data }) => [event, data.type])).toEqual(
    ['session.created', 'session.retry_scheduled', 'chain.succeeded', 'deployment.scaled'].map((type) => [type, type]),
  )
  const about = { session_id: chainId, chain_id: chainId }
  expect(events.map(({ data }) => data.data)).toEqual([
    { ...about, previous_status: null, status: 'PENDING', reason: null },
    {
      ...about,
      attempt: 1,
      max_attempts: 3,
      cause: 'OOM_KILLED',
      reason: 'retry 1 of 2',
      delay_seconds: 60,
      due_at: '2026-11-21T12:00:00.000Z',
      scheduled_at: '2026-11-21T12:00:00.000Z',
      child_session_id: null,
    },
    {
      ...about,
      epoch: 0,
      attempts: 2,
      cause: null,
      reason: 'exit code 0',
      running_seconds: 2.5,
      waiting_seconds: 1,
    },
    { deployment_id: deploymentId, previous_replicas: 1, replicas: 3 },
  ])
  expect(Date.parse(events[0]!.data.timestamp)).not.toBeNaN()
})

test('only the requested events are sent', async () => {
  const [one, two, other] = [randomUUID(), randomUUID(), randomUUID()]
  const sources = await Promise.all(
    [
      `?chain_id=${one},${two.toUpperCase()}&types=session.created`,
      `?session_id=${two}`,
      '?types=SESSION.ERROR,chain.failed',
    ].map((query) => follow(query)),
  )
  const failed = (type: WrittenEvent['type'], id: string) => ({
    ...created(id),
    type,
    data: { from: null, to: 'ERROR' },
  })
  await happen(
    created(other),
    created(one),
    failed('session.error' as const, one),
    created(two),
    failed('session.error' as const, two),
  )
  const received = await Promise.all(sources.map((source) => source.take(2)))
  await Promise.all(sources.map((source) => source.close()))
  expect(received.map((events) => events.map(({ event, data }) => [event, data.data.session_id]))).toEqual([
    [
      ['session.created', one],
      ['session.created', two],
    ],
    [
      ['session.created', two],
      ['session.error', two],
    ],
    [
      ['session.error', one],
      ['session.error', two],
    ],
  ])
})

describe('a client that comes back', () => {
  test.each(['header', 'parameter', 'both'] as const)('misses nothing and gets nothing twice: by %s', async (how) => {
    const chains = Array.from({ length: 6 }, () => randomUUID())
    const query = `?chain_id=${chains.join()}`
    const first = await follow(query)
    await happen(...chains.slice(0, 3).map(created))
    const seen = await first.take(2)
    await first.close()
    await happen(...chains.slice(3).map(created))
    const last = seen.at(-1)!.id
    // A browser keeps its address, and sends its position in a header.
    const after = how === 'header' ? '' : `&after=${how === 'both' ? seen[0]!.id : last}`
    const again = await follow(query + after, how === 'parameter' ? {} : { lastEventId: last })
    const rest = await again.take(4)
    await again.close()
    expect([...seen, ...rest].map(({ data }) => data.data.chain_id)).toEqual(chains)
  })

  test('misses nothing either where it was cut off before its first event', async () => {
    const chainId = randomUUID()
    const first = await follow(`?chain_id=${chainId}`)
    await first.close()
    expect(first.lastId).toBeDefined()
    await happen(created(chainId))
    const again = await follow(`?chain_id=${chainId}`, { lastEventId: first.lastId })
    const [event] = await again.take(1)
    await again.close()
    expect(event!.data.data.chain_id).toBe(chainId)
  })

  test.each([
    ['a cursor that is none', 'nonsense', 'VALIDATION_FAILED'],
    ['a cursor that this database never came to', encodeCursor({ xid: 2n ** 62n, id: 1n }), 'CURSOR_EXPIRED'],
  ])('is reported before anything is streamed of %s', async (_, lastEventId, code) => {
    await expect(follow('', { lastEventId })).rejects.toMatchObject({ body: { code } })
    await expect(follow(`?after=${lastEventId}`)).rejects.toMatchObject({ body: { code } })
  })
})

describe('a viewer of one project', () => {
  test('gets the events of that project, whatever is asked for', async () => {
    const projectId = await server.factory.project('own')
    const token = await server.factory.token({ role: 'VIEWER', projectId })
    const [theirs, own] = [randomUUID(), randomUUID()]
    const sources = await Promise.all(
      ['', '?project=own', `?chain_id=${theirs},${own}`].map((query) => follow(query, { token })),
    )
    await happen(created(theirs), { ...created(own), projectId })
    const received = await Promise.all(sources.map((source) => source.take(1)))
    await Promise.all(sources.map((source) => source.close()))
    expect(received.map(([event]) => event!.data.data.chain_id)).toEqual([own, own, own])
  })

  test('finds no other', async () => {
    const token = await server.factory.token({ role: 'MEMBER', projectId: await server.factory.project('one-of-many') })
    await server.factory.project('another')
    await expect(follow('?project=another', { token })).rejects.toMatchObject({ body: { code: 'PROJECT_NOT_FOUND' } })
  })
})

describe('a stream ends', () => {
  test('on the server when the client has gone', async () => {
    const before = server.bus.subscribers
    const source = await follow()
    expect(server.bus.subscribers).toBe(before + 1)
    await source.close()
    await eventually(() => server.bus.subscribers === before)
  })

  test('at once where only its head is asked for', async () => {
    const before = server.bus.subscribers
    const headers = { authorization: `Bearer ${server.adminToken}` }
    const { status } = await fetch(`${server.url}/v2/events`, { method: 'HEAD', headers })
    expect(status).toBe(200)
    await eventually(() => server.bus.subscribers === before)
  })

  test('when its token ends, with a final event', async () => {
    const projectId = await server.factory.project('revoked')
    const token = await server.factory.token({ role: 'MEMBER', projectId })
    const source = await follow('', { token })
    await server.db.query('UPDATE api_tokens SET revoked_at = now() WHERE prefix = $1', [token.slice(0, 10)])
    expect(await source.next()).toMatchObject({
      event: 'problem',
      data: { code: 'UNAUTHENTICATED', status: 401, request_id: expect.any(String) },
    })
    expect(await source.next()).toBeNull()
  })

  test('when its server stops, with whole events, so that a client continues at another', async () => {
    const other = await startGraphQLServer()
    try {
      const source = await openEventSource(`${other.url}/v2/events`, { token: other.adminToken })
      const closed = other.server.close()
      expect(await source.next()).toBeNull()
      await closed
    } finally {
      await other.close()
    }
  })
})

test('while nothing happens, comments show that it lives', async () => {
  const next = silent.next()
  await eventually(() => silent.comments > 0)
  const { id: projectId } = await server.prisma.project.findFirstOrThrow({ where: { name: 'silent' } })
  await happen({ ...created(randomUUID()), projectId })
  expect(await next).toMatchObject({ event: 'session.created' })
})
