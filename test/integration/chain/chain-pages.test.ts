/** Pages of chains: orders, cursors, filters and bounds. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const CHAINS = `query ($filter: ChainFilter, $orderBy: ChainOrder, $first: Int, $after: String, $last: Int, $before: String) {
  chains(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { cursor node { name state attempts totalSeconds newestActivityAt createdAt newestAttempt { retryState { scheduledAt } } } } } }`

async function chains(variables: object, token?: string) {
  const { data, errors } = await server.query(CHAINS, variables, token)
  if (errors) throw Object.assign(new Error(errors[0]!.message), { errors })
  const { edges, ...rest } = data.chains
  return { nodes: edges.map(({ node }: any) => node), names: edges.map(({ node }: any) => node.name), ...rest }
}

/** All pages one after the other, with something happening between each two. */
async function walk(variables: { first?: number; last?: number; [key: string]: unknown }, between = async () => {}) {
  const names: string[][] = []
  let cursor: string | null = null
  for (;;) {
    const page: any = await chains({ ...variables, ...(variables.last ? { before: cursor } : { after: cursor }) })
    names.push(page.names)
    if (!(variables.last ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage)) return names
    cursor = variables.last ? page.pageInfo.startCursor : page.pageInfo.endCursor
    await between()
  }
}

const START = Date.parse('2026-01-01T00:00:00Z')
const both = (fields: string[]) => fields.flatMap((field) => ['ASC', 'DESC'].map((direction) => ({ field, direction })))
/** The queries that list every chain. */
const ORDERS = both(['ACTIVITY', 'ATTEMPTS', 'TOTAL_TIME', 'NAME', 'CREATED_AT'])
const ALL_ORDERS = [...ORDERS, ...both(['DUE_AT'])]

describe('a walk through chains', () => {
  beforeEach(async () => {
    await server.db.query('TRUNCATE sessions CASCADE')
    const { factory } = server
    const other = await factory.project()
    const ends = [
      { status: 'TERMINATED' },
      { status: 'ERROR', phase: 'EXHAUSTED' },
      { status: 'RUNNING' },
      { status: 'ERROR', phase: 'HELD' },
    ] as const
    // Activity, attempts and totals occur several times each: only the id tells those chains apart.
    for (let n = 0; n < 12; n++) {
      const createdAt = new Date(START + Math.floor(n / 5) * 1_000)
      const projectId = n % 3 === 0 ? { projectId: other } : {}
      await factory.chain(1 + (n % 2), { name: `c${n}`, createdAt, ...ends[n % 4], ...projectId })
    }
    // Events of the children that the factory made do not matter here.
    await server.db.query(`SELECT refresh_chains(ARRAY(SELECT id FROM sessions WHERE attempt = 1))`)
  })

  test.each(ALL_ORDERS)('is the same in pages of any size and backward, by $field $direction', async (orderBy) => {
    const whole = await chains({ orderBy, first: 100 })
    // Three of the twelve are held; no other waits for a retry.
    const listed = orderBy.field === 'DUE_AT' ? 3 : 12
    expect(new Set(whole.names).size).toBe(listed)
    expect(whole.totalCount).toBe(listed)
    for (const size of [1, 3, 5, 12]) expect((await walk({ orderBy, first: size })).flat()).toEqual(whole.names)
    expect((await walk({ orderBy, last: 5 })).toReversed().flat()).toEqual(whole.names)
    const sign = orderBy.direction === 'ASC' ? 1 : -1
    const keys = whole.nodes.map((node: any) => KEY_OF[orderBy.field]!(node))
    expect(keys).toEqual(keys.toSorted((a: any, b: any) => (a < b ? -1 : a > b ? 1 : 0) * sign))
  })

  test('has the newest activity first by default', async () => {
    const [first] = await server.factory.chain(2, { name: 'newest', status: 'RUNNING' })
    expect(first).toBeDefined()
    expect((await chains({ first: 1 })).names).toEqual(['newest'])
  })

  test.each(ORDERS)('is not moved by chains that come meanwhile, by $field $direction', async (orderBy) => {
    const before = (await chains({ orderBy, first: 100 })).names
    let comes = 0
    const seen = await walk({ orderBy, first: 2 }, async () => {
      await server.factory.session({ name: `new-${comes++}`, status: 'RUNNING' })
    })
    expect(comes).toBeGreaterThan(3)
    expect(seen.flat().filter((name) => !name.startsWith('new-'))).toEqual(before)
    expect(new Set(seen.flat()).size).toBe(seen.flat().length)
  })

  test('between two places', async () => {
    const orderBy = { field: 'TOTAL_TIME', direction: 'DESC' }
    const { names } = await chains({ orderBy, first: 100 })
    const early = await chains({ orderBy, first: 3 })
    const late = await chains({ orderBy, last: 3 })
    const between = { orderBy, after: early.pageInfo.endCursor, before: late.pageInfo.startCursor }
    expect((await chains({ ...between, first: 100 })).names).toEqual(names.slice(3, -3))
    expect((await chains({ ...between, last: 2 })).names).toEqual(names.slice(-5, -3))
  })

  test('needs cursors of its order', async () => {
    const { pageInfo } = await chains({ first: 1 })
    const after = pageInfo.endCursor
    await expect(chains({ after, orderBy: { field: 'ATTEMPTS' } })).rejects.toThrow('`after` is not a cursor of this')
    await expect(chains({ after: 'nonsense' })).rejects.toThrow('`after` is not a cursor of this')
    await expect(chains({ first: 101 })).rejects.toThrow('a page has at most 100 items')
  })
})

