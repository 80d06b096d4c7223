/** Resubmission over REST, of one session and of many, and the other actions on many. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { askRest } from '../../support/servers/rest-client.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const ask = (method: string, path: string, options?: { body?: object; token?: string }) =>
  askRest(server, method, path, options)

const failed = (name: string) => server.factory.session({ name, status: 'ERROR', labels: { batch: name } })

describe('POST /v2/sessions/{id}/resubmit', () => {
  test('makes a new attempt, changed as asked', async () => {
    const { id } = await failed('one')
    const { status, headers, body } = await ask('POST', `/v2/sessions/${id}/resubmit`, {
      body: { overrides: { environ: [{ name: 'RATE', value: '0.1' }], retry_policy: { max_retries: 4 } } },
    })
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`/v2/sessions/${body.id}`)
    expect(body).toMatchObject({ parent_session_id: id, origin: 'RESUBMISSION', epoch: 1, max_retries: 4 })
    expect(body.environ).toContainEqual({ name: 'RATE', value: '0.1' })
    const again = await ask('POST', `/v2/sessions/${id}/resubmit`, { body: {} })
    expect([again.status, again.body.code]).toEqual([409, 'SESSION_HAS_CHILD'])
  })

  test('begins without the checkpoint, if asked', async () => {
    const { id } = await failed('fresh')
    const body = { overrides: { fresh_checkpoint: true } }
    expect((await ask('POST', `/v2/sessions/${id}/resubmit`, { body })).status).toBe(201)
    const { rows } = await server.db.query('SELECT generation, attempt FROM checkpoints WHERE chain_id = $1', [id])
    expect(rows).toEqual([{ generation: 1, attempt: null }])
  })

  test('answers with the same attempt for the same key', async () => {
    const { id } = await failed('keyed')
    const body = { client_key: 'once' }
    const [first, second] = [
      await ask('POST', `/v2/sessions/${id}/resubmit`, { body }),
      await ask('POST', `/v2/sessions/${id}/resubmit`, { body }),
    ]
    expect([first.status, second.status, second.body.id]).toEqual([201, 201, first.body.id])
  })

  test('tells what is wrong in its own names', async () => {
    const { id } = await failed('wrong')
    const { status, body } = await ask('POST', `/v2/sessions/${id}/resubmit`, {
      body: { overrides: { batch_timeout: -1 }, nonsense: 1 },
    })
    expect(status).toBe(422)
    expect(body.issues.map(({ path }: { path: string }) => path)).toContain('overrides.batch_timeout')
    const missing = await ask('POST', `/v2/sessions/${randomUUID()}/resubmit`, { body: {} })
    expect([missing.status, missing.body.code]).toEqual([404, 'SESSION_NOT_FOUND'])
  })
})

describe('POST /v2/resubmissions', () => {
  test('tries out, resubmits by a filter, and shows what became of each', async () => {
    const sessions = await Promise.all(['bulk', 'bulk', 'bulk'].map(failed))
    const { id: running } = await server.factory.session({ name: 'bulk', status: 'RUNNING' })
    const selected = { filter: { name: 'bulk', status: ['ERROR', 'RUNNING'], retry_count: 0 } }
    const dry = await ask('POST', '/v2/resubmissions', { body: { ...selected, dry_run: true } })
    expect(dry.status).toBe(200)
    expect(dry.body).toMatchObject({
      total: 4,
      count: 3,
      refusals: [{ code: 'SESSION_NOT_FINISHED', count: 1, message: expect.any(String) }],
    })
    const { status, headers, body } = await ask('POST', '/v2/resubmissions', {
      body: { ...selected, client_key: 'bulk-1', overrides: { priority: 50 } },
    })
    expect(status).toBe(202)
    expect(headers.get('location')).toBe(`/v2/resubmissions/${body.id}`)
    expect(body).toMatchObject({
      client_key: 'bulk-1',
      action: 'RESUBMIT',
      state: 'COMPLETED',
      total: 4,
      done: 3,
      refused: 1,
      pending: 0,
      overrides: { priority: 50 },
      filter: { name: { equals: 'bulk' }, status: ['ERROR', 'RUNNING'], retryCount: { min: 0, max: 0 } },
    })
    expect((await ask('GET', `/v2/resubmissions/${body.id}`)).body).toEqual(body)
    expect((await ask('GET', '/v2/resubmissions?action=resubmit&limit=1')).body.items).toEqual([body])

    const items: any[] = []
    let path = `/v2/resubmissions/${body.id}/items?limit=3`
    while (path) {
      const page = await ask('GET', path)
      items.push(...page.body.items)
      path = /<(.*)>/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
    }
    expect(items.map((item): string => item.session_id).toSorted()).toEqual(
      [...sessions.map(({ id }) => id), running].toSorted(),
    )
    expect(items.map((item): string => item.status).toSorted()).toEqual(['DONE', 'DONE', 'DONE', 'REFUSED'])
    const refused = await ask('GET', `/v2/resubmissions/${body.id}/items?status=refused`)
    expect(refused.body.items).toMatchObject([{ session_id: running, code: 'SESSION_NOT_FINISHED' }])
    const aborted = await ask('POST', `/v2/resubmissions/${body.id}/abort`)
    expect([aborted.status, aborted.body.code]).toEqual([409, 'RESUBMISSION_FINISHED'])
  })

  test('selects chains as their list does, and does other things, too', async () => {
    const session = await server.factory.session({
      name: 'waiting',
      status: 'ERROR',
      phase: 'SCHEDULED',
      retryPolicy: { maxRetries: 1 },
    })
    const { status, body } = await ask('POST', '/v2/resubmissions', {
      body: { action: 'cancel_retry', chain_filter: { id: [session.id], state: 'waiting_retry' } },
    })
    expect([status, body.action, body.done]).toEqual([202, 'CANCEL_RETRY', 1])
    expect((await ask('GET', `/v2/sessions/${session.id}/retry`)).body.phase).toBe('CANCELLED')
  })

  test.each([
    ['nothing', {}, 'sessionIds'],
    ['an empty filter', { filter: {} }, 'filter'],
    ['a condition that there is not', { filter: { nonsense: 1 } }, 'filter'],
    ['a condition of another form', { filter: { exit_code: ['x'] } }, 'filter.exit_code.0'],
    ['a filter that is none', { chain_filter: 3 }, 'chain_filter'],
    ['an unknown action', { action: 'x', filter: { status: 'ERROR' } }, 'action'],
  ])('refuses %s', async (_, body, path) => {
    const answer = await ask('POST', '/v2/resubmissions', { body })
    expect(answer.status).toBe(422)
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toContain(
      path.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    )
  })

  test('finds only what its token sees', async () => {
    const projectId = await server.factory.project('apart')
    const token = await server.factory.token({ role: 'MEMBER', projectId })
    const { id } = await failed('not theirs')
    const { body } = await ask('POST', '/v2/resubmissions', { token, body: { session_ids: [id] } })
    expect(body).toMatchObject({ done: 0, refused: 1, refusals: [{ code: 'SESSION_NOT_FOUND' }] })
    const own = await ask('POST', '/v2/resubmissions', { body: { session_ids: [id] } })
    expect((await ask('GET', `/v2/resubmissions/${own.body.id}`, { token })).status).toBe(404)
    expect((await ask('GET', `/v2/resubmissions/${own.body.id}/items`, { token })).status).toBe(404)
    const seen = (await ask('GET', '/v2/resubmissions', { token })).body.items
    expect(seen.map((each: { id: string }) => each.id)).toEqual([body.id])
  })
})
