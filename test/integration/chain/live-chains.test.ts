/** States of chains that go on, replicas of deployments, and timeouts: in lists, counts and figures. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const CHAINS = `query ($filter: ChainFilter, $orderBy: ChainOrder, $first: Int, $after: String) {
  chains(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    totalCount pageInfo { hasNextPage endCursor } edges { node { name state } } } }`

async function chains(variables: object) {
  const { data, errors } = await server.query(CHAINS, variables)
  expect(errors).toBeUndefined()
  const { edges, ...rest } = data.chains
  return { nodes: edges.map(({ node }: any) => node), names: edges.map(({ node }: any) => node.name), ...rest }
}

/** All pages one after the other. */
async function walk(variables: object): Promise<string[]> {
  const names: string[] = []
  for (let after: string | null = null; ;) {
    const page = await chains({ ...variables, after })
    names.push(...page.names)
    if (!page.pageInfo.hasNextPage) return names
    after = page.pageInfo.endCursor
  }
}

const ORDERS = ['ACTIVITY', 'ATTEMPTS', 'TOTAL_TIME', 'NAME', 'CREATED_AT'].flatMap((field) =>
  ['ASC', 'DESC'].map((direction) => ({ field, direction })),
)

beforeAll(async () => {
  const { factory, db } = server
  for (const name of ['queued', 'too large', 'too large and resting']) await factory.session({ name })
  await db.query(`UPDATE sessions SET resource_slots = '{"cpu": "5000"}' WHERE name LIKE 'too large%'`)
  await db.query(`UPDATE sessions SET next_try_at = now() + interval '1 h' WHERE name = 'too large and resting'`)
  const projectId = await factory.project('small')
  await db.query(`INSERT INTO resource_policies (scope, scope_id, slots) VALUES ('PROJECT', $1, '{"cpu": "0.5"}')`, [
    projectId,
  ])
  await factory.session({ name: 'over quota', projectId })
  await factory.session({ name: 'placed', status: 'SCHEDULED' })
  await factory.session({ name: 'running', status: 'RUNNING' })
  await factory.session({ name: 'to be judged', status: 'ERROR', phase: null })
  await factory.session({ name: 'terminal', status: 'RUNNING', sessionType: 'INTERACTIVE' })
  await factory.session({ name: 'replica', status: 'RUNNING', sessionType: 'INFERENCE' })
  await factory.session({ name: 'broken replica', status: 'ERROR', sessionType: 'INFERENCE' })
  await factory.session({ name: 'slow', status: 'ERROR', phase: 'EXHAUSTED' })
  await factory.session({ name: 'failed', status: 'ERROR', phase: 'EXHAUSTED' })
  await factory.chain(2, { name: 'once slow', status: 'TERMINATED' })
  await db.query(
    `UPDATE sessions SET exit_code = NULL, status_data = '{"error": {"name": "task-timeout", "message": ""}}'
     WHERE name = 'slow' OR name = 'once slow' AND attempt = 1`,
  )
})

const IMPOSSIBLE = ['over quota', 'too large', 'too large and resting']
const RUNNING = ['placed', 'replica', 'running', 'terminal', 'to be judged']

