/** Pages and ids of nodes: cursors, filters, bounds, and who may read a node by its id. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('pages', () => {
  const SESSIONS = `query ($filter: SessionFilter, $orderBy: [SessionOrder!], $first: Int, $after: String, $last: Int, $before: String) {
  sessions(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    totalCount
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { cursor node { name } } } }`

  async function sessions(variables: object) {
    const { data, errors } = await server.query(SESSIONS, variables)
    if (errors) throw Object.assign(new Error(errors[0]!.message), { errors })
    const { edges, ...rest } = data.sessions
    return { names: edges.map(({ node }: any) => node.name), cursors: edges.map(({ cursor }: any) => cursor), ...rest }
  }

  /** All pages one after the other, with something happening between each two. */
  async function walk(variables: { first?: number; last?: number; [key: string]: unknown }, between = async () => {}) {
    const names: string[][] = []
    let cursor: string | null = null
    for (;;) {
      const place: object = variables.last ? { before: cursor } : { after: cursor }
      const page: any = await sessions({ ...variables, ...place })
      names.push(page.names)
      const more = variables.last ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage
      if (!more) return names
      cursor = variables.last ? page.pageInfo.startCursor : page.pageInfo.endCursor
      await between()
    }
  }

  describe('a walk through sessions', () => {
    const START = Date.parse('2026-01-01T00:00:00Z')

    beforeEach(async () => {
      await server.db.query('TRUNCATE sessions CASCADE')
      // Each time and each priority occurs several times: only the id tells those rows apart.
      for (let n = 0; n < 10; n++) {
        const createdAt = new Date(START + Math.floor(n / 3) * 1_000)
        await server.factory.session({ name: `s${n}`, createdAt, priority: n % 2 })
      }
    })

    test.each([1, 3, 10, 11])('meets each once in pages of %i', async (first) => {
      const names = (await walk({ first })).flat()
      expect(names).toHaveLength(10)
      expect(new Set(names).size).toBe(10)
    })

    test.each([
      ['by default', undefined],
      [
        'by priority, then name',
        [
          { field: 'PRIORITY', direction: 'DESC' },
          { field: 'NAME', direction: 'ASC' },
        ],
      ],
      ['by creation', [{ field: 'CREATED_AT', direction: 'ASC' }]],
      ['by status change', [{ field: 'STATUS_CHANGED_AT', direction: 'DESC' }]],
    ])('is the same backward, %s', async (_name, orderBy) => {
      const whole = (await sessions({ orderBy, first: 100 })).names
      expect((await walk({ orderBy, first: 3 })).flat()).toEqual(whole)
      expect((await walk({ orderBy, last: 3 })).toReversed().flat()).toEqual(whole)
    })

    test('is not moved by sessions that come and go meanwhile', async () => {
      const whole = (await sessions({ first: 100 })).names
      let comes = 0
      const seen = await walk({ first: 2 }, async () => {
        await server.factory.session({ name: `new-${comes++}`, createdAt: new Date(START + 60_000) })
      })
      expect(comes).toBeGreaterThan(3)
      expect(seen.flat()).toEqual(whole)
    })

    test('continues behind a session that is gone', async () => {
      const page = await sessions({ first: 3 })
      await server.db.query('DELETE FROM sessions WHERE name = $1', [page.names[2]])
      const rest = await sessions({ first: 100, after: page.cursors[2] })
      expect(rest.names).toHaveLength(7)
      expect(rest.names).not.toContain(page.names[1])
    })

    test('reports whether there are pages before and behind, and the total count', async () => {
      const page = await sessions({ first: 4 })
      expect(page).toMatchObject({ totalCount: 10, pageInfo: { hasNextPage: true, hasPreviousPage: false } })
      const next = await sessions({ first: 6, after: page.pageInfo.endCursor })
      expect(next).toMatchObject({ totalCount: 10, pageInfo: { hasNextPage: false, hasPreviousPage: true } })
      expect(await sessions({ first: 0 })).toMatchObject({
        names: [],
        pageInfo: { hasNextPage: true, endCursor: null },
      })
    })
  })

  describe('a page that cannot be', () => {
    test.each([
      ['more than 100', { first: 101 }, '`first` is 101, but a page has at most 100 items.'],
      ['more than 100 from the end', { last: 1_000 }, '`last` is 1000, but a page has at most 100 items.'],
      ['less than nothing', { first: -1 }, '`first` is -1, but a page cannot have less than 0 items.'],
      ['both ends', { first: 1, last: 1 }, 'Give `first` or `last`, not both.'],
      ['no cursor', { after: 'nonsense' }, '`after` is not a cursor of this connection in this order.'],
      ['nothing', { before: '' }, '`before` is not a cursor of this connection in this order.'],
    ])('%s', async (_name, variables, message) => {
      const { errors } = await server.query(SESSIONS, variables)
      expect(errors?.[0]).toMatchObject({ message, extensions: { code: 'VALIDATION_FAILED' } })
    })

    test('a cursor of another order', async () => {
      await server.factory.session()
      const { cursors } = await sessions({ first: 1 })
      const { errors } = await server.query(SESSIONS, { after: cursors[0], orderBy: [{ field: 'NAME' }] })
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'VALIDATION_FAILED', issues: [{ path: 'after' }] })
    })
  })

  describe('filters', () => {
    beforeAll(async () => {
      await server.db.query('TRUNCATE sessions CASCADE')
      const { factory } = server
      await factory.session({ name: 'pending', labels: { team: 'red' }, retryPolicy: { maxRetries: 1 } })
      await factory.session({ name: 'running', status: 'RUNNING', labels: { team: 'blue' } })
      await factory.session({ name: 'failed', status: 'ERROR', retryPolicy: { maxRetries: 2 } })
      await factory.session({ name: 'held', status: 'ERROR', retryPolicy: { maxRetries: 2 }, phase: 'HELD' })
      await factory.session({ name: 'done', status: 'TERMINATED' })
      await factory.session({ name: 'interactive', sessionType: 'INTERACTIVE', retryPolicy: { maxRetries: 1 } })
      const other = await factory.project('other')
      await factory.session({ name: 'elsewhere', projectId: other, failureCause: 'OOM_KILLED', status: 'ERROR' })
    })

    test.each<[string, object, string[]]>([
      ['status', { status: ['PENDING', 'RUNNING'] }, ['interactive', 'pending', 'running']],
      ['no status at all', { status: [] }, []],
      ['result', { result: ['SUCCESS'] }, ['done']],
      ['type', { sessionType: ['INTERACTIVE'] }, ['interactive']],
      ['project', { project: 'other' }, ['elsewhere']],
      ['an unknown project', { project: 'nowhere' }, []],
      ['cause', { failureCause: ['OOM_KILLED'] }, ['elsewhere']],
      ['phase held', { retryPhase: ['HELD'] }, ['held']],
      ['phase undecided', { retryPhase: ['UNDECIDED'] }, ['pending']],
      ['phase none', { retryPhase: ['NONE'] }, ['elsewhere', 'interactive', 'running']],
      ['several phases', { retryPhase: ['SCHEDULED', 'UNDECIDED'] }, ['failed', 'pending']],
      ['name', { name: { contains: 'el' } }, ['elsewhere', 'held']],
      ['name without null', { name: { equals: 'held', contains: null } }, ['held']],
      ['label', { label: { key: 'team', value: 'red' } }, ['pending']],
      ['a label of several values', { labels: [{ key: 'team', in: ['red', 'blue'] }] }, ['pending', 'running']],
      ['a label of any value', { labels: [{ key: 'team' }], NOT: { status: ['RUNNING'] } }, ['pending']],
      ['no label', { labels: [{ key: 'team', exists: false }], status: ['TERMINATED'] }, ['done']],
      ['not a label', { NOT: { label: { key: 'team', value: 'red' } }, result: ['SUCCESS'] }, ['done']],
      ['a label of no value', { labels: [{ key: 'team', in: [] }] }, []],
      ['hold reason', { holdReason: ['RATE_LIMITED', 'DISABLED', 'QUOTA', 'PARENT_ALIVE'] }, ['held']],
      ['attempt', { attempt: { gt: 1 } }, []],
      ['epoch', { epoch: { gte: 0, lt: 1 }, status: ['RUNNING'] }, ['running']],
      ['start', { startedAt: { gte: '2000-01-01T00:00:00Z' }, status: ['RUNNING', 'TERMINATED'] }, ['done', 'running']],
      ['no start', { NOT: { startedAt: { gte: '2000-01-01T00:00:00Z' } } }, ['interactive', 'pending']],
      [
        'end',
        { terminatedAt: { gt: '2000-01-01T00:00:00Z', lte: '2100-01-01T00:00:00Z' }, result: ['SUCCESS'] },
        ['done'],
      ],
      ['time', { createdAt: { gt: '2100-01-01T00:00:00Z' } }, []],
      ['not', { NOT: { status: ['PENDING', 'ERROR'] } }, ['done', 'running']],
      ['or', { OR: [{ name: { equals: 'done' } }, { project: 'other' }] }, ['done', 'elsewhere']],
      ['and', { AND: [{ status: ['ERROR'] }, { retryPhase: ['HELD'] }] }, ['held']],
      [
        'or with an empty one',
        { OR: [{}, { name: { equals: 'held' } }], status: ['ERROR'] },
        ['elsewhere', 'failed', 'held'],
      ],
      ['or of none', { OR: [] }, []],
      ['not an empty one', { NOT: {} }, []],
      ['null', null as never, ['done', 'elsewhere', 'failed', 'held', 'interactive', 'pending', 'running']],
    ])('%s', async (_name, filter, names) => {
      const page = await sessions({ filter, orderBy: [{ field: 'NAME' }], first: 100 })
      expect(page.names).toEqual(names)
      expect(page.totalCount).toBe(names.length)
    })

    test('by phase agree with the phases of the sessions', async () => {
      const text = `query ($filter: SessionFilter) { sessions(filter: $filter, first: 100) { edges { node { retryState { phase } } } } }`
      for (const phase of ['NONE', 'UNDECIDED', 'SCHEDULED', 'HELD', 'SUCCEEDED', 'EXHAUSTED']) {
        const { data } = await server.query(text, { filter: { retryPhase: [phase] } })
        for (const { node } of data.sessions.edges) expect(node.retryState.phase).toBe(phase)
      }
    })

    test('have a bound', async () => {
      const nested = (depth: number): object => (depth === 0 ? {} : { NOT: nested(depth - 1) })
      const { errors } = await server.query(SESSIONS, { filter: nested(10) })
      expect(errors?.[0]?.message).toBe('Filters nest at most 5 deep.')
      const wide = await server.query(SESSIONS, { filter: { OR: Array.from({ length: 200 }, () => ({})) } })
      expect(wide.errors?.[0]?.message).toBe('A filter has at most 100 filters within.')
    })
  })

  test('history and logs are read page by page', async () => {
    const { kernelIds, id } = await server.factory.session({ status: 'RUNNING' })
    for (let n = 0; n < 5; n++) {
      // The pieces alternate between two streams, or they would be joined.
      await server.factory.log(kernelIds[0]!, `line ${n}\n`, n % 2 === 0 ? 'STDOUT' : 'STDERR')
      await server.db.query(
        `INSERT INTO scheduling_history (entity, entity_id, phase, result) VALUES ('SESSION', $1, $2, 'SUCCESS')`,
        [id, `phase ${n}`],
      )
    }
    const text = `query ($id: UUID!, $log: String, $history: String) { session(id: $id) {
    schedulingHistory(first: 2, after: $history) { totalCount pageInfo { hasNextPage endCursor } edges { node { handler phase } } }
    kernels { logs(first: 2, after: $log) { totalCount pageInfo { hasNextPage endCursor } edges { cursor node { text cursor } } } } } }`
    const phases: string[] = []
    const lines: string[] = []
    let cursors: { log?: string; history?: string } = {}
    for (let page = 0; page < 3; page++) {
      const { session } = (await server.query(text, { id, ...cursors })).data
      const [{ logs }] = session.kernels
      expect([logs.totalCount, session.schedulingHistory.totalCount]).toEqual([5, 5])
      expect(logs.pageInfo.hasNextPage).toBe(page < 2)
      phases.push(...session.schedulingHistory.edges.map(({ node }: any) => node.phase))
      lines.push(...logs.edges.map(({ node }: any) => node.text))
      cursors = { log: logs.pageInfo.endCursor, history: session.schedulingHistory.pageInfo.endCursor }
    }
    expect(phases).toEqual([0, 1, 2, 3, 4].map((n) => `phase ${n}`))
    expect(lines).toEqual([0, 1, 2, 3, 4].map((n) => `line ${n}\n`))
    const { errors } = await server.query(text, { id, log: 'nonsense' })
    expect(errors?.[0]?.extensions['code']).toBe('VALIDATION_FAILED')
  })
})

