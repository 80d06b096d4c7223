/** REST: requests that wait for the ends of sessions. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WAIT_ANSWERED_WITHIN_SECONDS, WAIT_MAX_SECONDS } from '../../../src/domain/limits.ts'
import { createEventBus } from '../../../src/events/bus.ts'
import { createEndWaits } from '../../../src/events/end-waits.ts'
import { REQUEST_LIMITS } from '../../../src/http/request-limits.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { askRest, type RestAnswer } from '../../support/servers/rest-client.ts'
import { endSession } from '../../support/sessions/end-session.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer({ admission: { requestsAtOnce: 4 } })
})
afterAll(() => server?.close())

const wait = (body: object, token?: string) =>
  askRest(server, 'POST', '/v2/sessions/wait', { body, ...(token && { token }) })
const running = () => server.factory.session({ status: 'RUNNING', retryPolicy: { maxRetries: 1 } })

const end = (id: string, exitCode: number) => endSession(server, id, exitCode)

/** Resolves once this number of requests wait. They are the only subscribers of the bus, all together. */
const waiting = (number: 0 | 1) => eventually(() => server.bus.subscribers === number)

describe('POST /v2/sessions/wait', () => {
  test('responds when the chains of all sessions have ended', async () => {
    const [one, other] = [await running(), await running()]
    const ids = [one.id, other.id.toUpperCase(), one.id]
    const asked = wait({ session_ids: ids, timeout: 60 })
    await waiting(1)
    await end(one.id, 0)
    const some = await wait({ session_ids: ids, timeout: 0 })
    expect(some.body).toEqual({
      ended: [expect.objectContaining({ session_id: one.id, state: 'SUCCEEDED', exit_code: 0 })],
      pending: [other.id],
    })
    await end(other.id, 0)
    const { status, body } = await asked
    expect([status, body.pending]).toEqual([200, []])
    expect(body.ended).toEqual(
      [one, other].map(({ id }) => ({
        session_id: id,
        chain_id: id,
        state: 'SUCCEEDED',
        newest_session_id: id,
        attempts: 1,
        exit_code: 0,
        cause: null,
        reason: 'task-ended',
        ended_at: expect.any(String),
      })),
    )
    await waiting(0)
  })

  test('with `any`, responds to the first end; a failed attempt that is retried is none', async () => {
    const [first, retried] = [await running(), await running()]
    const asked = wait({ session_ids: [retried.id, first.id], timeout: 60, any: true })
    await waiting(1)
    await end(retried.id, 3)
    await end(first.id, 0)
    const { body } = await asked
    expect(body).toMatchObject({ ended: [{ session_id: first.id }], pending: [retried.id] })
    const known = await wait({ session_ids: [first.id, retried.id], timeout: '1m', any: true })
    expect(known.body).toMatchObject({ ended: [{ session_id: first.id }], pending: [retried.id] })
    await askRest(server, 'DELETE', `/v2/sessions/${retried.id}/retry`)
    const cancelled = await wait({ session_ids: [retried.id], timeout: 60 })
    expect(cancelled.body.ended).toMatchObject([{ state: 'CANCELLED', exit_code: 3, cause: 'KERNEL_NONZERO_EXIT' }])
  })

  test('responds when the time is over', async () => {
    const { id } = await running()
    expect((await wait({ session_ids: [id], timeout: 0.01 })).body).toEqual({ ended: [], pending: [id] })
    await waiting(0)
  })

  test('is answered before a proxy, or the server, cuts a silent connection', () => {
    expect(WAIT_ANSWERED_WITHIN_SECONDS * 1_000).toBeLessThan(REQUEST_LIMITS.stalledAfterMs)
    expect(WAIT_ANSWERED_WITHIN_SECONDS).toBeLessThanOrEqual(WAIT_MAX_SECONDS)
  })

  test('waits for the chain, whichever of its attempts is named', async () => {
    const chain = await server.factory.chain(3, { status: 'TERMINATED' })
    const { body } = await wait({ session_ids: chain.map(({ id }) => id), timeout: 60 })
    expect(body.ended).toMatchObject(
      chain.map(({ id }) => ({ session_id: id, chain_id: chain[0]!.id, newest_session_id: chain[2]!.id, attempts: 3 })),
    )
  })

  test('takes no turn of the token while it waits', async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, running))
    const ids = sessions.map(({ id }) => id)
    const asked: Promise<RestAnswer>[] = []
    for (let at = 0; at < 40; at++) asked.push(wait({ session_ids: ids, timeout: 60 }))
    await waiting(1)
    expect((await askRest(server, 'GET', '/v2/sessions?limit=1')).status).toBe(200)
    for (const id of ids) await end(id, 0)
    for (const { body } of await Promise.all(asked)) expect([body.ended.length, body.pending]).toEqual([10, []])
    await waiting(0)
  })

  test('ends with its client, and leaves nothing behind', async () => {
    const { id } = await running()
    const leaving = new AbortController()
    const asked = fetch(`${server.url}/v2/sessions/wait`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ session_ids: [id], timeout: 60 }),
      signal: leaving.signal,
    })
    asked.catch(() => {})
    await waiting(1)
    leaving.abort()
    await waiting(0)
    await expect(asked).rejects.toThrow('aborted')
  })

  test('ends with its token', async () => {
    const { id } = await running()
    const token = await server.factory.token({ role: 'MEMBER', projectId: (await defaultProject()).id })
    const asked = wait({ session_ids: [id], timeout: 60 }, token)
    await waiting(1)
    await server.db.query('UPDATE api_tokens SET revoked_at = now() WHERE role = $1', ['MEMBER'])
    expect(await asked).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
  })

  test('responds at once when the server stops', async () => {
    const stopping = await startGraphQLServer()
    const { id } = await stopping.factory.session({ status: 'RUNNING' })
    const asked = askRest(stopping, 'POST', '/v2/sessions/wait', { body: { session_ids: [id], timeout: 60 } })
    await eventually(() => stopping.bus.subscribers === 1)
    await stopping.close()
    expect(await asked).toMatchObject({ status: 200, body: { ended: [], pending: [id] } })
  })

  test('is open to a VIEWER, and to nobody for another project', async () => {
    const { id } = await server.factory.session({ status: 'TERMINATED' })
    const viewer = await server.factory.token({ role: 'VIEWER', projectId: (await defaultProject()).id })
    const body = { session_ids: [id], timeout: 60 }
    expect((await wait(body, viewer)).body.ended).toHaveLength(1)
    const projectId = await server.factory.project('waits-elsewhere')
    const stranger = await server.factory.token({ role: 'ADMIN', projectId })
    expect(await wait(body, stranger)).toMatchObject({ status: 404, body: { code: 'SESSION_NOT_FOUND' } })
    expect((await wait(body, 'rpr_none')).status).toBe(401)
  })

  test.each([
    {},
    { session_ids: [], timeout: 1 },
    { session_ids: ['one'], timeout: 1 },
    { session_ids: [randomUUID()] },
    { session_ids: [randomUUID()], timeout: 61 },
    { session_ids: [randomUUID()], timeout: -1 },
    { session_ids: [randomUUID()], timeout: 'soon' },
    { session_ids: [randomUUID()], timeout: 1, any: 'yes' },
    { session_ids: Array.from({ length: 1_001 }, () => randomUUID()), timeout: 1 },
  ])('refuses bad input (%#)', async (body) => {
    expect(await wait(body)).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } })
  })
})

