/** Reads of sessions: filters in GraphQL and REST, scheduling history, and the columns that a statement reads. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Prisma, type Session } from '../../../src/generated/prisma/client.ts'
import { type SessionKey, sessionReader } from '../../../src/services/session/read-sessions.ts'
import type { PrismaClient } from '../../../src/store/prisma.ts'
import { plainSelection } from '../../../src/store/sql/session/read-sessions.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'
import { createFactories, type SessionRow } from '../../support/sessions/factories.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('filters', () => {
  let chain: SessionRow[]
  let single: SessionRow
  beforeAll(async () => {
    single = await server.factory.session({ status: 'PENDING', retryPolicy: { maxRetries: 0 } })
    chain = await server.factory.chain(3, { status: 'ERROR', retryPolicy: { maxRetries: 2 } })
    const reasons = ['the disk is 50 km away', 'the disk is 50% full', null]
    for (const [index, reason] of reasons.entries())
      await server.db.query('UPDATE sessions SET status_reason = $2 WHERE id = $1', [chain[index]!.id, reason])
  })

  async function rest(method: string, path: string, body?: object): Promise<{ status: number; body: any }> {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }

  /** The places in the chain of those that match, `s` for the single session. */
  function placesOf(ids: readonly string[]): string[] {
    return ids.map((id) => (id === single.id ? 's' : String(chain.findIndex((row) => row.id === id) + 1))).toSorted()
  }

  /** `parent` stands for the id of the chain's first attempt. */
  describe.each<[given: object, parameters: string, places: string[]]>([
    [{ retryCount: { min: 1 } }, 'retry_count=1..', ['2', '3']],
    [{ retryCount: { max: 1 } }, 'retry_count=..1', ['1', '2', 's']],
    [{ retryCount: { min: 2, max: 2 } }, 'retry_count=2', ['3']],
    [{ retryCount: { min: 0, max: 0 } }, 'retry_count=0', ['1', 's']],
    [{ retryCount: { min: 2, max: 1 } }, 'retry_count=2..1', []],
    [{ maxRetries: { min: 1 }, retryCount: { min: 1, max: 1 } }, 'max_retries=1..&retry_count=1..1', ['2']],
    [{ maxRetries: { max: 0 } }, 'max_retries=0', ['s']],
    [{ parentSessionId: 'parent' }, 'parent_session_id=parent', ['2']],
    [{ failureCause: ['KERNEL_NONZERO_EXIT'] }, 'failure_cause=kernel_nonzero_exit,OOM_KILLED', ['1', '2', '3']],
    [{ failureReason: ['kernel-exited', 'oom-killed'] }, 'failure_reason=oom-killed,kernel-exited', ['1', '2', '3']],
    [{ failureReason: ['task-timeout'] }, 'failure_reason=task-timeout', []],
    [{ failureReason: [] }, 'failure_reason=', []],
    [{ NOT: { failureReason: ['kernel-exited'] } }, 'status=pending', ['s']],
    [{ status: ['PENDING'] }, 'status=pending', ['s']],
    [{ exitCode: [3, 4] }, 'exit_code=3,4', ['1', '2', '3']],
    [{ exitCode: [0, -9] }, 'exit_code=0,-9', []],
    [{ statusReason: { contains: '50%' } }, 'reason_contains=50%25', ['2']],
  ])('the filter %j', (given, parameters, places) => {
    test('of GraphQL and of REST', async () => {
      const filter = JSON.parse(JSON.stringify(given).replace('"parent"', `"${chain[0]!.id}"`)) as object
      const { data } = await server.query(
        'query ($filter: SessionFilter) { sessions(filter: $filter) { edges { node { sessionId } } } }',
        { filter },
        server.adminToken,
      )
      const found = data.sessions.edges.map(({ node }: { node: { sessionId: string } }) => node.sessionId)
      expect(placesOf(found)).toEqual(places)
      const { status, body } = await rest('GET', `/v2/sessions?${parameters.replace('=parent', `=${chain[0]!.id}`)}`)
      expect(status).toBe(200)
      expect(placesOf(body.items.map(({ id }: { id: string }) => id))).toEqual(places)
    })
  })

  test('the filter by the beginning of an id, with hyphens and without, in either case', async () => {
    const [{ id }] = chain as [SessionRow]
    const begins = [id, id.slice(0, -1), id.slice(0, 24), id.replaceAll('-', '').slice(0, 30), id.toUpperCase()]
    const later = `${id.slice(0, 8)}-ffff`
    for (const prefix of [...begins, id.slice(0, 8), later]) {
      const { data } = await server.query(
        'query ($prefix: String!) { sessions(filter: { idPrefix: $prefix }) { edges { node { sessionId } } } }',
        { prefix },
        server.adminToken,
      )
      const found = data.sessions.edges.map(({ node }: { node: { sessionId: string } }) => node.sessionId)
      const all = [single, ...chain].map((row) => row.id)
      const begin = prefix.replaceAll('-', '').toLowerCase()
      expect(found.toSorted()).toEqual(all.filter((one) => one.replaceAll('-', '').startsWith(begin)).toSorted())
      const { body } = await rest('GET', `/v2/sessions?id_prefix=${prefix}`)
      expect(body.items.map((item: { id: string }) => item.id).toSorted()).toEqual(found.toSorted())
    }
    for (const wrong of ['', '0123456', '0123456g', `${id}0`, '--------', "01234567' OR 1=1"]) {
      const { status, body } = await rest('GET', `/v2/sessions?id_prefix=${encodeURIComponent(wrong)}`)
      expect({ status, body }).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } })
    }
  })

  test.each(['retry_count=', 'retry_count=..', 'retry_count=-1', 'retry_count=1..2..3', 'max_retries=9999999999'])(
    'REST refuses %s',
    async (parameter) => {
      expect((await rest('GET', `/v2/sessions?${parameter}`)).status).toBe(422)
    },
  )

  test('an empty range is no condition: a resubmission by it is refused', async () => {
    const { data } = await server.query(
      `mutation { resubmitSessions(input: { filter: { retryCount: {} } }) { ... on ValidationError { issues { path } } } }`,
      {},
      server.adminToken,
    )
    expect(data.resubmitSessions.issues).toEqual([{ path: 'filter' }])
  })

  test('tries, reschedules, uncounted retries and dependencies can be read', async () => {
    await server.db.query('UPDATE sessions SET tries = 2, reschedules = 1, uncounted_retries = 4 WHERE id = $1', [
      single.id,
    ])
    const { body: made } = await rest('POST', '/v2/sessions', {
      name: 'after',
      command: ['true'],
      depends_on: [chain[1]!.id, single.id],
    })
    const first = [chain[0]!.id, single.id].toSorted()
    expect(made.depends_on.toSorted()).toEqual(first)
    const { data } = await server.query(
      `query ($after: UUID!) {
       sessions(filter: { name: { in: ["a session"] }, status: [PENDING] }) { edges { node { tries reschedules uncountedRetries dependsOn { sessionId } } } }
       session(id: $after) { dependsOn { sessionId chain { attempts } } } }`,
      { after: made.id },
      server.adminToken,
    )
    expect(data.sessions.edges).toEqual([{ node: { tries: 2, reschedules: 1, uncountedRetries: 4, dependsOn: [] } }])
    expect(data.session.dependsOn.map(({ sessionId }: { sessionId: string }) => sessionId).toSorted()).toEqual(first)
    const shown = await rest('GET', `/v2/sessions/${single.id}`)
    expect(shown.body).toMatchObject({ tries: 2, reschedules: 1, uncounted_retries: 4, depends_on: [] })
  })

  test('REST reads words of closed sets in either case, and no other word as such', async () => {
    const { status, body } = await rest('POST', '/v2/sessions', {
      name: 'backoff',
      command: ['true'],
      session_type: 'batch',
      cluster_mode: 'Single_Node',
      labels: [{ key: 'action', value: 'retry' }],
      environ: [{ name: 'backoff', value: 'fixed' }],
      retry_policy: {
        max_retries: 1,
        backoff: 'exponential',
        jitter: 'none',
        eligible_causes: ['oom_killed'],
        rules: [{ match: { causes: ['unknown'], reason: 'oom_killed*' }, action: 'retry', avoid: 'agent' }],
      },
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      name: 'backoff',
      session_type: 'BATCH',
      cluster_mode: 'SINGLE_NODE',
      labels: [{ key: 'action', value: 'retry' }],
      environ: [{ name: 'backoff', value: 'fixed' }],
      retry_policy: {
        backoff: 'EXPONENTIAL',
        jitter: 'NONE',
        eligible_causes: ['OOM_KILLED'],
        rules: [{ match: { causes: ['UNKNOWN'], reason: 'oom_killed*' }, action: 'RETRY', avoid: 'AGENT' }],
      },
    })
  })

  test('REST shows why a session waits with the present numbers, as GraphQL does', async () => {
    const { body } = await rest('POST', '/v2/sessions', {
      name: 'waits',
      command: ['true'],
      starts_at: '2099-01-01T00:00:00Z',
    })
    const reason = 'starts no earlier than 2099-01-01T00:00:00.000Z'
    const { data } = await server.query(
      'query ($id: UUID!) { session(id: $id) { pendingReason } }',
      { id: body.id },
      server.adminToken,
    )
    expect(data.session.pendingReason).toBe(reason)
    const one = await rest('GET', `/v2/sessions/${body.id}`)
    const { body: list } = await rest('GET', '/v2/sessions')
    const listed = list.items.find(({ id }: { id: string }) => id === body.id)
    expect([body.pending_reason, one.body.pending_reason, listed.pending_reason]).toEqual([reason, reason, reason])
    expect((await rest('GET', `/v2/sessions/${chain[2]!.id}`)).body.pending_reason).toBeNull()
  })

  test.each([
    [{ contains: '%' }, ['50%']],
    [{ startsWith: '5_' }, []],
    [{ endsWith: '\\' }, ['C:\\']],
    [{ contains: ':' }, ['C:\\']],
  ])('names are compared as they are: %j', async (name, names) => {
    const token = await literalNames()
    const text = '{ sessions(filter: $f) { edges { node { name } } } }'
    const { data } = await server.query(`query ($f: SessionFilter) ${text}`, { f: { name } }, token)
    expect(data.sessions.edges.map(({ node }: any) => node.name)).toEqual(names)
  })

  async function literalNames(): Promise<string> {
    const projectId = await server.factory.project()
    for (const name of ['50%', '50', 'C:\\']) await server.factory.session({ projectId, name })
    return server.factory.token({ role: 'VIEWER', projectId })
  }
})