describe('ids', () => {
  let projects: { id: string; name: string; admin: string; viewer: string; sessionId: string }[]
  beforeAll(async () => {
    projects = await Promise.all(['lab', 'site'].map(projectWithEverything))
  })

  async function projectWithEverything(name: string) {
    const { factory } = server
    const id = await factory.project(name)
    const [admin, viewer] = await Promise.all([
      factory.token({ role: 'ADMIN', projectId: id }),
      factory.token({ role: 'VIEWER', projectId: id }),
    ])
    const { id: sessionId } = await factory.session({
      projectId: id,
      status: 'ERROR',
      phase: 'SCHEDULED',
      retryPolicy: { maxRetries: 2 },
    })
    await factory.deployment({ projectId: id, name: `${name}-service` })
    const failed = await factory.session({ projectId: id, status: 'ERROR' })
    await change('createUser', { name: `user-of-${name}` })
    await change('setProjectMember', { project: name, user: `user-of-${name}`, role: 'MEMBER' })
    await change('setQuota', { scope: 'PROJECT', name, maxRunning: 5 })
    await change('setRetrySwitch', { scope: 'PROJECT', name, rateLimit: { perSecond: 1, burst: 1 } })
    await change('setRetryDefaults', { scope: 'PROJECT', name, policy: { maxRetries: 2 } })
    await change('resubmitSessions', { sessionIds: [failed.id, sessionId], clientKey: name })
    return { id, name, admin, viewer, sessionId }
  }

  async function change(mutation: string, input: object, selection = '__typename', token = server.adminToken) {
    const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}`
    const text = `mutation ($input: ${type}Input!) { it: ${mutation}(input: $input) {
    __typename ... on ${type}Payload { ${selection} } ... on Error { message } } }`
    const { data, errors } = await server.query(text, { input }, token)
    expect(errors).toBeUndefined()
    expect(data.it).toMatchObject({ __typename: `${type}Payload` })
    return data.it
  }

  const EVERYTHING = `{
  viewer { ...token }
  tokens(first: 10) { edges { node { ...token } } }
  quotas { ...quota }
  projects(first: 10) { edges { node { quota { ...quota } } } }
  retrySwitches { __typename id scope name }
  retryDefaults { __typename id scope name }
  auditLog(first: 10) { edges { node { __typename id entryId } } }
  users(first: 10) { edges { node { memberships { __typename id project { name } } } } }
  deployments(first: 10) { edges { node { name revision { ...revision } revisions { edges { node { ...revision } } } } } }
  retryDecisions(first: 10) { edges { node { ...decision } } }
  sessions(first: 10) { edges { node { retryDecision { ...decision } } } }
  resubmissions(first: 10) { edges { node {
    items { edges { node { ...item } } } done: items(status: DONE) { edges { node { ...item } } }
  } } }
}
fragment token on Token { __typename id tokenId }
fragment quota on Quota { __typename id scope name }
fragment decision on RetryDecision { __typename id sessionId }
fragment revision on DeploymentRevision { __typename id command createdAt }
fragment item on ResubmissionItem { __typename id sessionId }`

  interface Thing {
    __typename: string
    id: string
  }

  function thingsIn(value: unknown): Thing[] {
    if (Array.isArray(value)) return value.flatMap(thingsIn)
    if (typeof value !== 'object' || value === null) return []
    const inside = Object.values(value).flatMap(thingsIn)
    return 'id' in value ? [value as Thing, ...inside] : inside
  }

  test('the same thing has the same id wherever it is, and no two have the same', async () => {
    const { data, errors } = await server.query(EVERYTHING)
    expect(errors).toBeUndefined()
    const things = thingsIn(data)
    const byId = Map.groupBy(things, ({ id }) => id)
    for (const [id, same] of byId) for (const each of same) expect(each, id).toEqual(same[0])
    const seen = Map.groupBy(things, ({ __typename }) => __typename)
    const counts = [...seen].map(([name, all]) => [name, all.length, new Set(all.map(({ id }) => id)).size] as const)
    for (const [name, , distinct] of counts) expect(distinct, name).toBeGreaterThan(1)
    // These are found by two ways each.
    const twice = counts.filter(([, all, distinct]) => all > distinct).map(([name]) => name)
    expect(twice).toEqual(
      expect.arrayContaining(['Token', 'Quota', 'RetryDecision', 'DeploymentRevision', 'ResubmissionItem']),
    )
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining(['RetrySwitch', 'RetryDefaults', 'AuditEntry', 'ProjectMember']),
    )
  })

  test('a mutation that sets something returns the id under which it is listed', async () => {
    const { data } = await server.query(EVERYTHING)
    const listed = new Set(thingsIn(data).map(({ id }) => id))
    const name = 'lab'
    const set = [
      (await change('setQuota', { scope: 'PROJECT', name, maxRunning: 6 }, 'quota { id }')).quota.id,
      (await change('setRetrySwitch', { scope: 'PROJECT', name, disabled: true }, 'retrySwitch { id }')).retrySwitch.id,
      (await change('setRetryDefaults', { scope: 'PROJECT', name, policy: { maxRetries: 3 } }, 'retryDefaults { id }'))
        .retryDefaults.id,
    ]
    for (const id of set) expect(listed).toContain(id)
  })

  test('a mutation that removes something returns the id that it had', async () => {
    const { data } = await server.query(EVERYTHING)
    const things = thingsIn(data) as (Thing & { project?: { name: string } })[]
    const made = { name: 'short-lived', role: 'VIEWER', project: 'lab' }
    const { token } = await change('createToken', made, 'token { id tokenId }')
    expect((await change('revokeToken', { tokenId: token.tokenId }, 'deletedId')).deletedId).toBe(token.id)
    const membership = things.find(
      ({ __typename, project }) => __typename === 'ProjectMember' && project!.name === 'lab',
    )!
    const removed = await change('removeProjectMember', { project: 'lab', user: 'user-of-lab' }, 'deletedId')
    expect(removed.deletedId).toBe(membership.id)
    const agentId = await server.factory.agent()
    await change('drainAgent', { agentId })
    const { agent, deletedId } = await change('removeAgent', { agentId }, 'agent { id } deletedId')
    expect(deletedId).toBe(agent.id)
  })

  test('all of them are nodes: read by their ids, they are the same', async () => {
    const { data } = await server.query(EVERYTHING)
    const things = thingsIn(data)
    const ids = [...new Set(things.map(({ id }) => id))]
    const { data: read, errors } = await server.query('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', {
      ids,
    })
    expect(errors).toBeUndefined()
    expect(read.nodes).toEqual(
      ids.map((id) => expect.objectContaining({ id, __typename: things.find((each) => each.id === id)!.__typename })),
    )
  })

  describe('by their ids', () => {
    const NODES = `query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Token { name } ... on RetryDecision { sessionId } } }`
    const own = async (token: string) => (await server.query('{ viewer { id name } }', {}, token)).data.viewer

    test('tokens are read by administrators of their project, and by themselves', async () => {
      const [lab, site] = projects as [(typeof projects)[number], (typeof projects)[number]]
      const [labViewer, siteViewer] = [await own(lab.viewer), await own(site.viewer)]
      const ids = [labViewer.id, siteViewer.id]
      const read = async (token: string) => (await server.query(NODES, { ids }, token)).data.nodes
      expect(await read(server.adminToken)).toEqual([labViewer, siteViewer])
      expect(await read(lab.admin)).toEqual([labViewer, null])
      expect(await read(lab.viewer)).toEqual([labViewer, null])
      expect(await read(site.viewer)).toEqual([null, siteViewer])
      const another = await server.factory.token({ role: 'MEMBER', projectId: lab.id })
      expect(await read(another)).toEqual([null, null])
    })

    test('a decision is visible to everyone who sees its session', async () => {
      const ids = projects.map(({ sessionId }) => Buffer.from(`RetryDecision:${sessionId}`).toString('base64'))
      const read = async (token: string) => (await server.query(NODES, { ids }, token)).data.nodes
      const found = projects.map(({ sessionId }, place) => ({ id: ids[place], sessionId }))
      expect(await read(server.adminToken)).toEqual(found)
      expect(await read(projects[0]!.viewer)).toEqual([found[0], null])
      expect(await read(projects[1]!.admin)).toEqual([null, found[1]])
    })
  })
})