describe('POST /v2/groups/{id}/wait', () => {
  const createGroup = async () => {
    const sessions = ['one', 'two'].map((name) => ({ name, command: ['true'] }))
    const made = await askRest(server, 'POST', '/v2/sessions/bulk', { body: { sessions, group: { name: 'waited' } } })
    return { id: made.body.group.id, members: made.body.results.map(({ session }: any) => session.id) }
  }
  const waitFor = (id: string, timeout: unknown) =>
    askRest(server, 'POST', `/v2/groups/${id}/wait`, { body: { timeout } })

  test('responds when the group has ended, or the time is over', async () => {
    const { id, members } = await createGroup()
    const asked = waitFor(id, 60)
    await waiting(1)
    await end(members[0], 0)
    expect((await waitFor(id, 0)).body).toMatchObject({ id, state: 'RUNNING', counts: { succeeded: 1 }, progress: 0.5 })
    await end(members[1], 3)
    const ended = { id, state: 'FAILED', outcome: 'FAILED', counts: { succeeded: 1, failed: 1 }, progress: 1 }
    expect(await asked).toMatchObject({ status: 200, body: { ...ended, ended_at: expect.any(String) } })
    expect((await waitFor(id, 60)).body).toMatchObject(ended)
    await waiting(0)
  })

  test('refuses bad input, and groups that the token does not see', async () => {
    const { id } = await createGroup()
    expect((await waitFor(id, 61)).status).toBe(422)
    expect((await waitFor(randomUUID(), 1)).body.code).toBe('GROUP_NOT_FOUND')
    const token = await server.factory.token({ role: 'ADMIN', projectId: await server.factory.project('waits-apart') })
    const seen = await askRest(server, 'POST', `/v2/groups/${id}/wait`, { body: { timeout: 1 }, token })
    expect(seen.body.code).toBe('GROUP_NOT_FOUND')
  })
})

