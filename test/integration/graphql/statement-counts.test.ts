/** The SQL statements that requests cost: pages of sessions, chains, groups, and repeated documents. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { analysedPlanOf, readWhole, rowsRead } from '../../support/database/plans.ts'
import { recordQueries, recordStatements } from '../../support/database/record-statements.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { withoutTriggers } from '../../support/sessions/many-chains.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

/** Not counted are reads of events and tokens, and what a connection sends when its plans are too old. */
const isCounted = (sql: string) => !/session_events|api_tokens/.test(sql)

describe('pages of sessions', () => {
  const CHAIN_LENGTH = 10
  beforeAll(async () => {
    for (let n = 0; n < 50; n++)
      await server.factory.chain(CHAIN_LENGTH, { name: `tail-${n}`, status: 'ERROR', phase: 'EXHAUSTED' })
  })

  const FIELDS = `
  id name status project { name domain } resourceGroup { name } environ { name } resourceSlots { slot amount }
  parentSession { sessionId status retryState { label phase } kernels { role } }
  childSession { sessionId retryDecision { explanation } }
  rootSession { sessionId kernels { status agent { name slots { slot capacity } } } }
  retryChain {
    sessionId attempt
    retryState { phase label childSession { sessionId status } }
    kernels { role index agent { name } logs(first: 2) { totalCount edges { node { text } } } }
    retryDecision { phase explanation childSession { name } session { name } }
    parentSession { attempt }
    rootSession { name }
    schedulingHistory(first: 3) { totalCount edges { node { phase } } }
  }
  retryState { phase label reason childSession { sessionId } }
  retryDecision { phase explanation }
  kernels { role status agent { name } }`

  /** Statements of the request alone: the relay polls by itself, and tokens are looked up every few seconds. */
  async function ask(text: string, variables: object) {
    const { result, statements } = await recordStatements(() => server.query(text, variables))
    expect(result.errors).toBeUndefined()
    return { data: result.data, statements: statements.filter((sql) => isCounted(sql)) }
  }

  /** From the second attempts on: they have a parent and a child, so that every edge leads somewhere for each row. */
  async function page(first: number) {
    const after = await firstAttempts()
    const text = `query ($first: Int!, $after: String) {
    sessions(first: $first, after: $after, orderBy: [{ field: ATTEMPT, direction: ASC }, { field: NAME }]) {
      totalCount edges { node { ${FIELDS} } } } }`
    const { data, statements } = await ask(text, { first, after })
    const nodes = data.sessions.edges.map(({ node }: any) => node)
    expect(nodes).toHaveLength(first)
    for (const node of nodes) {
      expect(node).toMatchObject({ parentSession: { status: 'ERROR' }, retryDecision: { phase: 'DISPATCHED' } })
      expect(node.childSession).not.toBeNull()
      expect(node.retryChain).toHaveLength(CHAIN_LENGTH)
    }
    return statements
  }

  async function firstAttempts(): Promise<string> {
    const text =
      '{ sessions(first: 50, orderBy: [{ field: ATTEMPT, direction: ASC }, { field: NAME }]) { pageInfo { endCursor } } }'
    return (await server.query(text)).data.sessions.pageInfo.endCursor
  }

  test('50 sessions with their chains cost as many statements as one', async () => {
    const one = await page(1)
    const fifty = await page(50)
    expect(fifty.length, fifty.join('\n')).toBe(one.length)
  })

  test('the length of a chain costs nothing', async () => {
    const text = `query ($id: UUID!) { session(id: $id) { ${FIELDS} } }`
    const [, short] = await server.factory.chain(2, { status: 'ERROR', phase: 'EXHAUSTED' })
    const long = (await server.factory.chain(30, { status: 'ERROR', phase: 'EXHAUSTED' })).at(-1)!
    const ofShort = await ask(text, { id: short!.id })
    const ofLong = await ask(text, { id: long.id })
    expect(ofShort.data.session.retryChain).toHaveLength(2)
    expect(ofLong.data.session.retryChain).toHaveLength(30)
    expect(ofLong.statements.length).toBe(ofShort.statements.length)
  })
})

