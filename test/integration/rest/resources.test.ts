/** Resources of the REST API besides sessions (chains, decisions, kernels, logs, agents, resubmissions), and errors. */
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

describe('reads', () => {
  const get = (path: string, token?: string) => askRest(server, 'GET', path, { ...(token && { token }) })
  const idsOf = (body: { items: { id: string }[] }) => body.items.map(({ id }) => id)

  describe('chains', () => {
    test('are listed as GraphQL lists them, page by page, and read one by one', async () => {
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

  test('a session shows which checkpoint of earlier attempts it found, alone and in lists', async () => {
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

  test('a retry decision shows its reason, and a running session has none', async () => {
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

  test('agents are listed by name, and read one by one', async () => {
    for (const name of ['b', 'a']) await server.factory.agent(name)
    const reported = [{ kind: 'limits', text: 'memory is not bounded' }]
    await server.db.query(`UPDATE agents SET warnings = $1 WHERE name = 'a'`, [JSON.stringify(reported)])
    const { body } = await get('/v2/agents?status=alive')
    const shown = body.items.filter(({ name }: { name: string }) => ['a', 'b'].includes(name))
    expect(shown.map(({ name }: { name: string }) => name)).toEqual(['a', 'b'])
    expect(shown[0]).toMatchObject({
      status: 'ALIVE',
      slots: [{ slot: 'cpu', capacity: '1000', used: '0' }, { slot: 'mem' }],
      warnings: ['memory is not bounded'],
    })
    expect(shown[1]).toMatchObject({ warnings: [] })
    const { data } = await server.query('query ($id: UUID!) { agent(id: $id) { warnings } }', { id: shown[0].id })
    expect(data).toEqual({ agent: { warnings: ['memory is not bounded'] } })
    expect((await get(`/v2/agents/${shown[0].id}`)).body).toEqual(shown[0])
    expect(await get(`/v2/agents/${randomUUID()}`)).toMatchObject({ status: 404, body: { code: 'AGENT_NOT_FOUND' } })
  })
})

describe('resubmissions', () => {
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

    test('reports faults under the names of its input', async () => {
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

  describe.each(['/v2/bulk-actions', '/v2/resubmissions'])('POST %s', (base) => {
    test('runs dry, resubmits by a filter, and shows the result of each', async () => {
      const sessions = await Promise.all([base, base, base].map(failed))
      const { id: running } = await server.factory.session({ name: base, status: 'RUNNING' })
      const selected = { filter: { name: base, status: ['ERROR', 'RUNNING'], retry_count: 0 } }
      const dry = await ask('POST', base, { body: { ...selected, dry_run: true } })
      expect(dry.status).toBe(200)
      expect(dry.body).toMatchObject({
        total: 4,
        count: 3,
        refusals: [{ code: 'SESSION_NOT_FINISHED', count: 1, message: expect.any(String) }],
      })
      const { status, headers, body } = await ask('POST', base, {
        body: { ...selected, client_key: `bulk ${base}`, overrides: { priority: 50 } },
      })
      expect(status).toBe(202)
      expect(headers.get('location')).toBe(`${base}/${body.id}`)
      expect(body).toMatchObject({
        client_key: `bulk ${base}`,
        action: 'RESUBMIT',
        state: 'COMPLETED',
        total: 4,
        done: 3,
        refused: 1,
        pending: 0,
        overrides: { priority: 50 },
        filter: { name: { equals: base }, status: ['ERROR', 'RUNNING'], retryCount: { gte: 0, lte: 0 } },
      })
      expect((await ask('GET', `${base}/${body.id}`)).body).toEqual(body)
      expect((await ask('GET', `${base}?action=resubmit&limit=1`)).body.items).toEqual([body])

      const items: any[] = []
      let path = `${base}/${body.id}/items?limit=3`
      while (path) {
        const page = await ask('GET', path)
        items.push(...page.body.items)
        path = /<(.*)>/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
      }
      expect(items.map((item): string => item.session_id).toSorted()).toEqual(
        [...sessions.map(({ id }) => id), running].toSorted(),
      )
      expect(items.map((item): string => item.status).toSorted()).toEqual(['DONE', 'DONE', 'DONE', 'REFUSED'])
      const refused = await ask('GET', `${base}/${body.id}/items?status=refused`)
      expect(refused.body.items).toMatchObject([{ session_id: running, code: 'SESSION_NOT_FINISHED' }])
      const aborted = await ask('POST', `${base}/${body.id}/abort`)
      expect([aborted.status, aborted.body.code]).toEqual([409, 'RESUBMISSION_FINISHED'])
    })

    test('selects chains as their list does, also for other actions', async () => {
      const session = await server.factory.session({
        name: 'waiting',
        status: 'ERROR',
        phase: 'SCHEDULED',
        retryPolicy: { maxRetries: 1 },
      })
      const { status, body } = await ask('POST', base, {
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
      const answer = await ask('POST', base, { body })
      expect(answer.status).toBe(422)
      expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toContain(
        path.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      )
    })

    test('finds only what its token sees', async () => {
      const projectId = await server.factory.project(`apart-${base.length}`)
      const token = await server.factory.token({ role: 'MEMBER', projectId })
      const { id } = await failed('not theirs')
      const { body } = await ask('POST', base, { token, body: { session_ids: [id] } })
      expect(body).toMatchObject({ done: 0, refused: 1, refusals: [{ code: 'SESSION_NOT_FOUND' }] })
      const own = await ask('POST', base, { body: { session_ids: [id] } })
      expect((await ask('GET', `${base}/${own.body.id}`, { token })).status).toBe(404)
      expect((await ask('GET', `${base}/${own.body.id}/items`, { token })).status).toBe(404)
      const seen = (await ask('GET', base, { token })).body.items
      expect(seen.map((each: { id: string }) => each.id)).toEqual([body.id])
    })
  })
})

describe('errors', () => {
  const ask = (method: string, path: string, body?: object) => askRest(server, method, path, { ...(body && { body }) })
  const ID = '00000000-0000-7000-8000-00000000000a'

  /** The names of all fields of a value, at all depths. */
  function keysOf(value: unknown): string[] {
    if (typeof value !== 'object' || value === null) return []
    const own = Array.isArray(value) ? [] : Object.keys(value)
    return [...own, ...Object.values(value).flatMap(keysOf)]
  }

  const ERRORS: [method: string, path: string, body: object | undefined, paths: string[]][] = [
    [
      'POST',
      '/v2/sessions',
      {
        name: 'x',
        command: ['true'],
        batch_timeout: -1,
        commandLine: 'true',
        concurrency_limit: 2,
        retry_policy: { max_retries: -1, rules: [{ match: { exit_codes: ['x'] }, action: 'FAIL', ifCode: 1 }] },
      },
      ['batch_timeout', 'command_line', 'retry_policy.max_retries', 'retry_policy.rules.0.if_code'],
    ],
    ['POST', '/v2/sessions', { name: 'x', command: ['true'], concurrency_limit: 2 }, ['concurrency_limit']],
    ['POST', '/v2/resubmissions', {}, ['session_ids']],
    [
      'POST',
      '/v2/resubmissions',
      { session_ids: [ID], overrides: { allow_agents: [ID], avoid_agents: [ID] } },
      ['overrides.avoid_agents.0'],
    ],
    ['POST', '/v2/schedules', { name: 'x', cron: '* * * * *', timeZone: 'Mars', session: {} }, ['time_zone']],
    ['POST', '/v2/deployments', { name: 'x', command: ['a'], min_healthy: 9, replicas: 1 }, ['min_healthy']],
    [
      'POST',
      '/v2/deployments',
      { name: 'x', command: ['a'], port_variable: 'P', environ: [{ name: 'P', value: '' }] },
      ['environ.0.name'],
    ],
    ['GET', '/v2/sessions?cursor=nonsense', undefined, ['cursor']],
    ['GET', '/v2/sessions?id_prefix=x', undefined, ['id_prefix']],
    ['GET', '/v2/sessions/x', undefined, ['id']],
    ['GET', '/v2/nowhere', undefined, []],
    ['PUT', '/v2/sessions', undefined, []],
  ]
  test.each(ERRORS)('errors are in snake_case: %s %s %j', async (method, path, input, paths) => {
    const { status, body } = await ask(method, path, input)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(keysOf(body).filter((key) => !/^[a-z_]+$/.test(key))).toEqual([])
    expect(body.issues.map((issue: { path: string }) => issue.path)).toEqual(expect.arrayContaining(paths))
    const texts = [body.detail, ...body.issues.flatMap((issue: object) => Object.values(issue))]
    expect(texts.filter((text) => /\b[a-z]+[A-Z]/.test(text))).toEqual([])
  })

  test('a word of an error that is a value stays as the client wrote it', async () => {
    const { body } = await ask('POST', '/v2/sessions', { name: 'x', command: ['a'], project: 'myProject' })
    expect(body.detail).toContain('myProject')
  })
})