describe('all that wait in a process', () => {
  test('share each look at what has changed', async () => {
    const bus = createEventBus()
    const ended = new Set<string>()
    const looks: string[][] = []
    const waits = createEndWaits({
      bus,
      types: ['chain.succeeded'],
      keyOf: ({ chainId }) => chainId,
      async read(keys) {
        looks.push([...keys])
        return new Map(keys.flatMap((key) => (ended.has(key) ? [[key, 'end']] : [])))
      },
    })
    const all = Array.from({ length: 100 }, (_, at) => waits.wait(['common', `own-${at}`], { any: at === 0 }))
    await eventually(() => looks.length === 1)
    expect(looks[0]).toHaveLength(101)

    const happens = (chainId: string) => {
      ended.add(chainId)
      bus.publish([{ type: 'chain.succeeded', chainId, sessionId: chainId, deploymentId: null } as never])
    }
    for (const key of ['common', 'own-1', 'own-2', 'unknown']) happens(key)
    expect([...(await all[0]!.found).keys()]).toEqual(['common'])
    await Promise.all([all[1]!.found, all[2]!.found])
    expect(looks.slice(1)).toEqual([['common', 'own-1', 'own-2']])
    expect(waits.waiting).toBe(97)
    bus.close()
    for (const { found } of all.slice(3)) expect([...(await found).keys()]).toEqual(['common'])
    expect([waits.waiting, looks.length]).toEqual([0, 2])
  })

  test('are told of an end that happens during a look, and of a database that cannot be read', async () => {
    const bus = createEventBus()
    const reads: PromiseWithResolvers<Map<string, string>>[] = []
    const waits = createEndWaits({
      bus,
      types: ['chain.failed'],
      keyOf: ({ chainId }) => chainId,
      read() {
        reads.push(Promise.withResolvers<Map<string, string>>())
        return reads.at(-1)!.promise
      },
    })
    const { found } = waits.wait(['one'], { any: false })
    await eventually(() => reads.length === 1)
    bus.publish([{ type: 'chain.failed', chainId: 'one', sessionId: 'one', deploymentId: null } as never])
    reads[0]!.resolve(new Map())
    await eventually(() => reads.length === 2)
    reads[1]!.resolve(new Map([['one', 'end']]))
    expect([...(await found)]).toEqual([['one', 'end']])

    const failing = waits.wait(['two'], { any: false })
    failing.stop()
    await eventually(() => reads.length === 3)
    reads[2]!.reject(new Error('no connection'))
    await expect(failing.found).rejects.toThrow('no connection')
    expect([waits.waiting, bus.subscribers]).toEqual([0, 0])
  })
})

async function defaultProject(): Promise<{ id: string }> {
  return (await server.db.query<{ id: string }>(`SELECT id FROM projects WHERE name = 'default'`)).rows[0]!
}