const KEY_OF: Record<string, (node: any) => number | string> = {
  ACTIVITY: ({ newestActivityAt }) => Date.parse(newestActivityAt),
  ATTEMPTS: ({ attempts }) => attempts,
  NAME: ({ name }) => name,
  CREATED_AT: ({ createdAt }) => Date.parse(createdAt),
  DUE_AT: ({ newestAttempt }) => Date.parse(newestAttempt.retryState.scheduledAt),
  // Active chains were created days ago in whole seconds, and are read within moments.
  TOTAL_TIME: ({ totalSeconds }) => Math.floor(totalSeconds / 10),
}

describe('filters', () => {
  let trained: string[]
  let agentId: string

  beforeAll(async () => {
    await server.db.query('TRUNCATE sessions CASCADE')
    const { factory, db } = server
    await factory.session({ name: 'train-resnet50.v2', status: 'RUNNING', labels: { team: 'Red Pandas' } })
    await factory.session({
      name: 'eval_resnet',
      status: 'TERMINATED',
      labels: { team: 'blue', text: 'two\nlines "x"' },
    })
    await factory.chain(3, { name: 'train', status: 'ERROR', phase: 'EXHAUSTED', failureCause: 'OOM_KILLED' })
    await factory.session({ name: '---', status: 'ERROR', retryPolicy: { maxRetries: 1 } })
    await factory.session({ name: 'Überprüfung', status: 'PENDING', createdAt: new Date(START) })
    const projectId = await factory.project('others')
    await factory.session({ name: 'elsewhere', projectId, status: 'CANCELLED', phase: 'NONE' })
    await factory.session({ name: 'parked', status: 'ERROR', phase: 'HELD', createdAt: new Date(START * 1.1) })

    agentId = await factory.agent('once there')
    trained = (
      await db.query<{ id: string }>(`SELECT id FROM sessions WHERE name = 'train' ORDER BY attempt`)
    ).rows.map(({ id }) => id)
    // The fields of the newest attempt count, but the agents of all attempts.
    const [first, second, third] = trained
    await db.query('UPDATE kernels SET agent_id = $2 WHERE session_id = $1', [first, agentId])
    await db.query(`INSERT INTO users (id, name) VALUES ($1, 'ann'), ($2, 'bo')`, [agentId, first])
    await db.query('UPDATE sessions SET user_id = $2, exit_code = 139 WHERE id = $1', [third, agentId])
    await db.query('UPDATE sessions SET user_id = $2, exit_code = 77 WHERE id = $1', [second, first])
    await db.query(`INSERT INTO resource_groups (name) VALUES ('gpu')`)
    await db.query(`UPDATE sessions SET resource_group = 'gpu' WHERE name = 'eval_resnet' OR id = $1`, [first])
  })

  test.each<[string, object, string[]]>([
    ['state', { state: ['LIVE', 'WAITING_RETRY'] }, ['---', 'train-resnet50.v2', 'Überprüfung']],
    ['no state', { state: [] }, []],
    ['cause', { cause: ['OOM_KILLED'] }, ['train']],
    ['several causes', { cause: ['OOM_KILLED', 'SCHEDULER_TIMEOUT'] }, ['elsewhere', 'train']],
    ['at least so many attempts', { attempts: { min: 2 } }, ['train']],
    ['at most so many', { attempts: { max: 1 }, state: ['SUCCEEDED'] }, ['eval_resnet']],
    ['project', { project: 'others' }, ['elsewhere']],
    ['an unknown project', { project: 'nowhere' }, []],
    ['name', { name: { equals: 'train' } }, ['train']],
    ['a name without words', { name: { equals: '---' } }, ['---']],
    ['a name of many bytes', { name: { equals: 'Überprüfung' } }, ['Überprüfung']],
    ['names', { name: { in: ['---', 'train', 'nothing'] } }, ['---', 'train']],
    ['beginning', { name: { startsWith: 'train-res' } }, ['train-resnet50.v2']],
    ['beginning in the middle of a sign', { name: { startsWith: '--' } }, ['---']],
    ['no beginning', { name: { startsWith: '%' } }, []],
    ['part', { name: { contains: '_' } }, ['eval_resnet']],
    ['end', { name: { endsWith: 'net' } }, ['eval_resnet']],
    ['an end longer than a name', { name: { endsWith: 'xxtrain' } }, []],
    ['label', { label: { key: 'team', value: 'Red Pandas' } }, ['train-resnet50.v2']],
    ['label of a part', { label: { key: 'team', value: 'Red' } }, []],
    ['label with signs', { label: { key: 'text', value: 'two\nlines "x"' } }, ['eval_resnet']],
    ['words of a name', { search: 'resnet' }, ['eval_resnet', 'train-resnet50.v2']],
    ['words in any order', { search: 'V2 train' }, ['train-resnet50.v2']],
    ['words of labels', { search: 'panda RED' }, ['train-resnet50.v2']],
    ['all words', { search: 'train blue' }, []],
    ['no words', { search: ' - ' }, []],
    ['signs of queries', { search: `train' | !:* & (red` }, ['train-resnet50.v2']],
    ['beginnings alone', { search: 'esnet' }, []],
    ['creation', { createdAt: { lt: '2026-02-01T00:00:00Z' } }, ['Überprüfung']],
    ['activity', { activityAt: { lte: '2026-01-01T00:00:00Z' } }, ['Überprüfung']],
    ['resource group', { resourceGroup: 'gpu' }, ['eval_resnet']],
    ['an unknown resource group', { resourceGroup: 'tpu' }, []],
    ['user', { user: 'ann' }, ['train']],
    ['the user of an earlier attempt', { user: 'bo' }, []],
    ['an unknown user', { user: 'cy' }, []],
    ['exit code', { exitCode: [139, 1] }, ['train']],
    ['the exit code of an earlier attempt', { exitCode: [77] }, []],
    ['several exit codes', { exitCode: [0, 139] }, ['eval_resnet', 'train']],
    ['no exit code', { exitCode: [] }, []],
    ['user and exit code', { user: 'ann', exitCode: [3] }, []],
    ['hold reason', { holdReason: ['QUOTA', 'DISABLED'] }, ['parked']],
    ['another hold reason', { holdReason: ['DISABLED'] }, []],
    ['hold reason in another state', { holdReason: ['QUOTA'], state: ['WAITING_RETRY', 'FAILED'] }, []],
    ['due time', { dueAt: { lt: '2026-02-01T00:00:00Z' } }, []],
    ['any due time', { dueAt: {} }, ['---', 'parked']],
    ['a due time since', { dueAt: { gte: new Date(START * 1.05).toISOString() } }, ['parked']],
    ['due time and state', { dueAt: {}, state: ['WAITING_RETRY', 'LIVE'] }, ['---']],
    ['both times', { createdAt: { gte: '2026-02-01T00:00:00Z' }, state: ['SUCCEEDED'] }, ['eval_resnet']],
    [
      'all at once',
      { state: ['FAILED'], cause: ['OOM_KILLED'], attempts: { min: 3, max: 3 }, search: 'tr' },
      ['train'],
    ],
    ['nulls', { state: null, name: { equals: 'train', in: null }, attempts: { min: null } }, ['train']],
  ])('%s', async (_name, filter, names) => {
    for (const orderBy of ORDERS) {
      const page = await chains({ filter, orderBy, first: 100 })
      expect(page.names.toSorted()).toEqual(names)
      expect(page.totalCount).toBe(names.length)
    }
  })

  test('ids, and the agent of any attempt', async () => {
    const unknown = '00000000-0000-7000-8000-00000000abcd'
    for (const [filter, names] of [
      [{ ids: [trained[0], trained[0], unknown] }, ['train']],
      [{ ids: [trained[2]] }, []],
      [{ ids: [] }, []],
      [{ ids: [trained[0]], state: ['LIVE'] }, []],
      [{ ids: [trained[0]], search: 'tra' }, ['train']],
      [{ ids: [trained[0]], search: 'eval' }, []],
      [{ agent: agentId }, ['train']],
      [{ agent: agentId, cause: ['AGENT_TRANSIENT'] }, []],
      [{ agent: agentId, search: 'tra' }, ['train']],
      [{ agent: agentId, ids: [trained[0]] }, ['train']],
      [{ agent: unknown }, []],
      [{ agent: unknown, ids: [trained[0]] }, []],
    ] as const) {
      for (const orderBy of ORDERS) {
        const page = await chains({ filter, orderBy, first: 100 })
        expect(page.names, JSON.stringify(filter)).toEqual(names)
        expect(page.totalCount).toBe(names.length)
      }
    }
  })

  test('by when they are due, only those that wait for a retry are listed', async () => {
    const byDue = (direction: string, filter = {}) => chains({ orderBy: { field: 'DUE_AT', direction }, filter })
    expect(await byDue('ASC')).toMatchObject({ names: ['---', 'parked'], totalCount: 2 })
    expect((await byDue('DESC')).names).toEqual(['parked', '---'])
    expect(await byDue('ASC', { state: ['HELD', 'FAILED'] })).toMatchObject({ names: ['parked'], totalCount: 1 })
  })

  test('count each state, whichever is asked for', async () => {
    const counts = async (filter: object, orderBy?: object) => {
      const text = `query ($filter: ChainFilter, $orderBy: ChainOrder) { chains(first: 0, filter: $filter, orderBy: $orderBy) { counts { state count isExact } } }`
      const { data } = await server.query(text, { filter, orderBy })
      expect(data.chains.counts.every(({ isExact }: any) => isExact)).toBe(true)
      return data.chains.counts.map(({ state, count }: any) => `${state} ${count}`).join(', ')
    }
    const all = 'QUEUED 1, IMPOSSIBLE 0, RUNNING 1, WAITING_RETRY 1, HELD 1, SUCCEEDED 1, FAILED 2, CANCELLED 0'
    expect(await counts({})).toBe(all)
    expect(await counts({ state: ['HELD'] })).toBe(all)
    expect(await counts({}, { field: 'DUE_AT' })).toBe(all)
    const none = all.replaceAll(/\d/g, '0')
    expect(await counts({ search: 'resnet' })).toBe(
      none.replace('RUNNING 0', 'RUNNING 1').replace('SUCCEEDED 0', 'SUCCEEDED 1'),
    )
    expect(await counts({ ids: [trained[0]] })).toBe(none.replace('FAILED 0', 'FAILED 1'))
    expect(await counts({ agent: agentId })).toBe(none.replace('FAILED 0', 'FAILED 1'))
    expect(await counts({ holdReason: ['QUOTA'] })).toBe(none.replace('HELD 0', 'HELD 1'))
    expect(await counts({ project: 'nowhere' })).toBe(none)
  })

  test('have bounds', async () => {
    for (const filter of [
      { exitCode: Array.from({ length: 201 }, (_, n) => n) },
      { ids: Array.from({ length: 201 }, () => trained[0]) },
    ]) {
      await expect(chains({ filter })).rejects.toThrow('At most 200 values.')
    }
    await expect(chains({ filter: { user: 'a\0b' } })).rejects.toThrow('must not contain NUL')
    await expect(chains({ filter: { search: 'x'.repeat(257) } })).rejects.toThrow('At most 256 characters.')
    await expect(chains({ filter: { search: 'a\0b' } })).rejects.toThrow(
      'filter.search: must not contain NUL or half a surrogate pair',
    )
    const long = { name: { in: Array.from({ length: 201 }, String) } }
    await expect(chains({ filter: long })).rejects.toThrow('At most 200 values.')
  })
})