describe('chains', () => {
  const LONG = 1_000
  beforeAll(async () => {
    for (let n = 0; n < 50; n++)
      await server.factory.chain(2, { name: `short-${n}`, status: 'ERROR', phase: 'EXHAUSTED' })
    await lengthen('short-0', LONG)
    await server.db.query(`UPDATE sessions SET priority = 3 WHERE attempt = 2 AND name <> 'short-0'`)
  })

  /** Makes a chain of two one of many, by copies of its second attempt and that attempt's decision. */
  async function lengthen(name: string, attempts: number): Promise<void> {
    await server.db.query(
      `WITH tail AS (SELECT id FROM sessions WHERE name = $1 AND attempt = 2), ids AS MATERIALIZED (
       SELECT n, CASE WHEN n = 2 THEN tail.id ELSE gen_random_uuid() END AS id FROM tail, generate_series(2, $2::int) AS n
     ), copies AS (
       INSERT INTO sessions SELECT (json_populate_record(s, json_build_object('id', ids.id, 'parent_session_id', parent.id,
         'attempt', ids.n, 'creation_id', ids.id, 'priority', ids.n % 7))).*
       FROM tail JOIN sessions s ON s.id = tail.id, ids JOIN ids parent ON parent.n = ids.n - 1 WHERE ids.n > 2
       ORDER BY ids.n RETURNING id, project_id, chain_id
     ), kernels AS (
       INSERT INTO kernels (id, session_id, role, index, status, resource_slots)
       SELECT gen_random_uuid(), id, 'main', 1, 'ERROR', '{}' FROM copies
     )
     INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, explanation)
     SELECT id, project_id, chain_id, 'EXHAUSTED', 'KERNEL_NONZERO_EXIT', 'a copy' FROM copies`,
      [name, attempts],
    )
  }

  const FIELDS = `
  id chainId name state cause attempts totalSeconds labels { key } project { name domain } outlook { willRetry reason at }
  firstAttempt { sessionId status retryState { label } } newestAttempt { sessionId kernels { role } retryDecision { phase } }
  runningSeconds pendingSeconds betweenSeconds waitingSeconds successCount failureCount failures { cause count }
  epochs { epoch by overrides { field } firstSession { name } }
  changes(first: 2) { totalCount edges { node { attempt differences { field } session { status } } } }
  sessions(first: 2) { totalCount edges { node { attempt kernels { logs(first: 1) { edges { node { text } } } } chain { state } } } }
  timeline(first: 3) { totalCount edges { node { kind from to reason session { sessionId } } } }
  last: timeline(last: 2) { edges { node { kind attempt } } }
  newest: sessions(last: 2) { edges { node { attempt retryDecision { explanation } } } }`

  async function ask(text: string, variables: object) {
    const { result, statements } = await recordStatements(() => server.query(text, variables))
    expect(result.errors).toBeUndefined()
    return { data: result.data, statements: statements.filter((sql) => isCounted(sql)) }
  }

  async function page(first: number): Promise<string[]> {
    const orderBy = { field: 'ATTEMPTS', direction: 'DESC' }
    const text = `query ($first: Int!, $orderBy: ChainOrder!) { chains(first: $first, orderBy: $orderBy) { totalCount edges { node { ${FIELDS} } } } }`
    const { data, statements } = await ask(text, { first, orderBy })
    expect(data.chains.edges).toHaveLength(first)
    expect(data.chains.edges[0].node.attempts).toBe(LONG)
    for (const { node } of data.chains.edges) {
      expect(node).toMatchObject({ state: 'FAILED', failureCount: node.attempts, project: { name: 'default' } })
      expect(node.last.edges.at(-1).node.attempt).toBe(node.attempts)
      expect(node.newest.edges[1].node.attempt).toBe(node.attempts)
    }
    return statements
  }

  test('50 chains cost as many statements as one', async () => {
    const one = await page(1)
    const fifty = await page(50)
    expect(fifty.length, fifty.join('\n')).toBe(one.length)
  })

  test('1,000 attempts cost as many statements as two', async () => {
    const text = `query ($filter: ChainFilter) { chains(first: 1, filter: $filter) { edges { node { ${FIELDS} } } } }`
    const long = await ask(text, { filter: { name: { equals: 'short-0' } } })
    const short = await ask(text, { filter: { name: { equals: 'short-1' } } })
    expect(long.data.chains.edges[0].node).toMatchObject({ attempts: LONG, changes: { totalCount: LONG - 2 } })
    expect(short.data.chains.edges[0].node).toMatchObject({ attempts: 2, changes: { totalCount: 1 } })
    expect(long.statements.length, long.statements.join('\n')).toBe(short.statements.length)
  })
})

