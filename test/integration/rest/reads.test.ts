/** Chains, decisions, kernels, their logs and agents over REST. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEventSource } from '../../support/servers/event-source.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { askRest } from '../../support/servers/rest-client.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const get = (path: string, token?: string) => askRest(server, 'GET', path, { ...(token && { token }) })
const idsOf = (body: { items: { id: string }[] }) => body.items.map(({ id }) => id)

describe('chains', () => {
  test('are listed as GraphQL lists them, page by page, and told one by one', async () => {
    const chains = await Promise.all(
      [1, 2, 3].map((attempts) => server.factory.chain(attempts, { name: 'listed', labels: { team: 'a' } })),
    )
    const asked = '/v2/chains?name=listed&label=team=a&order=attempts&direction=asc'
    const whole = await get(asked)
    expect(whole.status).toBe(200)
    expect(whole.body.items.map((chain: any) => [chain.id, chain.attempts])).toEqual(
      chains.map((chain, index) => [chain[0]!.id, index + 1]),
    )
    const [first] = (await get(`${asked}&limit=1`)).body.items
    const { headers } = await get(`${asked}&limit=1`)
    const next = await get(/<(.*)>/.exec(headers.get('link')!)![1]!)
    expect([first.id, ...idsOf(next.body)]).toEqual(chains.slice(0, 2).map((chain) => chain[0]!.id))
    expect(idsOf((await get(`${asked}&attempts=2..`)).body)).toEqual(chains.slice(1).map((chain) => chain[0]!.id))

    const newest = chains[2]!.at(-1)!
    const one = await get(`/v2/chains/${chains[2]![0]!.id}`)
    expect(one.body).toEqual({ ...whole.body.items[2], total_seconds: expect.any(Number) })
    expect(one.body).toMatchObject({
      name: 'listed',
      project: 'default',
      newest_session_id: newest.id,
      labels: [{ key: 'team', value: 'a' }],
      outlook: { will_retry: expect.any(Boolean), reason: expect.any(String) },
    })
    expect(idsOf((await get(`/v2/sessions/${one.body.id}/attempts`)).body)).toEqual(chains[2]!.map(({ id }) => id))
  })

  test('of another project are not found', async () => {
    const token = await server.factory.token({ role: 'VIEWER', projectId: await server.factory.project('elsewhere') })
    const [session] = await server.factory.chain(1, { name: 'hidden' })
    expect((await get('/v2/chains', token)).body.items).toEqual([])
    for (const path of ['chains/{id}', 'sessions/{id}/kernels', 'sessions/{id}/retry']) {
      expect([path, (await get(`/v2/${path.replace('{id}', session!.id)}`, token)).status]).toEqual([path, 404])
    }
  })
})

test('a session tells what it found of the checkpoint of earlier attempts, alone and in lists', async () => {
  const attempts = await server.factory.chain(3, { name: 'checkpointed' })
  const [first, second, third] = attempts.map(({ id }) => id)
  const [store, note] = [randomUUID(), 'starts without the checkpoint of attempt 2']
  const at = '2026-11-25T12:00:00.123Z'
  await server.db.query(
    `INSERT INTO session_checkpoints (session_id, state, from_attempt, store, bytes, published_at, note)
      VALUES ($1, 'HERE', 1, $3, $4, $6, NULL), ($2, 'MISSING', 2, NULL, NULL, NULL, $5)`,
    [second, third, store, 5_000_000_000, note, at],
  )
  const shown = [
    { state: 'NONE', from_attempt: null, bytes: null, store: null, published_at: null, note: null },
    { state: 'HERE', from_attempt: 1, bytes: 5_000_000_000, store, published_at: at, note: null },
    { state: 'MISSING', from_attempt: 2, bytes: null, store: null, published_at: null, note },
  ]
  const checkpoints = async (path: string) => (await get(path)).body.items.map((session: any) => session.checkpoint)
  expect(await checkpoints(`/v2/sessions/${first}/attempts`)).toEqual(shown)
  expect(await checkpoints('/v2/sessions?name=checkpointed')).toEqual(shown.toReversed())
  expect((await get(`/v2/sessions/${second}`)).body.checkpoint).toEqual(shown[1])
})

test('a decision about a retry tells how it came about, and there is none of what runs', async () => {
  const { id } = await server.factory.session({ status: 'ERROR', phase: 'SCHEDULED', retryPolicy: { maxRetries: 2 } })
  const { status, body } = await get(`/v2/sessions/${id}/retry`)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    session_id: id,
    chain_id: id,
    phase: 'SCHEDULED',
    explanation: expect.any(String),
    holds: [],
    child_session_id: null,
  })
  const running = await server.factory.session({ status: 'RUNNING' })
  expect(await get(`/v2/sessions/${running.id}/retry`)).toMatchObject({ status: 200, body: null })
})

describe('a kernel', () => {
  test('is found by its session, and its output followed to its end, from anywhere', async () => {
    const { id, kernelIds } = await server.factory.session({ status: 'RUNNING', clusterSize: 2 })
    const { body } = await get(`/v2/sessions/${id}/kernels`)
    expect(body.items.map((kernel: any) => [kernel.role, kernel.index, kernel.status])).toEqual([
      ['main', 1, 'RUNNING'],
      ['sub', 1, 'RUNNING'],
    ])
    expect(idsOf(body).toSorted()).toEqual([...kernelIds].toSorted())
    const kernelId = body.items[0].id
    const url = `${server.url}/v2/kernels/${kernelId}/log/follow`
    await server.factory.log(kernelId, 'one\n')
    const source = await openEventSource(url, { token: server.adminToken })
    const [first] = await source.take(1)
    expect(first).toMatchObject({ event: 'chunk', data: { stream: 'STDOUT', offset: 0, text: 'one\n' } })
    await server.factory.log(kernelId, 'two\n')
    const [second] = await source.take(1)
    expect(second!.data.text).toBe('two\n')
    await server.db.query(`UPDATE kernels SET status = 'TERMINATED', terminated_at = now() WHERE id = $1`, [kernelId])
    expect(await source.next()).toMatchObject({ event: 'end' })
    expect(await source.next()).toBeNull()

    const again = await openEventSource(url, { token: server.adminToken, lastEventId: first!.id })
    expect((await again.take(2)).map(({ event, data }) => [event, data.text])).toEqual([
      ['chunk', 'two\n'],
      ['end', undefined],
    ])
  })

  test('of another project, or none, is not followed', async () => {
    const { kernelIds } = await server.factory.session({ status: 'RUNNING' })
    const token = await server.factory.token({ role: 'VIEWER', projectId: await server.factory.project('aside') })
    for (const [kernelId, who] of [
      [kernelIds[0]!, token],
      [randomUUID(), server.adminToken],
    ] as const) {
      const opened = openEventSource(`${server.url}/v2/kernels/${kernelId}/log/follow`, { token: who })
      await expect(opened).rejects.toMatchObject({ body: { code: 'KERNEL_NOT_FOUND' } })
    }
  })
})

test('agents are listed by name, and told one by one', async () => {
  for (const name of ['b', 'a']) await server.factory.agent(name)
  const { body } = await get('/v2/agents?status=alive')
  const shown = body.items.filter(({ name }: { name: string }) => ['a', 'b'].includes(name))
  expect(shown.map(({ name }: { name: string }) => name)).toEqual(['a', 'b'])
  expect(shown[0]).toMatchObject({
    status: 'ALIVE',
    slots: [{ slot: 'cpu', capacity: '1000', used: '0' }, { slot: 'mem' }],
  })
  expect((await get(`/v2/agents/${shown[0].id}`)).body).toEqual(shown[0])
  expect(await get(`/v2/agents/${randomUUID()}`)).toMatchObject({ status: 404, body: { code: 'AGENT_NOT_FOUND' } })
})