describe('of another project', () => {
  test('chains are not found', async () => {
    await server.db.query('TRUNCATE sessions CASCADE')
    const { factory } = server
    const [ours, theirs] = [await factory.project(), await factory.project('theirs')]
    const token = await factory.token({ role: 'MEMBER', projectId: ours })
    await factory.chain(2, { name: 'mine', projectId: ours, status: 'RUNNING' })
    const [foreign] = await factory.chain(2, { name: 'theirs', projectId: theirs, status: 'RUNNING' })
    expect(await chains({}, token)).toMatchObject({ names: ['mine'], totalCount: 1 })
    expect(await chains({ filter: { project: 'theirs' } }, token)).toMatchObject({ names: [], totalCount: 0 })
    expect(await chains({ filter: { search: 'theirs' } }, token)).toMatchObject({ names: [], totalCount: 0 })
    const { id } = foreign!
    const text =
      'query ($id: UUID!, $node: ID!) { chain(id: $id) { name } bySession: chain(sessionId: $id) { name } node(id: $node) { id } }'
    const variables = { id, node: Buffer.from(`Chain:${id}`).toString('base64') }
    expect((await server.query(text, variables, token)).data).toEqual({ chain: null, bySession: null, node: null })
    expect((await server.query(text, variables)).data.chain).toEqual({ name: 'theirs' })
    const nonsense = { id, node: Buffer.from('Chain:nonsense').toString('base64') }
    expect((await server.query(text, nonsense, token)).data.node).toBeNull()
  })

  test('attempts are not shown, even where the rows are wrong', async () => {
    const { factory, db } = server
    const ours = await factory.project()
    const token = await factory.token({ role: 'MEMBER', projectId: ours })
    const mine = await factory.session({ name: 'mine', projectId: ours, status: 'ERROR', phase: 'EXHAUSTED' })
    const stray = await factory.session({ name: 'stray', parent: { ...mine, projectId: await factory.project() } })
    const text = `query ($id: UUID!) { chain(id: $id) { attempts failureCount newestAttempt { name } epochs { epoch }
      changes { totalCount } sessions { edges { node { name } } } } }`
    const expected = { attempts: 1, newestAttempt: { name: 'mine' }, sessions: { edges: [{ node: { name: 'mine' } }] } }
    for (const who of [token, server.adminToken]) {
      expect((await server.query(text, { id: mine.id }, who)).data.chain).toMatchObject({
        ...expected,
        failureCount: 1,
      })
    }
    await db.query('DELETE FROM sessions WHERE id = $1', [stray.id])
  })
})