describe('groups', () => {
  const MEMBERS = 20_000
  let large: string

  const create = async (name: string, indexes: string): Promise<string> => {
    const { data } = await server.query(
      `mutation ($input: CreateSessionsInput!) { createSessions(input: $input) {
        ... on CreateSessionsPayload { group { groupId } } ... on Error { message } } }`,
      { input: { sessions: [{ name, command: ['true'] }], group: { name, indexes } } },
    )
    return data.createSessions.group.groupId
  }

  beforeAll(async () => {
    for (let n = 0; n < 50; n++) await create(`many-${n}`, '1-3')
    large = await create('large', '0,3')
    await withoutTriggers(
      server.db,
      `INSERT INTO chains SELECT (json_populate_record(c, json_build_object('chain_id', gen_random_uuid(), 'tail_id', c.tail_id,
         'group_index', n, 'state', CASE WHEN n % 50 = 0 THEN 'FAILED' WHEN n % 70 = 0 THEN 'WAITING_RETRY' ELSE 'SUCCEEDED' END,
         'ended_at', CASE WHEN n % 50 = 0 OR n % 70 <> 0 THEN now() END,
         'cause', CASE WHEN n % 100 = 0 THEN 'OOM_KILLED' WHEN n % 50 = 0 THEN 'KERNEL_NONZERO_EXIT' END))).*
       FROM chains c, generate_series(10, $2::int + 9) AS n WHERE c.group_id = $1 AND c.group_index = 3`,
      [large, MEMBERS],
    )
    await server.db.query('UPDATE session_groups SET total = total + $2 WHERE id = $1', [large, MEMBERS])
    await server.db.query('VACUUM ANALYZE chains, sessions')
  })

  /** What a request reads: the plans of its statements on chains and sessions, and the size of its answer. */
  async function costOf(fields: string) {
    const text = `query ($id: UUID!) { sessionGroup(id: $id) { ${fields} } }`
    const { result, queries } = await recordQueries(() => server.query(text, { id: large }))
    expect(result.errors).toBeUndefined()
    const nodes = []
    for (const query of queries.filter(({ text: sql }) => /FROM (chains|sessions)|JOIN chains/.test(sql)))
      nodes.push(...(await analysedPlanOf(server.db, query)))
    const grown = nodes.filter((node) => ['chains', 'sessions'].includes(node['Relation Name'] ?? ''))
    const answer = JSON.stringify(result.data)
    return {
      group: result.data.sessionGroup,
      bytes: answer.length,
      rows: rowsRead(grown),
      whole: readWhole(grown),
      indexes: new Set(grown.flatMap((node) => node['Index Name'] ?? [])),
    }
  }

  test('50 groups cost as many statements as one', async () => {
    const text = `query ($first: Int!) { sessionGroups(first: $first, filter: { search: "many" }) { edges { node {
      counts { running total } startedAt expectedEndAt failures { cause count } memberRanges(size: 1) { first counts { queued } }
      memberStates(first: 2) { states indexes lastIndex hasNextPage } member(index: 2) { groupIndex group { name } } } } } }`
    const ask = async (first: number) => {
      const { result, statements } = await recordStatements(() => server.query(text, { first }))
      expect(result.errors).toBeUndefined()
      const nodes = result.data.sessionGroups.edges.map(({ node }: any) => node)
      expect(nodes).toHaveLength(first)
      for (const node of nodes) {
        expect(node).toEqual({
          counts: { running: 0, total: 3 },
          startedAt: null,
          expectedEndAt: null,
          failures: [],
          memberRanges: [1, 2, 3].map((index) => ({ first: index, counts: { queued: 1 } })),
          memberStates: { states: 'QQ', indexes: '1-2', lastIndex: 2, hasNextPage: true },
          member: { groupIndex: 2, group: { name: expect.stringMatching(/^many-/) } },
        })
      }
      return statements.filter((sql) => isCounted(sql)).length
    }
    expect(await ask(50)).toBe(await ask(1))
  })

  test('a thousand members of many cost a thousand rows, and a letter each', async () => {
    const { group, bytes, rows, whole, indexes } = await costOf(
      'memberStates(first: 1000, after: 10000) { states indexes }',
    )
    expect(group.memberStates.indexes).toBe('10001-11000')
    expect(group.memberStates.states).toMatch(/^[SFW]{1000}$/)
    expect(group.memberStates.states[49]).toBe('F')
    expect(bytes).toBeLessThan(1_200)
    expect(rows).toBeLessThan(1_100)
    expect([...indexes]).toContain('chains_of_groups')
    expect(whole).toEqual([])
  })

  test('ranges of many members cost a row each, and are a small answer', async () => {
    const { group, bytes, rows } = await costOf(
      'memberRanges(size: 500) { first last counts { queued succeeded failed waiting total } }',
    )
    expect(group.memberRanges).toHaveLength(41)
    expect(group.memberRanges[0]).toMatchObject({ first: 0, last: 507, counts: { queued: 2, total: 500 } })
    const total = (of: string) => group.memberRanges.reduce((sum: number, { counts }: any) => sum + counts[of], 0)
    expect([total('total'), total('failed'), total('queued')]).toEqual([MEMBERS + 2, 400, 2])
    expect(bytes).toBeLessThan(5_000)
    expect(rows).toBeLessThan(MEMBERS + 500)
  })

  test('failures cost the failed members, and one member costs one row', async () => {
    const failures = await costOf('failures { cause timedOut count }')
    expect(failures.group.failures).toEqual([
      { cause: 'KERNEL_NONZERO_EXIT', timedOut: false, count: 200 },
      { cause: 'OOM_KILLED', timedOut: false, count: 200 },
    ])
    expect(failures.rows).toBeLessThan(1_000)
    const one = await costOf('member(index: 10050) { groupIndex state } none: member(index: 5) { name }')
    expect(one.group).toEqual({ member: { groupIndex: 10_050, state: 'FAILED' }, none: null })
    expect(one.rows).toBeLessThan(10)
    expect([...failures.whole, ...one.whole]).toEqual([])
  })

  test('arguments out of bounds are refused, and a token of another project sees nothing', async () => {
    for (const field of [
      'memberStates(first: 0) { states }',
      'memberStates(first: 10001) { states }',
      'memberRanges(size: 0) { first }',
      'memberRanges(size: 20) { first }',
    ]) {
      const text = `query ($id: UUID!) { sessionGroup(id: $id) { ${field} } }`
      const { errors } = await server.query(text, { id: large })
      expect(errors?.[0]?.extensions, field).toMatchObject({ code: 'VALIDATION_FAILED' })
    }
    const foreign = await server.factory.token({
      role: 'ADMIN',
      projectId: await server.factory.project('elsewhere'),
    })
    const text = `query ($id: UUID!) { sessionGroup(id: $id) { memberStates { states } member(index: 10) { name } } }`
    const { data } = await server.query(text, { id: large }, foreign)
    expect(data).toEqual({ sessionGroup: null })
  })
})