describe('scheduling history', () => {
  async function remember(entity: 'AGENT' | 'KERNEL' | 'SESSION', id: string, count: number): Promise<void> {
    const rows = Array.from({ length: count }, (_, n) => ({
      entity,
      entity_id: id,
      phase: `phase-${n}`,
      result: 'SUCCESS',
      message: 'so it was',
      attempts: n + 1,
    }))
    await insertRows(server.db, 'scheduling_history', rows)
  }

  const PAGE = `totalCount pageInfo { hasNextPage endCursor } edges { node { phase attempts result message fromStatus } }`

  test("an agent's and a kernel's are read page by page, oldest first, as a session's are", async () => {
    const { id: sessionId, kernelIds } = await server.factory.session({ status: 'RUNNING' })
    const agentId = await server.factory.agent('historian')
    await remember('AGENT', agentId, 5)
    await remember('KERNEL', kernelIds[0]!, 5)
    await remember('SESSION', sessionId, 5)
    const read = async (after: string | null) => {
      const { data } = await server.query(
        `query ($sessionId: UUID!, $after: String) {
        agents { edges { node { name schedulingHistory(first: 3, after: $after) { ${PAGE} } } } }
        session(id: $sessionId) { schedulingHistory(first: 3, after: $after) { ${PAGE} }
          kernels { schedulingHistory(first: 3, after: $after) { ${PAGE} } } } }`,
        { sessionId, after },
      )
      const agent = data.agents.edges.find((edge: { node: { name: string } }) => edge.node.name === 'historian').node
      return [agent, data.session.kernels[0], data.session].map(({ schedulingHistory }) => schedulingHistory)
    }
    for (const first of await read(null)) {
      expect(first.edges.map(({ node }: { node: { phase: string } }) => node.phase)).toEqual([
        'phase-0',
        'phase-1',
        'phase-2',
      ])
      expect(first).toMatchObject({ totalCount: 5, pageInfo: { hasNextPage: true } })
      expect(first.edges[2].node).toEqual({
        phase: 'phase-2',
        attempts: 3,
        result: 'SUCCESS',
        message: 'so it was',
        fromStatus: null,
      })
    }
    const [agentPage] = await read(null)
    const [rest] = await read(agentPage.pageInfo.endCursor)
    expect(rest.edges.map(({ node }: { node: { phase: string } }) => node.phase)).toEqual(['phase-3', 'phase-4'])
    expect(rest.pageInfo.hasNextPage).toBe(false)
  })

  test('is read from its end, too, with the agents that its entries concern', async () => {
    const { id: sessionId } = await server.factory.session({ status: 'RUNNING' })
    const agentId = await server.factory.agent('the-one')
    await remember('SESSION', sessionId, 5)
    const ofAgent = `UPDATE scheduling_history SET agent_ids = $2 WHERE entity_id = $1 AND phase = 'phase-3'`
    await server.db.query(ofAgent, [sessionId, [agentId]])
    const read = async (args: string) => {
      const text = `query ($id: UUID!) { session(id: $id) { schedulingHistory(${args}) {
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { node { phase agents { agentId name } } } } } }`
      const { data, errors } = await server.query(text, { id: sessionId })
      return errors ? errors[0]!.message : data.session.schedulingHistory
    }
    const phasesOf = ({ edges }: any) => edges.map(({ node }: any) => node.phase)
    const last = await read('last: 2')
    expect(phasesOf(last)).toEqual(['phase-3', 'phase-4'])
    expect(last.edges.map(({ node }: any) => node.agents)).toEqual([[{ agentId, name: 'the-one' }], []])
    expect(last.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
    const before = await read(`last: 9, before: "${last.pageInfo.startCursor}"`)
    expect(phasesOf(before)).toEqual(['phase-0', 'phase-1', 'phase-2'])
    expect(before.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    const between = await read(`after: "${before.pageInfo.startCursor}", before: "${last.pageInfo.endCursor}"`)
    expect(phasesOf(between)).toEqual(['phase-1', 'phase-2', 'phase-3'])
    expect(await read('first: 1, last: 1')).toContain('not both')
  })

  test("a kernel's is not for another tenant", async () => {
    const foreign = await server.factory.session({ status: 'RUNNING', projectId: await server.factory.project() })
    await remember('KERNEL', foreign.kernelIds[0]!, 1)
    const { data } = await server.query(`{ sessions { edges { node { kernels { id kernelId } } } } }`)
    const kernels: { id: string; kernelId: string }[] = data.sessions.edges.flatMap(
      ({ node }: { node: { kernels: object[] } }) => node.kernels,
    )
    const { id } = kernels.find(({ kernelId }) => kernelId === foreign.kernelIds[0])!
    const read = `query ($id: ID!) { node(id: $id) { ... on Kernel { schedulingHistory { totalCount } } } }`
    const member = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
    expect((await server.query(read, { id })).data.node).toEqual({ schedulingHistory: { totalCount: 1 } })
    expect((await server.query(read, { id }, member)).data.node).toBeNull()
  })

  test.each([
    ['agents', `schedulingHistory(first: 2) { ${PAGE} }`],
    ['sessions', `kernels { schedulingHistory(first: 2) { ${PAGE} } }`],
  ])('on a page of %s takes as many statements as on one of them', async (list, fields) => {
    const read = async (first: number) => {
      const query = `{ ${list}(first: ${first}) { edges { node { ${fields} } } } }`
      const { result, statements } = await recordStatements(() => server.query(query))
      return { result, statements: statements.filter((sql) => !/session_events|api_tokens/.test(sql)) }
    }
    const one = await read(1)
    for (let n = 0; n < 20; n++) {
      await remember('AGENT', await server.factory.agent(), 3)
      const { kernelIds } = await server.factory.session({ status: 'RUNNING', clusterSize: 2 })
      await remember('KERNEL', kernelIds[1]!, 3)
    }
    const many = await read(20)
    expect(many.result.data[list].edges).toHaveLength(20)
    expect(JSON.stringify(many.result.data).match(/phase-1/g)!.length).toBeGreaterThan(15)
    expect(many.statements).toHaveLength(one.statements.length)
  })
})

describe('columns', () => {
  let database: TestDatabase
  let prisma: PrismaClient

  beforeAll(async () => {
    database = await testDatabase()
    prisma = database.prisma
  })
  afterAll(async () => {
    await database.close()
  })

  const every = (columns: object) => Object.fromEntries(Object.keys(columns).map((name) => [name, true]))
  const SESSION = every(Prisma.SessionScalarFieldEnum)
  const WHOLE = { ...SESSION, decision: { select: every(Prisma.RetryDecisionScalarFieldEnum) } }

  test.each(['id', 'chainId', 'parentSessionId'] satisfies SessionKey[])(
    'the same rows by %s as Prisma',
    async (by) => {
      const { db } = database
      const factory = createFactories(db)
      const chain = await factory.chain(3, {
        status: 'ERROR',
        phase: 'EXHAUSTED',
        labels: { team: 'a' },
        clusterSize: 2,
      })
      const running = await factory.session({ status: 'RUNNING' })
      const child = chain.at(-1)!
      await db.query(
        `UPDATE sessions SET batch_timeout = 1.5, starts_at = now(), environ = '[{"name": "A", "value": "\\"é\\""}]',
       command = ARRAY['sh', '-c', 'a,"b" {c}', ''], avoid_agents = ARRAY[id], image = 'x', avoid_groups = '{a,"b c"}' WHERE id = $1`,
        [child.id],
      )
      const values = [...chain, running].map((row) => (by === 'chainId' ? row.chainId : row.id))
      const read = { projectId: null, by, values, select: WHOLE, selectKey: '' }
      const ours = await sessionReader({ db, prisma })(read)
      const orderBy = { attempt: 'asc' } as const
      const theirs = (await prisma.session.findMany({
        where: { [by]: { in: values } },
        select: WHOLE,
        orderBy,
      })) as unknown as Session[]
      const sorted = (rows: readonly { id: string }[]) => rows.toSorted((a, b) => a.id.localeCompare(b.id))
      expect(sorted(ours)).toEqual(sorted(theirs))
      expect(ours.length).toBeGreaterThanOrEqual(2)
      expect(ours.map(({ attempt }) => attempt)).toEqual(theirs.map(({ attempt }) => attempt))
    },
  )

  test("another project's sessions are not read", async () => {
    const { db } = database
    const factory = createFactories(db)
    const [own, other] = [await factory.project(), await factory.project()]
    const session = await factory.session({ status: 'PENDING', projectId: own })
    const read = { by: 'id', values: [session.id], select: SESSION, selectKey: '' } as const
    expect(await sessionReader({ db, prisma })({ ...read, projectId: own })).toHaveLength(1)
    expect(await sessionReader({ db, prisma })({ ...read, projectId: other })).toEqual([])
  })

  test('selections of other objects are left to Prisma', () => {
    expect(plainSelection({ id: true, decision: { select: { phase: true } } })).toEqual({
      session: ['id'],
      decision: ['phase'],
    })
    expect(plainSelection({ id: true, name: false })).toEqual({ session: ['id'], decision: null })
    expect(plainSelection({ id: true, project: true })).toBeUndefined()
    expect(plainSelection({ id: true, decision: true })).toBeUndefined()
    expect(plainSelection({ id: true, kernels: { select: { id: true } } })).toBeUndefined()
  })
})