test.each<[string, object, string[]]>([
  ['queued', { state: ['QUEUED'] }, ['queued']],
  ['impossible', { state: ['IMPOSSIBLE'] }, IMPOSSIBLE],
  ['impossible of a project', { state: ['IMPOSSIBLE'], project: 'small' }, ['over quota']],
  ['running', { state: ['RUNNING'] }, RUNNING],
  ['running by word', { state: ['RUNNING'], search: 'pl' }, ['placed']],
  ['queued or impossible', { state: ['QUEUED', 'IMPOSSIBLE'] }, [...IMPOSSIBLE, 'queued']],
  ['queued or failed', { state: ['QUEUED', 'FAILED'] }, ['broken replica', 'failed', 'queued', 'slow']],
  ['live', { state: ['LIVE'] }, [...IMPOSSIBLE, 'queued', ...RUNNING]],
  ['without replicas', { state: ['FAILED'], sessionType: ['BATCH', 'INTERACTIVE'] }, ['failed', 'slow']],
  ['running without replicas', { state: ['RUNNING'], sessionType: ['INTERACTIVE'] }, ['terminal']],
  ['replicas', { sessionType: ['INFERENCE'] }, ['broken replica', 'replica']],
  ['no type', { sessionType: [] }, []],
  ['timed out', { timedOut: true }, ['slow']],
  ['not timed out', { timedOut: false, state: ['FAILED'], sessionType: ['BATCH'] }, ['failed']],
  ['with an attempt that timed out', { failed: { timedOut: true } }, ['once slow', 'slow']],
  [
    'an attempt that failed otherwise',
    { failed: { timedOut: false }, sessionType: ['BATCH'] },
    ['failed', 'to be judged'],
  ],
])('%s', async (_name, filter, names) => {
  for (const orderBy of ORDERS) {
    const page = await chains({ filter, orderBy, first: 100 })
    expect(page.names.toSorted()).toEqual(names.toSorted())
    expect(page.totalCount).toBe(names.length)
    expect(await walk({ filter, orderBy, first: 1 })).toEqual(page.names)
  }
})

test('the states that are shown are those that filters find, and those that are counted', async () => {
  const { nodes } = await chains({ first: 100 })
  const shown = Map.groupBy<string, any>(nodes, ({ state }) => state)
  const { data } = await server.query('{ chains(first: 0) { counts { state count } } }')
  for (const { state, count } of data.chains.counts) {
    const names = (shown.get(state) ?? []).map(({ name }) => name)
    expect(count, state).toBe(names.length)
    expect((await chains({ filter: { state: [state] }, first: 100 })).names).toEqual(names)
  }
  expect(data.chains.counts.map(({ state }: any) => state)).not.toContain('LIVE')
})

test('a larger agent makes the impossible possible', async () => {
  await server.db.query(`UPDATE agent_slots SET declared = 9000, capacity = 9000 WHERE slot = 'cpu'`)
  expect((await chains({ filter: { state: ['IMPOSSIBLE'] } })).names).toEqual(['over quota'])
  expect((await chains({ filter: { state: ['QUEUED'] } })).totalCount).toBe(3)
})

test('failures count timeouts apart, with and without replicas', async () => {
  const groups = `query ($sessionType: [SessionType!], $timedOut: Boolean) {
    failureCounts(by: CAUSE, sessionType: $sessionType, timedOut: $timedOut) { cause timedOut failed }
    sessionStatistics(sessionType: $sessionType) { total { failed waiting } byCause { failed timedOut } } }`
  const { data } = await server.query(groups, { sessionType: ['BATCH', 'INTERACTIVE'] })
  const cause = 'KERNEL_NONZERO_EXIT'
  expect(data.failureCounts).toEqual([
    { cause, timedOut: false, failed: 2 },
    { cause, timedOut: true, failed: 2 },
  ])
  expect(data.sessionStatistics).toMatchObject({ total: { failed: 4 }, byCause: [{ failed: 4, timedOut: 2 }] })
  const all = await server.query(groups, { timedOut: true })
  expect(all.data.failureCounts).toEqual([{ cause, timedOut: true, failed: 2 }])
  expect(all.data.sessionStatistics.total.failed).toBe(5)
  const sessions = `query ($timedOut: Boolean) { sessions(filter: { timedOut: $timedOut, result: [FAILURE] }) { edges { node { name timedOut } } } }`
  const slow = (await server.query(sessions, { timedOut: true })).data.sessions.edges
  expect(slow.map(({ node }: any) => node)).toEqual([
    { name: 'once slow', timedOut: true },
    { name: 'slow', timedOut: true },
  ])
})
