/** REST: many sessions in one request, and groups of sessions. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { askRest } from '../../support/servers/rest-client.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { endSession } from '../../support/sessions/end-session.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const ask = (method: string, path: string, body?: object, token?: string) =>
  askRest(server, method, path, { ...(body && { body }), ...(token && { token }) })
const bulk = (body: object, token?: string) => ask('POST', '/v2/sessions/bulk', body, token)
const count = async (where: string) =>
  (await server.db.query<{ n: number }>(`SELECT count(*)::int AS n FROM sessions WHERE ${where}`)).rows[0]!.n

describe('POST /v2/sessions/bulk', () => {
  test('creates a thousand sessions, each by itself: faults of some affect no other', async () => {
    const faults = new Map<number, unknown>([
      [3, { name: '' }],
      [500, 'no session'],
      [700, { name: 'bulk', command: ['true'], project: 'nowhere' }],
      [999, { name: 'bulk', command: ['true'], retry_policy: { max_retries: 'many' } }],
    ])
    const sessions = Array.from(
      { length: 1_000 },
      (_, at) => faults.get(at) ?? { name: 'bulk', command: ['sh', '-c', `exit ${at}`], creation_id: `bulk-${at}` },
    )
    const { status, body } = await bulk({ sessions })
    expect(status).toBe(200)
    expect(body).not.toHaveProperty('group')
    const refused = new Map(
      body.results.flatMap(({ status: own, error }: any, at: number) => (own === 201 ? [] : [[at, [own, error]]])),
    )
    expect([...refused.keys()]).toEqual([3, 500, 700, 999])
    expect(refused.get(3)).toEqual([422, expect.objectContaining({ code: 'VALIDATION_FAILED', status: 422 })])
    expect(refused.get(700)).toEqual([404, expect.objectContaining({ code: 'PROJECT_NOT_FOUND' })])
    expect(JSON.stringify(refused.get(999))).toContain('retry_policy.max_retries')
    for (const at of [0, 1, 998])
      expect(body.results[at]).toMatchObject({
        status: 201,
        session: { creation_id: `bulk-${at}`, command: ['sh', '-c', `exit ${at}`], status: 'PENDING' },
      })
    expect(await count(`creation_id LIKE 'bulk-%'`)).toBe(996)

    const again = await bulk({ sessions: [sessions[0]!, { ...(sessions[1] as object), name: 'other' }] })
    expect(again.body.results).toMatchObject([
      { status: 200, session: { id: body.results[0].session.id } },
      { status: 409, error: { code: 'CREATION_ID_REUSED', existing: { id: body.results[1].session.id } } },
    ])
  })

  test('creates a group, all of it or nothing', async () => {
    const group = { name: 'shards', key: 'shards-1', max_failed_percent: 50, on_failure: 'stop' }
    const sessions = [1, 2].map((at) => ({ name: `shard-${at}`, command: ['true'] }))
    const { status, body } = await bulk({ sessions, group })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      created: true,
      group: {
        name: 'shards',
        key: 'shards-1',
        project: 'default',
        state: 'RUNNING',
        counts: { queued: 2, running: 0, waiting: 0, total: 2 },
        progress: 0,
        max_failed_percent: 50,
        on_failure: 'STOP',
        depends_on: [],
        ended_at: null,
      },
      results: [{ status: 201, session: { name: 'shard-1' } }, { status: 201 }],
    })
    const again = await bulk({ sessions, group })
    expect(again.body).toMatchObject({ created: false, group: { id: body.group.id }, results: [{ status: 200 }, {}] })
    expect(again.body.results[1].session.id).toBe(body.results[1].session.id)

    const after = { name: 'after', depends_on: [{ group_id: body.group.id, condition: 'ended' }] }
    const broken = await bulk({ sessions: [...sessions, { name: 'x', command: [] }], group: after })
    expect([broken.status, broken.body.code]).toEqual([422, 'VALIDATION_FAILED'])
    expect(broken.body.issues[0].path).toMatch(/^sessions\.2\.command/)
    const waiting = await bulk({ sessions, group: after })
    expect(waiting.body.group.depends_on).toEqual([{ group_id: body.group.id, condition: 'ENDED', met: null }])
    const reused = await bulk({ sessions, group: { ...group, name: 'another' } })
    expect([reused.status, reused.body.code]).toEqual([409, 'CREATION_ID_REUSED'])
  })

  test('creates a group from one session for all indexes', async () => {
    const template = { name: 'array', command: ['sh', '-c', 'echo $REPRISE_INDEX'] }
    const { body } = await bulk({ sessions: [template], group: { name: 'array', indexes: '1-1500' } })
    expect(body).toMatchObject({ created: true, results: [], group: { counts: { total: 1_500 } } })
  })

  test.each([
    [422, 'VALIDATION_FAILED', {}],
    [422, 'VALIDATION_FAILED', []],
    [422, 'VALIDATION_FAILED', { sessions: [] }],
    [422, 'VALIDATION_FAILED', { sessions: 'all' }],
    [422, 'VALIDATION_FAILED', { sessions: [{}], groups: {} }],
    [422, 'VALIDATION_FAILED', { sessions: [{ name: 'x', command: ['true'] }], group: 'g' }],
    [422, 'VALIDATION_FAILED', { sessions: [{ name: 'x', command: ['true'] }], group: { name: 'g', indexes: 5 } }],
    [422, 'VALIDATION_FAILED', { sessions: [{ name: 'x', command: ['true'] }], group: { name: 'g', size: 5 } }],
    [422, 'VALIDATION_FAILED', { sessions: [{ name: 'x', command: ['true'] }], group: [] }],
    [422, 'VALIDATION_FAILED', { sessions: [null], group: { name: 'g' } }],
    [
      404,
      'GROUP_NOT_FOUND',
      {
        sessions: [{ name: 'x', command: ['true'] }],
        group: { name: 'g', depends_on: [{ group_id: '00000000-0000-7000-8000-000000000000', condition: 'ENDED' }] },
      },
    ],
    [422, 'VALIDATION_FAILED', { sessions: Array.from({ length: 1_001 }, () => ({ name: 'x', command: ['true'] })) }],
    [413, 'REQUEST_TOO_LARGE', { sessions: [{ name: 'x', command: ['x'.repeat(9_000_000)] }] }],
    [413, 'REQUEST_TOO_LARGE', { sessions: [{ name: 'x', command: Array.from({ length: 300_000 }, () => 0) }] }],
  ])('refuses bad input with %i %s (%#)', async (status, code, body) => {
    const answer = await bulk(body)
    expect([answer.status, answer.body.code]).toEqual([status, code])
  })

  test('needs a token that may change something, and its own project', async () => {
    const projectId = await server.factory.project('bulk-elsewhere')
    const [viewer, member] = await Promise.all(
      (['VIEWER', 'MEMBER'] as const).map((role) => server.factory.token({ role, projectId })),
    )
    const sessions = [{ name: 'mine', command: ['true'], project: 'default' }]
    expect((await bulk({ sessions }, 'rpr_none')).status).toBe(401)
    expect((await bulk({ sessions }, viewer)).body.code).toBe('FORBIDDEN')
    expect((await bulk({ sessions }, member)).body.results[0].error.code).toBe('PROJECT_NOT_FOUND')
    const own = await bulk({ sessions: [{ name: 'mine', command: ['true'] }] }, member)
    expect(own.body.results[0]).toMatchObject({ status: 201, session: { project: 'bulk-elsewhere' } })
  })
})

describe('groups', () => {
  const command = ['true']
  async function createGroup(group: object, size = 3): Promise<{ id: string; members: string[] }> {
    const sessions = Array.from({ length: size }, (_, at) => ({ name: `member-${at}`, command }))
    const { body } = await bulk({ sessions, group: { name: 'group', ...group } })
    return { id: body.group.id, members: body.results.map(({ session }: any) => session.id) }
  }

  test('are listed, found by id and by key', async () => {
    const { id } = await createGroup({ name: 'findable', key: 'find/me' })
    const other = await createGroup({ name: 'findable-2' })
    const idsOf = ({ body }: any) => body.items.map((group: any) => group.id)
    expect(idsOf(await ask('GET', '/v2/groups?search=findable'))).toEqual([other.id, id])
    const page = await ask('GET', '/v2/groups?search=findable&limit=1')
    expect(idsOf(page)).toEqual([other.id])
    const next = /<(.*)>/.exec(page.headers.get('link')!)![1]!
    expect(idsOf(await ask('GET', next))).toEqual([id])
    expect(idsOf(await ask('GET', '/v2/groups?search=findable&ended=true'))).toEqual([])
    expect(idsOf(await ask('GET', '/v2/groups?search=findable&project=nowhere'))).toEqual([])
    const one = await ask('GET', `/v2/groups/${id}`)
    expect(one.body).toMatchObject({ id, name: 'findable', key: 'find/me', created_by: expect.any(String) })
    expect((await ask('GET', '/v2/groups/by-key?key=find/me')).body).toEqual(one.body)
    for (const path of [
      'by-key?key=none',
      'by-key?key=find/me&project=nowhere',
      randomUUID(),
      `${randomUUID()}/members`,
    ])
      expect((await ask('GET', `/v2/groups/${path}`)).body).toMatchObject({ status: 404, code: 'GROUP_NOT_FOUND' })
  })

  test('take members while they are open', async () => {
    const { id } = await createGroup({ open: true }, 2)
    const path = `/v2/groups/${id}/sessions`
    const added = await ask('POST', path, { sessions: [{ name: 'late', command, creation_id: 'late-1' }] })
    expect(added.body).toMatchObject({ added: 1, group: { state: 'OPEN', counts: { total: 3 } } })
    const again = await ask('POST', path, { sessions: [{ name: 'late', command, creation_id: 'late-1' }], close: true })
    expect(again.body).toMatchObject({ added: 0, group: { state: 'RUNNING', counts: { total: 3 } } })
    const late = await ask('POST', path, { sessions: [{ name: 'late', command }] })
    expect(late).toMatchObject({ status: 409, body: { code: 'GROUP_CLOSED' } })
    for (const body of [{ sessions: {} }, { indexes: 5 }, { session: [] }, { sessions: [{ name: 'x' }] }, []])
      expect((await ask('POST', path, body)).status).toBe(422)
  })

  test('list their members in the order of their indexes', async () => {
    const { id, members } = await createGroup({}, 4)
    await server.db.query(`UPDATE sessions SET status = 'RUNNING' WHERE id = $1`, [members[1]])
    await endSession(server, members[2]!, 3)
    await endSession(server, members[3]!, 0)
    const path = `/v2/groups/${id}/members`
    const { body } = await ask('GET', path)
    expect(body.next).toBeNull()
    expect(body.members.map(({ index, state }: any) => [index, state])).toEqual([
      [0, 'QUEUED'],
      [1, 'RUNNING'],
      [2, 'FAILED'],
      [3, 'SUCCEEDED'],
    ])
    expect(body.members[2]).toEqual({
      index: 2,
      chain_id: members[2],
      state: 'FAILED',
      first_session_id: members[2],
      newest_session_id: members[2],
      attempts: 1,
      exit_code: 3,
      cause: 'KERNEL_NONZERO_EXIT',
      reason: 'task-ended',
      ended_at: expect.any(String),
    })
    const listed = async (what: string) => (await ask('GET', `/v2/${what}?group=${id}`)).body.items
    for (const what of ['sessions', 'chains'])
      expect((await listed(what)).map((item: any) => [item.group_id, item.group_index]).toSorted()).toEqual(
        [0, 1, 2, 3].map((index) => [id, index]),
      )
    const indexesOf = async (query: string) => {
      const found = (await ask('GET', `${path}?${query}`)).body
      return [found.members.map(({ index }: any) => index), found.next]
    }
    expect(await indexesOf('state=running')).toEqual([[1], null])
    expect(await indexesOf('state=SUCCEEDED,QUEUED')).toEqual([[0, 3], null])
    expect(await indexesOf('limit=2')).toEqual([[0, 1], '1'])
    expect(await indexesOf('limit=2&cursor=1')).toEqual([[2, 3], null])
    for (const query of ['limit=0', 'limit=1001', 'cursor=a', 'state=ODD', 'other=1'])
      expect((await ask('GET', `${path}?${query}`)).status).toBe(422)
  })

  test('are cancelled once', async () => {
    const { id } = await createGroup({})
    const cancelled = await ask('POST', `/v2/groups/${id}/cancel`, { reason: 'wrong data' })
    expect([cancelled.status, cancelled.body.id]).toEqual([202, id])
    await testServer(server.db, undefined, server.wake).run('settle-groups', 'decide-retries', 'settle-groups')
    expect((await ask('GET', `/v2/groups/${id}`)).body).toMatchObject({ state: 'CANCELLED', counts: { cancelled: 3 } })
    expect((await ask('POST', `/v2/groups/${id}/cancel`, {})).body.code).toBe('GROUP_CLOSED')
  })

  test('resubmit their failed members, in GraphQL as well', async () => {
    const { id, members } = await createGroup({})
    for (const [at, exitCode] of [0, 3, 4].entries()) await endSession(server, members[at]!, exitCode)
    const path = `/v2/groups/${id}/resubmit`
    const made = await ask('POST', path, { states: ['failed'], client_key: `again-${id}` })
    expect(made).toMatchObject({
      status: 202,
      body: { action: 'RESUBMIT', total: 2, done: 2, filter: expect.anything() },
    })
    expect((await ask('POST', path, { states: ['FAILED'], client_key: `again-${id}` })).body.id).toBe(made.body.id)
    expect((await ask('POST', path, { client_key: `again-${id}` })).body.code).toBe('CLIENT_KEY_REUSED')
    await testServer(server.db, undefined, server.wake).run('settle-groups')
    expect((await ask('GET', `/v2/groups/${id}`)).body).toMatchObject({ state: 'RUNNING', epoch: 1 })
    const { body } = await ask('GET', `/v2/groups/${id}/members?state=QUEUED`)
    expect(body.members.map(({ index, attempts }: any) => [index, attempts])).toEqual([
      [1, 2],
      [2, 2],
    ])
    const answer = await server.query(
      `mutation ($input: ResubmitSessionGroupInput!) { resubmitSessionGroup(input: $input) { __typename
        ... on ResubmitSessionGroupPayload { sessions { attempt } refused { code } bulkAction { total } group { groupId } cancelledDependents }
        ... on Error { code } } }`,
      { input: { groupId: id, states: ['SUCCEEDED'], overrides: { priority: 20 }, reason: 'once more' } },
    )
    expect(answer.data.resubmitSessionGroup).toEqual({
      __typename: 'ResubmitSessionGroupPayload',
      sessions: [{ attempt: 2 }],
      refused: [],
      bulkAction: { total: 1 },
      group: { groupId: id },
      cancelledDependents: 0,
    })
    for (const wrong of [
      { states: [] },
      { states: ['LIVE'] },
      { states: 'FAILED' },
      { overrides: 5 },
      { overrides: { name: 'x' } },
    ])
      expect((await ask('POST', path, wrong)).body.code).toBe('VALIDATION_FAILED')
  })

  test('are seen by their project alone, and changed by nobody without the right', async () => {
    const { id } = await createGroup({ key: 'theirs' })
    const own = (await server.db.query<{ id: string }>(`SELECT id FROM projects WHERE name = 'default'`)).rows[0]!.id
    const viewer = await server.factory.token({ role: 'VIEWER', projectId: own })
    const projectId = await server.factory.project('groups-elsewhere')
    const stranger = await server.factory.token({ role: 'ADMIN', projectId })
    const changes = { sessions: { sessions: [] }, cancel: {}, resubmit: {} }
    for (const [what, body] of Object.entries(changes)) {
      expect([what, (await ask('POST', `/v2/groups/${id}/${what}`, body, viewer)).body.code]).toEqual([
        what,
        'FORBIDDEN',
      ])
      const other = await ask('POST', `/v2/groups/${id}/${what}`, body, stranger)
      expect([what, other.body.code]).toEqual([what, 'GROUP_NOT_FOUND'])
      expect((await ask('POST', `/v2/groups/${id}/${what}`, body, 'rpr_none')).status).toBe(401)
    }
    for (const path of [id, `${id}/members`, 'by-key?key=theirs']) {
      expect((await ask('GET', `/v2/groups/${path}`, undefined, viewer)).status).toBe(200)
      expect((await ask('GET', `/v2/groups/${path}`, undefined, stranger)).status).toBe(404)
    }
    expect((await ask('GET', '/v2/groups', undefined, stranger)).body.items).toEqual([])
  })
})