describe('repeated documents', () => {
  let id: string
  beforeAll(async () => {
    const [first] = await server.factory.chain(2, { name: 'twice', status: 'ERROR', phase: 'EXHAUSTED' })
    id = first!.id
  })

  async function ask(text: string, variables: object = {}) {
    const { result, statements } = await recordStatements(() => server.query(text, { id, ...variables }))
    expect(result.errors).toBeUndefined()
    const reads = statements.filter((sql) => isCounted(sql))
    return { session: result.data.session, cost: reads.length }
  }

  test('columns, relations and computed fields', async () => {
    const text = `query ($id: UUID!) { session(id: $id) {
    name status labels { key } project { name } kernels { role } retryState { phase reason } parentSession { name } childSession { name attempt }
  } }`
    const first = await ask(text)
    expect(first.session).toMatchObject({ name: 'twice', retryState: { phase: 'DISPATCHED' }, parentSession: null })
    expect(await ask(text)).toEqual(first)
  })

  test.each([
    ['@include', 'status @include(if: $more)', '', { more: true }, { more: false }],
    ['@skip', 'status @skip(if: $less)', '', { less: false }, { less: true }],
    ['@include of a fragment', '...More @include(if: $more)', 'status', { more: true }, { more: false }],
    ['@include within a fragment', '...More', 'status @include(if: $more)', { more: true }, { more: false }],
  ])('%s', async (_name, selection, fragment, all, part) => {
    const variable = Object.keys(all)[0]!
    const more = fragment && `fragment More on Session { ${fragment} }`
    const text = `query ($id: UUID!, $${variable}: Boolean!) { session(id: $id) { name ${selection} } } ${more}`
    for (const variables of [part, all, part, all]) {
      const session = { name: 'twice', ...(variables === all && { status: 'ERROR' }) }
      expect(await ask(text, variables)).toEqual({ session, cost: 1 })
    }
  })

  test.each([
    ['always', 'name', true],
    ['by a directive', 'name @include(if: $more)', false],
  ])('nodes of a connection, with a field that is selected %s', async (_name, name, always) => {
    const selection = `chain { sessions { edges { node { attempt ${name} retryState { phase } } } } }`
    const text = `query ($id: UUID!, $more: Boolean!) { __typename @include(if: $more) session(id: $id) { ${selection} } }`
    const costs = new Set<number>()
    for (const more of [false, true, false, true]) {
      const { session, cost } = await ask(text, { more })
      costs.add(cost)
      const shown = (always || more) && { name: 'twice' }
      expect(session.chain.sessions.edges[0].node).toEqual({
        attempt: 1,
        retryState: { phase: 'DISPATCHED' },
        ...shown,
      })
    }
    expect(costs.size).toBe(1)
  })

  test('a field that is twice in a document', async () => {
    const text = 'query ($id: UUID!) { session(id: $id) { name } session(id: $id) { status retryState { phase } } }'
    const whole = { session: { name: 'twice', status: 'ERROR', retryState: { phase: 'DISPATCHED' } }, cost: 1 }
    expect(await ask(text)).toEqual(whole)
    expect(await ask(text)).toEqual(whole)
  })

  test('a fragment that two operations of a document complete in different ways', async () => {
    const text = `query A($id: UUID!) { ...Name } query B($id: UUID!) { ...Name session(id: $id) { status } }
    fragment Name on Query { session(id: $id) { name } }`
    const askOperation = async (operationName: string) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.adminToken}` }
      const body = JSON.stringify({ query: text, variables: { id }, operationName })
      const { result, statements } = await recordStatements(async () =>
        (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).json(),
      )
      return { result, cost: statements.filter((sql) => isCounted(sql)).length }
    }
    expect(await askOperation('A')).toEqual({ result: { data: { session: { name: 'twice' } } }, cost: 1 })
    expect(await askOperation('B')).toEqual({
      result: { data: { session: { name: 'twice', status: 'ERROR' } } },
      cost: 1,
    })
  })
})
